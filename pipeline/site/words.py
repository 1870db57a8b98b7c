"""A design in words: one line of what it is, and how two designs differ."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import NamedTuple

from pipeline.site.gather import Design, Row
from pipeline.units import binary, scaled

NEAREST = 3
WINDOW = 24
"""Designs looked at on both sides, in the order of their size, for the nearest ones."""
MOST_WORDS = 5
"""Differences that are said."""
ATTENTION = {
    "mha": "multi-head attention",
    "gqa": "grouped-query attention",
    "mqa": "multi-query attention",
    "mla": "latent attention (MLA)",
}


def mixers(f: Row) -> str:
    """The mixers with their counts: 52 sliding, 10 full."""
    mix = sorted((f["layer_mix"] or {}).items(), key=lambda x: (-x[1], x[0]))
    return ", ".join(f"{n} {k.removesuffix('_attention').replace('_', ' ')}" for k, n in mix)


def experts(f: Row) -> str | None:
    """Top-k of n experts, with shared ones."""
    if not f["is_moe"]:
        return None
    shared = f" + {f['n_shared_experts']}" if f["n_shared_experts"] else ""
    return f"{f['experts_per_token']} of {f['n_routed_experts']}{shared}"


def active(f: Row) -> int | None:
    """Active parameters where they are fewer than all."""
    return f["params_active"] if f["params_active"] != f["params_total"] else None


def sentence(d: Design) -> str:
    """What a design is, in a line."""
    f = d.facts
    size = f"{scaled(f['params_total'])} parameters" if f["params_total"] is not None else "size not known"
    using = f", {scaled(n)} active per token" if (n := active(f)) is not None else ""
    kind = ATTENTION.get(f["attention_kind"] or "", "no attention")
    sparse = f", experts {experts(f)}" if f["is_moe"] else ""
    return f"{size}{using}; {f['n_layers']} layers ({mixers(f)}), {kind}{sparse}; {cache(d)}"


def cache(d: Design) -> str:
    """What it keeps, in a line."""
    f = d.facts
    if not d.has_cache:
        return "keeps nothing between tokens"
    grows = f["growth_bytes_per_token"]
    return (
        f"{binary(grows)} of cache per token, {binary(f['kv_bytes_128k'])} at 128K"
        if grows is not None
        else "cache not known"
    )


_COMPARED = (
    ("n_layers", "layers"), ("d_model", "wide"), ("d_ff", "in the feed-forward"), ("n_q_heads", "query heads"),
    ("n_kv_heads", "KV heads"), ("head_dim", "per head"), ("vocab_size", "words"), ("n_routed_experts", "experts"),
    ("experts_per_token", "experts per token"), ("moe_d_ff", "in an expert"), ("sliding_window", "tokens of window"),
)  # fmt: skip
_WORDS = (
    ("attention_kind", "attention"), ("norm_placement", "norm placement"), ("activation", "activation"),
    ("position", "position"), ("has_qk_norm", "QK-norm"), ("tie_word_embeddings", "tied head"),
    ("is_gated_ffn", "gate"), ("has_sinks", "sinks"), ("norm_class", "norm"), ("attention_mask", "mask"),
)  # fmt: skip


def differences(a: Row, b: Row) -> Iterator[str]:
    """What b has otherwise than a, in words."""
    for name, said in _COMPARED:
        if a[name] != b[name]:
            yield f"{_number(b[name])} {said} instead of {_number(a[name])}"
    for name, said in _WORDS:
        if a[name] != b[name]:
            yield f"{said} {_word(b[name])} instead of {_word(a[name])}"
    if a["layer_mix"] != b["layer_mix"] and a["n_layers"] == b["n_layers"]:
        yield f"mixers {mixers(b)} instead of {mixers(a)}"


def _number(n: int | None) -> str:
    return "none" if n is None else f"{n:,}"


def _word(value: object) -> str:
    return (
        "no"
        if value is False
        else "yes"
        if value is True
        else "none"
        if value is None
        else str(value).replace("_", " ")
    )


def distance(a: Row, b: Row) -> float:
    """How far two designs are apart: words that differ, and sizes by their ratio."""
    words = sum(a[name] != b[name] for name, _ in _WORDS)
    sizes = sum(_ratio(a[name], b[name]) for name, _ in _COMPARED)
    mix = set(a["layer_mix"] or {}) ^ set(b["layer_mix"] or {})
    return words + sizes + 2 * len(mix)


def _ratio(x: int | None, y: int | None) -> float:
    if not x or not y:
        return 0.0 if x == y else 2.0
    return min(2.0, abs(log(x / y)))


class Near(NamedTuple):
    """A design near another: its id, its name, and what it has otherwise."""

    design_id: str
    name: str
    differs: str


def nearest(designs: list[Design]) -> dict[str, list[Near]]:
    """For each design the nearest few of those about as large."""
    ordered = sorted(designs, key=lambda d: (d.facts["params_total"] or 0, d.design_id))
    found: dict[str, list[Near]] = {}
    for n, d in enumerate(ordered):
        around = [o for o in ordered[max(0, n - WINDOW) : n + WINDOW + 1] if o is not d]
        around.sort(key=lambda o: (distance(d.facts, o.facts), o.design_id))
        found[d.design_id] = [Near(o.design_id, o.name, _differs(d.facts, o.facts)) for o in around[:NEAREST]]
    return found


def _differs(a: Row, b: Row) -> str:
    return "; ".join(list(differences(a, b))[:MOST_WORDS]) or "the same facts, in another order of layers"
