"""From a structure to the rows of a snapshot's tables, and to the per-layer rows people read.

Rows are run-length: a row of slot s of a run stands for the layers `first_index + s + k * stride`, k below `repeats`.
The ends are
run -1. Column names are those of the tables (`schemas/fields.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from atlas.numbers.entries import CACHE_WIDTH
from atlas.numbers.fingerprint import LayerRow
from atlas.numbers.measure import component, layer_ledger, params_total, part_ledger, whole
from atlas.numbers.shape import infos
from atlas.numbers.structure import Layer, Mixing, Model, Part, Run, State
from schemas.vocabulary import Component, Ffn, Mixer

Row = dict[str, Any]


def layer_rows(model: Model) -> list[Row]:
    """One row per tensor of each slot, the ends as run -1.

    The stored total is the sum of repeats x stored x elements.
    """
    found: list[Row] = []
    first = 0
    for n, run in enumerate(model.stack()):
        for slot, each in enumerate(run.layers):
            for k, facts in enumerate(_mixers(each)):
                place = {"run": n, "slot": slot, "mixer_slot": k, "repeats": run.repeats, "first_index": first + slot}
                found.append(place | {"stride": len(run.layers)} | facts)
        first += run.repeats * len(run.layers)
    return found


def layers_expanded(model: Model) -> list[LayerRow]:
    """One row per mixer of every layer, in order."""
    rows = layer_rows(model)
    keys = LayerRow.__struct_fields__[1:]
    expanded = [
        (row["first_index"] + k * row["stride"], row["mixer_slot"], row) for row in rows for k in range(row["repeats"])
    ]
    expanded.sort(key=lambda e: e[:2])
    return [LayerRow(index, *(row[k] for k in keys)) for index, _, row in expanded]


def _mixers(each: Layer) -> Iterator[Row]:
    """The facts of each mixer of a layer. The layer's own facts (feed-forward, weights) stand in each of its rows."""
    mixing, feeding = infos(each)
    kinds = {f.ffn for f in feeding}
    ffn = Ffn.MOE if Ffn.MOE in kinds else Ffn.DENSE if kinds else Ffn.NONE
    ledger = layer_ledger(each)
    shared = {"ffn": ffn.value, "params": params_total(ledger) + component(ledger, Component.MTP)}
    mixers = [p for p in each.parts if isinstance(p.info, Mixing)]
    if not mixing:
        yield _facts(Mixing(Mixer.NONE, "none"), None) | shared
    for p in mixers:
        assert isinstance(p.info, Mixing)  # noqa: S101 - the line above chose them
        yield _facts(p.info, p) | shared


def _facts(m: Mixing, p: Part | None) -> Row:
    kept = () if p is None else p.states
    return {
        "mixer": m.mixer.value,
        "attention_kind": None if m.attention_kind is None else m.attention_kind.value,
        "n_q_heads": m.n_q_heads,
        "n_kv_heads": m.n_kv_heads,
        "head_dim": m.head_dim,
        "v_head_dim": m.v_head_dim,
        "window": m.window,
        "kv_bytes_per_held_token": None if m.attention_kind is None else whole(_held(kept, "kv")),
        "index_bytes_per_held_token": None if m.attention_kind is None else whole(_held(kept, "index")),
        "state_bytes_constant": 0 if p is None else part_ledger(p).constant,
        "kv_shared_from": m.shared_from,
        "position": m.position,
        "attention_mask": None if m.attention_kind is None else m.mask.value,
    }


def _held(states: tuple[State, ...], kind: str) -> float:
    """Bytes one held token occupies, windowed or not."""
    return sum(
        s.elements * (CACHE_WIDTH if s.width is None else s.width) / s.stride
        for s in states
        if s.kind == kind and s.stride
    )


def parameter_rows(model: Model) -> list[Row]:
    """One row per tensor of each slot, the ends as run -1.

    The stored total is the sum of repeats x stored x elements.
    """
    return [
        {
            "run": n,
            "slot": slot,
            "part": p.kind,
            "name": t.name,
            "repeats": run.repeats,
            "shape": list(t.shape),
            "stored": t.stored,
            "touched": t.touched,
            "choices": t.choices,
            "role": t.role.value,
            "component": t.component.value,
            "elements": t.elements,
        }
        for n, slot, run, _, p in _parts(model)
        for t in p.tensors
    ]


def state_rows(model: Model, *, drafts: bool = False) -> list[Row]:
    """One row per state of each slot, of the layers that own it; `drafts` adds those of draft layers (kind "draft").

    `width_bytes` is the family's own; null where the deployer chooses. The row stands for the layers
    owner + k x owner_step, k < repeats, of its stack.
    """
    return [
        {
            "run": n,
            "slot": slot,
            "part": p.kind,
            "repeats": run.repeats,
            "stack": run.stack if n >= 0 else None,
            "owner": first + slot if n >= 0 else None,
            "owner_step": len(run.layers),
            "kind": kind,
            "elements": s.elements,
            "k_elements": s.keys,
            "v_elements": None if s.keys is None else s.elements - s.keys,
            "channels": s.channels,
            "kernel": s.kernel,
            "n_heads": s.heads,
            "groups": s.groups,
            "stride": s.stride,
            "window": s.window,
            "width_bytes": s.width,
        }
        for n, slot, run, first, p in _parts(model)
        for kind, s in (*((s.kind, s) for s in p.states), *(("draft", s) for s in (p.drafted if drafts else ())))
    ]


def _parts(model: Model) -> Iterator[tuple[int, int, Run, int, Part]]:
    """Run, slot, the run itself, the index of its first layer, and each part: of the ends first, then of the layers."""
    first: dict[str, int] = {}
    for n, run in [(-1, Run(1, (model.ends,), "ends")), *enumerate(model.runs)]:
        start = first.get(run.stack, 0)
        for slot, each in enumerate(run.layers):
            for p in each.parts:
                yield n, slot, run, start, p
        first[run.stack] = start + run.repeats * len(run.layers)
