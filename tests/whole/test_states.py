"""Widths of keys and values, and the layers that keep them, against caches filled by the library's own forward."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import costs
import pytest
from oracle import BROADCAST

from atlas.interpret import Derived
from atlas.numbers.tabulate import state_rows

Widths = dict[tuple[str, int], tuple[int, int]]

NOTHING_KEPT = {"Alibaba-NLP--gte-Qwen2-7B-instruct"}
"""Files whose class keeps a cache, and whose config says that attention looks both ways (`is_causal: false`)."""

NAMED_OTHERWISE = {"unlimited_ocr": {"prefill_keys": "keys", "prefill_values": "values"}}
"""Caches with names of their own: an image's part is kept apart from the window."""

ONE_ENTRY_TWICE = {"deepseek_v4"}
"""One entry is key and value at once, and stands under both names where no compressor keeps it."""


def ours(found: Derived) -> Widths:
    """Widths of keys and of values by kind and layer; a latent that is both counts as keys."""
    assert found.model is not None
    return {
        (s["kind"], s["owner"] + k * s["owner_step"]): (s["k_elements"], s["v_elements"])
        for s in state_rows(found.model)
        if s["kind"] in ("kv", "cross") and s["stack"] == "decoder" and s["stride"] == 1
        for k in range(s["repeats"])
    }


def measured(record: dict[str, Any], mine: Widths) -> Widths:
    """The same of the reference, in our form: a latent and its rotary key are one, cross-attention is numbered anew."""
    found: Widths = {}
    names = NAMED_OTHERWISE.get(record["model_type"], {})
    entries = [e for e in record["kv"]["layers"] if e.get("tensors")]
    first_cross = min((costs.layers_at(e["at"])[0] for e in entries if e.get("cross")), default=0)
    for entry in entries:
        tensors = {names.get(n, n): shape for n, shape in entry["tensors"].items()}
        if "keys" not in tensors:
            continue
        widths = [
            prod(n for n in tensors[x][1:] if isinstance(n, int)) if x in tensors else 0 for x in ("keys", "values")
        ]
        for i in costs.layers_at(entry["at"]):
            place = ("cross", i - first_cross) if entry.get("cross") else ("kv", i)
            latent = place in mine and mine[place][1] == 0
            both = (widths[0], 0) if record["model_type"] in ONE_ENTRY_TWICE else (sum(widths), 0)
            found[place] = both if latent else (widths[0], widths[1])
    return found


@pytest.mark.parametrize("which", ["published", "defaults"])
def test_every_layer_keeps_what_the_library_keeps(shared: Path, which: str) -> None:
    """Owners and widths of keys and values of every measured cache."""
    lines = (shared / "oracle" / f"{which}.jsonl").read_text("utf-8").splitlines()
    records = [r for r in map(json.loads, lines) if r["status"] == "ok" and "layers" in (r.get("kv") or {})]
    held = {r["name"]: (r, costs.config(shared, which, r["name"])) for r in records if r["name"] not in BROADCAST}
    held = {name: pair for name, pair in held.items() if pair[1].model is not None}
    left_out = {name for name, (_, found) in held.items() if found.fingerprint.kv_bytes_per_token is None}
    assert left_out <= NOTHING_KEPT
    held = {name: pair for name, pair in held.items() if name not in left_out}
    got = {name: ours(found) for name, (_, found) in held.items()}
    wanted = {name: measured(record, got[name]) for name, (record, _) in held.items()}
    kinds = {name: {kind for kind, _ in found} | {"kv"} for name, found in wanted.items()}  # a source may be absent
    seen = {name: {p: w for p, w in found.items() if p[0] in kinds[name]} for name, found in got.items()}
    assert {n: (seen[n], wanted[n]) for n in seen if seen[n] != wanted[n]} == {}
