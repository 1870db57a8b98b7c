"""Holding costs against operations counted in the library's own forward (see the shared reference's README on costs).

The reference runs other forms of the same arithmetic, each computed here from our structure rather than passed over:
MLA expanded to keys and values of every head, sparse attention scored whole and masked, windows that are masked
instead of cut, state work as elementwise operators, poolers in a pass over T tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atlas.interpret import Derived, derive
from atlas.numbers.structure import Layer, Model, Read, Tensor
from schemas.vocabulary import Component, Role

FOLDERS = {"published": "configs", "defaults": "defaults"}

NO_NUMBERS = "evolla pop2piano seamless_m4t seamless_m4t_v2"
REFUSED = {"published": set[str](), "defaults": set(NO_NUMBERS.split())}
"""Files that are refused, by name."""

MERGED = {"t5gemma2": 4_096}
"""Attention that looks at its cache and at the source in one product, and the source's tokens in the reference's step.

transformers 5.24, modeling_t5gemma2.py, T5Gemma2MergedAttention: keys of both are joined; no window bounds the source.
"""

STREAMS = ("DecoderLayer", "BlockAttentionResidual")
"""Classes that mix several residual streams: no column counts that."""

STATE_WORK = ("MambaMixer", "Mamba2Mixer", "MambaLayer", "H1Mixer", "LightningAttention", "xLSTMBackend")
"""Classes whose products step a recurrent state: counted per element of the state, not as products."""

MASKED = {"gpt_neo"}
"""transformers 5.24, modeling_gpt_neo.py: local layers are cached whole and masked to their window."""

ENTRIES = {"dory": 1, "blip": 25}
"""Entries that the reference's step looked at, whatever T: its cache was not handed on (one entry), or stayed short.

transformers 5.24: DoryModel takes `cache`, not `past_key_values`; BLIP's text model is as long as its position table.
"""

TWICE = {"diffllama": (4, 3)}
"""transformers 5.24, modeling_diffllama.py: two calls score twice for values of one head each (4 products), where once
would do for values two heads wide (3)."""

LOOPED = {"hrm_text", "inkling2_loop", "inkling2_loop_text"}
"""Layers that run several times: the reference adds all runs of a layer up, our layers stand once per run."""

ATTENTION_OUTSIDE = {"hrm_text", "xlm"}
"""Attention that the reference could not give a layer's index."""

OTHER_STACK = {"encoder-decoder"}
"""A pair whose layers the reference takes for the encoder's, which a step does not run; its cache did not grow.

tests/atlas/families/test_encoder_decoder.py counts the decoder's by hand.
"""

POOLED = {"encoder-decoder": 2 * 768 * 768}
"""FLOPs of an encoder's pooler, which the reference books per token of the source; it runs once a sequence."""

ONE_PASS = {"switch_transformers"}
"""An encoder-decoder that keeps no cache there: both stacks in one pass, the experts' products not seen."""


def records(shared: Path, which: str) -> list[dict[str, Any]]:
    """The records whose costs were measured."""
    lines = (shared / "oracle" / f"costs-{which}.jsonl").read_text("utf-8").splitlines()
    return [r for r in map(json.loads, lines) if r["status"] == "ok"]


def config(shared: Path, which: str, name: str) -> Derived:
    """What we derive of the same file."""
    return derive((shared / "hub" / FOLDERS[which] / f"{name}.json").read_bytes(), name=name)


def layers_at(at: str) -> list[int]:
    """Layer indices of ranges such as `0-2,5-41/2`."""
    found: list[int] = []
    for piece in str(at).split(","):
        span, _, step = piece.partition("/")
        first, _, last = span.partition("-")
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found


def model_of(found: Derived) -> Model:
    """The structure of a config that is not refused."""
    assert found.model is not None, found.fingerprint.refusal_reason
    return found.model


def in_order(model: Model) -> list[Layer]:
    """Every layer of the stack that describes the model."""
    return [each for run in model.stack() for _ in range(run.repeats) for each in run.layers]


def weight_differences(record: dict[str, Any], found: Derived) -> list[str]:
    """flops_per_token, params_active_compute and the source's FLOPs against the products with weights."""
    row, costs = found.fingerprint, record["costs"]
    assert row.flops_per_token is not None
    assert row.params_active_compute is not None
    once = costs.get("weight_flops_once", costs["weight_flops"])
    wanted = once + sum((costs.get("conv_weights_once_flops_by") or {}).values())
    got = row.flops_per_token + _forms(record, found)
    pairs: dict[str, tuple[Any, Any]] = {"flops_per_token": (got, wanted)}
    pairs["2 x params_active_compute"] = (2 * row.params_active_compute, row.flops_per_token)
    if "weight_flops_of_source_side" in costs and record["model_type"] not in ONE_PASS:
        measured = costs["weight_flops_of_source_side"] - POOLED.get(record["model_type"], 0)
        pairs["source_flops_per_token"] = (row.source_flops_per_token, measured)
    return [f"{k} {got:,} {wanted:,}" for k, (got, wanted) in pairs.items() if got != wanted]


def _forms(record: dict[str, Any], found: Derived) -> float:
    """What the reference's products have beside ours, from our own structure."""
    costs, kind = record["costs"], record["model_type"]
    more = _once(costs, found) + _stream_queries(costs)
    if kind in LOOPED:  # convolutions are counted by their weights, once
        more -= _again(found)
    if kind in ONE_PASS:
        more += _whole_pass(found)
    return more


def _tensors(found: Derived) -> Iterator[tuple[int, Tensor]]:
    for each, n in model_of(found).counted().items():
        for p in each.parts:
            for t in p.tensors:
                yield n, t


def _once(costs: dict[str, Any], found: Derived) -> float:
    """Poolers and heads that a pass over T tokens runs once, by the reference's names."""
    named = {n for n, share in costs.get("parameters_not_multiplied_once", {}).items() if share < 1}
    ours = [t for _, t in _tensors(found) if t.role is Role.ONCE]
    assert len(ours) == len(named) or not named, (named, ours)
    return sum(2 * t.elements for t in ours) / costs["T"][0] if named else 0


def _stream_queries(costs: dict[str, Any]) -> int:
    """Queries over earlier blocks score as many products as they then weigh."""
    by_layer = sum(
        flops[0] * e["n"]
        for e in costs["activation_flops_by_layer"]
        for c, flops in e.items()
        if c.endswith(STREAMS[1])
    )
    outside = costs.get("activation_flops_outside", {})
    return by_layer + sum(f[0] for c, f in outside.items() if c.endswith(("final_input", "message_input")))


def _again(found: Derived) -> int:
    """Convolutions of the later runs of a layer."""
    return sum(
        2 * n * t.touched * t.elements
        for n, t in _tensors(found)
        if not t.stored and t.role is Role.MATMUL and ("conv1d" in t.name or "sconv.weight" in t.name)
        if "weight_proj" not in t.name
    )


def _whole_pass(found: Derived) -> int:
    """The source's side too; of layers with experts nothing but attention."""
    unseen = (Component.EXPERTS_ROUTED, Component.ROUTER)
    source = sum(2 * n * t.used for n, t in _tensors(found) if t.role is Role.SOURCE and t.component not in unseen)
    seen = sum(2 * n * t.used for n, t in _tensors(found) if t.role is Role.MATMUL and t.component in unseen)
    return source - seen


def attention_differences(record: dict[str, Any], found: Derived) -> list[str]:
    """Reads against products of activations: of every layer at every T, so that slopes agree by kind of layer too."""
    costs, kind = record["costs"], record["model_type"]
    if kind in OTHER_STACK:
        return _columns(found)
    wanted = _wanted(record)
    scale, over = TWICE.get(kind, (1, 1))
    got = [[_reads(each, t, record) * scale // over for t in costs["T"]] for each in in_order(model_of(found))]
    if kind in LOOPED or kind in ATTENTION_OUTSIDE or kind in ENTRIES:
        got, wanted = [[sum(x) for x in zip(*got, strict=True)]], [[sum(x) for x in zip(*wanted, strict=True)]]
    if got == wanted:
        return _columns(found)
    at = next((i for i, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b), len(wanted))
    return [f"layer {at}: {got[at : at + 1]} {wanted[at : at + 1]}"]


def _columns(found: Derived) -> list[str]:
    """The columns are the sums over the layers that were held, and nothing beside them."""
    layers, row = in_order(model_of(found)), found.fingerprint
    sums: dict[str, int] = {}
    for name, tokens in (("4k", 4_096), ("128k", 131_072)):
        reads = [r for each in layers for p in each.parts for r in p.reads]
        sums[f"attention_flops_per_token_{name}"] = sum(r.flops * r.entries_at(tokens) for r in reads)
        forms = [(r.flops if r.prefill is None else r.prefill, r) for r in reads]
        sums[f"prefill_attention_flops_{name}"] = sum(flops * r.entries_in_prompt(tokens) for flops, r in forms)
    return [f"{k} {getattr(row, k):,}, layers {n:,}" for k, n in sums.items() if getattr(row, k) != n]


def _wanted(record: dict[str, Any]) -> list[list[int]]:
    costs = record["costs"]
    found: dict[int, list[int]] = {}
    for entry in costs["activation_flops_by_layer"]:
        flops = [
            f for c, f in entry.items() if c not in ("at", "n") and not c.endswith(STREAMS + STATE_WORK + ("Linear",))
        ]
        summed = [sum(x) for x in zip(*flops, strict=True)] or [0] * len(costs["T"])
        found |= dict.fromkeys(layers_at(entry["at"]), summed)
    rows = [found[i] for i in sorted(found)]
    outside = record["model_type"] in ATTENTION_OUTSIDE
    return rows + [f for f in costs.get("activation_flops_outside", {}).values() if outside]


def _reads(each: Layer, tokens: int, record: dict[str, Any], *, whole: bool = False) -> int:
    """The reads of a layer in the reference's form: expanded, scored whole, an indexer's weighting by head counted."""
    weighs = not any("Scorer" in c for e in record["costs"]["activation_flops_by_layer"] for c in e)
    entries = tokens if whole else ENTRIES.get(record["model_type"], tokens)
    total = 0
    for r in (r for p in each.parts for r in p.reads if r.stride and r.over == "sequence"):
        bound = None if record["model_type"] in MASKED else r.window
        n = (entries if bound is None else min(entries, bound)) // r.stride
        total += n * ((r.flops if r.prefill is None else r.prefill) + (_weighting(r) if weighs else 0))
    merged = MERGED.get(record["model_type"], 0)
    return total + merged * sum(r.flops for p in each.parts for r in p.reads if merged and r.over == "source")


def _weighting(r: Read) -> int:
    """Two FLOPs per index head and entry: scores of the heads are summed with weights."""
    return r.flops // r.elements if r.width is not None else 0


def cross_differences(record: dict[str, Any], found: Derived) -> list[str]:
    """Reads of a source per token of it: the reference looked at as many as its encoder gave."""
    measured = record["costs"].get("cross_attention_flops")
    per_token = found.fingerprint.cross_attention_flops_per_source_token
    if measured is None:
        return []
    tokens = SOURCES.get(record["model_type"]) or record["costs"]["cross_source_tokens"]
    same = per_token is not None and per_token * tokens == measured[0]
    return [] if same else [f"cross {per_token} x {tokens} {measured[0]:,}"]


SOURCES = {"whisper": 1500, "speech_to_text": 3000}
"""Tokens of a source as long as the encoder's positions allow: max_source_positions, for Speech2Text 6,000 halved."""


def prompt_differences(record: dict[str, Any], found: Derived) -> list[str]:
    """The coefficient of T squared over prompts of 16 and 32 tokens; the decode step holds what runs as a scan."""
    prompt, kind = record["costs"].get("prefill", {}), record["model_type"]
    if "per_token_squared" not in prompt or "scan" in prompt.get("note", "") or kind in SCANNED:
        return []
    short, long = prompt["T"]
    scale, over = TWICE.get(kind, (1, 1))
    layers = in_order(model_of(found))
    done = [t * sum(_reads(each, t, record, whole=True) for each in layers) * scale // over for t in (short, long)]
    got = (done[1] - done[0]) / (long * long - short * short)
    return [] if got == prompt["per_token_squared"] else [f"prompt {got} {prompt['per_token_squared']}"]


SCANNED = {"minimax"}
"""Lightning attention runs over blocks of tokens, and its products stand with those of attention."""
