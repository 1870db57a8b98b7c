"""Totals that a repository of one design may report, each by a named formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from atlas.derived import Derived
from atlas.parse import load
from schemas.vocabulary import APART, Role

LEFTOVERS = ("A_log", "dt_bias", "correction_bias", "sinks", "conv1d.weight", ".D")
"""Vectors kept in fp32, which some published totals leave out."""
QWEN_TOWERS = ("qwen3_5", "qwen3_5_moe", "qwen4_exp")


class Design(NamedTuple):
    """What is known of a design by its shape, and the totals its repositories may report."""

    key: tuple[Any, ...]
    totals: Mapping[str, int]


def designs_of(d: Derived, raw: bytes | dict[str, Any]) -> list[Design]:
    """The design of a derived config; none where it is refused."""
    f = d.fingerprint
    if d.model is None or f.params_total is None:
        return []
    config: dict[str, Any] = load(raw) if isinstance(raw, bytes) else raw
    key = (f.model_type, f.n_layers, f.d_model, f.vocab_size)
    return [Design(key, formulas(d, config))]


def formulas(d: Derived, config: dict[str, Any]) -> dict[str, int]:
    """The totals by name, the plainest first."""
    f, total = d.fingerprint, d.fingerprint.params_total or 0
    head = (f.vocab_size or 0) * (f.d_model or 0)
    tower, draft, left = vision(f.model_type, config), f.params_mtp or 0, leftovers(d)
    found = {"the model alone": total}
    if f.tie_word_embeddings:
        found["the model, its tied head stored again"] = total + head
    more = {"drafting layers": draft, "the vision tower": tower}
    present = {name: n for name, n in more.items() if n}
    for name, n in present.items():
        found[f"the model and {name}"] = total + n
    if len(present) == len(more):
        found["the model, drafting layers and the vision tower"] = total + draft + tower
    if left:
        found |= {f"{name}, less vectors kept in fp32": n - x for name, n in dict(found).items() for x in left[:1]}
    return found


def leftovers(d: Derived) -> list[int]:
    """Elements of the vectors that some totals leave out."""
    assert d.model is not None
    n = sum(
        times * t.elements * t.stored
        for each, times in d.model.counted().items()
        for p in each.parts
        for t in p.tensors
        if t.role is Role.VECTOR and t.component not in APART and t.name.endswith(LEFTOVERS[:4])
    )
    return [n] if n else []


def vision(model_type: str | None, config: dict[str, Any]) -> int:
    """The tower of Qwen3.5 and its kin by hand: blocks, patches, positions and a merger; 0 for others.

    transformers 5.24, models/qwen3_5/modeling_qwen3_5.py: Qwen3_5VisionModel.
    """
    tower: Any = config.get("vision_config")
    if model_type not in QWEN_TOWERS or not isinstance(tower, dict):
        return 0
    v = {"hidden_size": 1152, "intermediate_size": 4304, "depth": 27, "out_hidden_size": 3584} | tower
    h, f, out = v["hidden_size"], v["intermediate_size"], v["out_hidden_size"]
    patch = v.get("in_channels", 3) * v.get("temporal_patch_size", 2) * v.get("patch_size", 16) ** 2
    block = 4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h
    merged = h * v.get("spatial_merge_size", 2) ** 2
    ends = patch * h + h + v.get("num_position_embeddings", 2304) * h
    return v["depth"] * block + ends + 2 * h + merged * merged + merged + merged * out + out


def fitting(row: Mapping[str, str], designs: Mapping[tuple[Any, ...], list[Design]]) -> str | None:
    """The formula that gives the row's total for a design of its shape; None where none does."""
    try:
        key = (row["architecture"], *(int(row[k]) for k in ("num_hidden_layers", "hidden_size", "vocab_size")))
        total = int(row["parameters_raw"])
    except ValueError:
        return None
    for design in designs.get(key, ()):
        found = next((name for name, n in design.totals.items() if n == total), None)
        if found is not None:
            return found
    return None
