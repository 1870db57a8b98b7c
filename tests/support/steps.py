"""Holding recurrent states, their steps, and the limits of sparse reads against the reference on costs."""

from __future__ import annotations

from typing import Any

from costs import STATE_WORK, in_order, layers_at, model_of

from atlas.interpret import Derived
from atlas.numbers.structure import Layer


def limit_differences(record: dict[str, Any], found: Derived) -> list[str]:
    """Sparse attention reads the stated top-k at most, in every layer whose indexer the reference saw.

    The reference scores everything and masks: what it skips is not in its products.
    """
    top_k = record["costs"].get("sparse", {}).get("index_topk")
    limited = {i for i, each in enumerate(in_order(model_of(found))) if _limits(each)}
    if top_k is None:
        return [f"limits in {sorted(limited)}"] if limited else []
    indexed = {
        i
        for e in record["costs"]["activation_flops_by_layer"]
        if any("Indexer" in c for c in e)
        for i in layers_at(e["at"])
    }
    limits = {limit for each in in_order(model_of(found)) for limit in _limits(each)}
    wrong = [] if limits == {top_k} else [f"limits {limits}, top-k {top_k}"]
    return wrong if indexed <= limited else [*wrong, f"no limit in {sorted(indexed - limited)}"]


def _limits(each: Layer) -> set[int]:
    return {r.limit for p in each.parts for r in p.reads if r.limit is not None}


def state_differences(record: dict[str, Any], found: Derived) -> list[str]:
    """Elements of the state and of the convolution's columns, and the FLOPs of a step by their order of magnitude."""
    layers, wrong = in_order(model_of(found)), list[str]()
    for step in record["costs"].get("recurrent_step", ()):
        at = layers_at(step["at"])[0]
        parts = layers[at].parts
        ours = [s for p in parts for s in p.states if not s.stride]
        columns = sum(s.channels * s.kernel for s in ours if s.channels is not None and s.kernel is not None)
        if columns and columns != step["conv_state_elements"]:
            wrong.append(f"columns of layer {at}: {columns} {step['conv_state_elements']}")
        if step["state_elements"] is None:
            continue
        if step["state_elements"] not in {s.elements for s in ours}:
            wrong.append(f"state of layer {at}: {ours} {step['state_elements']}")
        flops = sum(r.flops for p in parts for r in p.reads if not r.stride)
        measured = step["state_flops"] + _state_products(record, at)
        if record["model_type"] not in SCANS_A_STEP and not 0.8 <= measured / flops <= 2:
            wrong.append(f"step of layer {at}: {flops} {measured}")
    return wrong


SCANS_A_STEP = {"mamba2", "zamba"}
"""Mamba-2's library default runs one token through the chunked scan; Zamba's step is spread over small tensors."""


def _state_products(record: dict[str, Any], at: int) -> int:
    entries = [e for e in record["costs"]["activation_flops_by_layer"] if at in layers_at(e["at"])]
    return sum(flops[0] for e in entries for c, flops in e.items() if c.endswith(STATE_WORK))
