"""Which tensor-parallel degrees a model divides by, and why not: even, copied or uneven, with the widths that decide.

A degree is uneven where query heads or an inner width do not divide, or KV heads neither divide nor are divided: the
engines refuse it or pad. It is copied where every rank keeps something whole that it could be hoped to share: KV heads
that are fewer than the ranks, the latent of MLA, the B and C groups of a recurrent layer. Else it is even.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.caches import Cache, counted_caches
from atlas.numbers.entries import CACHE_WIDTH
from atlas.numbers.ranks import Split, Undescribed, cache_on_rank, heads_on_rank, model_on_rank
from atlas.numbers.shape import infos
from atlas.numbers.structure import ONE_BY_ONE, Feeding, Mixing, Model
from schemas.vocabulary import Component

DEGREES = (2, 4, 8, 16)
TILE = 256
"""Widths are looked at up to this power of two: tiles of matrix kernels are 64 to 256 wide."""


class Widths(NamedTuple):
    """What has to divide: query heads, KV heads with the width of one, inner widths by name, recurrent heads."""

    heads: frozenset[tuple[int, int]]  # query heads, width of one
    kv: frozenset[int]
    inner: frozenset[tuple[str, int]]
    latents: frozenset[int]
    groups: frozenset[int]
    recurrent: frozenset[int]


@lru_cache(maxsize=ONE_BY_ONE)
def widths(model: Model) -> Widths:
    """The widths of a model's decoder (or encoder) that parallelism divides."""
    found = [infos(each) for run in model.stack() for each in run.layers]
    mixing = [m for ms, _ in found for m in ms if m.n_q_heads]
    kept = [c for c, _ in counted_caches(model)]
    return Widths(
        frozenset((m.n_q_heads or 0, m.v_head_dim or m.head_dim or 1) for m in mixing),
        frozenset(m.n_kv_heads for m in mixing if m.n_kv_heads),
        frozenset(w for _, fs in found for f in fs for w in _inner(f)) | frozenset(_shared(model)),
        frozenset(c.elements for c in kept if c.kind == "latent" and _is_latent(c, mixing)),
        frozenset(c.groups for c in kept if c.groups),
        frozenset(c.heads for c in kept if c.kind == "state" and c.heads),
    )


def _is_latent(c: Cache, mixing: list[Mixing]) -> bool:
    return c.stack == "decoder" and any(m.label == c.mixer for m in mixing)


def _inner(f: Feeding) -> Iterator[tuple[str, int]]:
    if f.d_ff:
        yield ("expert width" if f.n_routed else "d_ff"), f.d_ff


def _shared(model: Model) -> Iterator[tuple[str, int]]:
    """Inner widths of shared experts."""
    for each in {each for run in model.stack() for each in run.layers}:
        for p in each.parts:
            for t in p.tensors:
                if t.component is Component.EXPERTS_SHARED and "down_proj.weight" in t.name and t.shape[1]:
                    yield "shared expert width", t.shape[1]


def verdicts(model: Model) -> dict[str, str]:
    """For each degree "even", or "copied" or "uneven" with the reason, or "unknown" where a part is not described."""
    return {str(t): verdict(model, t) for t in DEGREES}


def verdict(model: Model, t: int) -> str:
    """The same for any degree."""
    w = widths(model)
    uneven, copied = _uneven(w, t), list(_copied(w, t))
    if uneven:
        return f"uneven: {'; '.join(uneven)}"
    try:
        model_on_rank(model, Split(tp=t))
    except Undescribed as reason:
        return f"unknown: {reason}"
    return f"copied: {'; '.join(copied)}" if copied else "even"


@lru_cache(maxsize=1024)
def _uneven(w: Widths, t: int) -> tuple[str, ...]:
    return (
        *(f"{q} query heads" for q in sorted({q for q, _ in w.heads}) if q % t),
        *(f"{kv} KV heads" for kv in sorted(w.kv) if kv % t and t % kv),
        *(f"{name} {n:,}" for name, n in sorted(w.inner) if n % t),
        *(f"{n} recurrent heads" for n in sorted(w.recurrent) if n % t),
    )


def _copied(w: Widths, t: int) -> Iterator[str]:
    for kv in sorted(k for k in w.kv if k % t):
        yield f"{kv} KV head{'' if kv == 1 else 's'} on {t} ranks, each on {t // kv}"
    yield from (f"the latent of {n} elements on every rank" for n in sorted(w.latents))
    yield from (f"{g} group{'' if g == 1 else 's'} of B and C repeated" for g in sorted(w.groups) if g % t)


def alignments(model: Model) -> dict[str, int]:
    """For each degree that divides: the largest power of two, at most 256, that divides every rank's widths."""
    w = widths(model)
    return {str(t): _aligned(w, t) for t in DEGREES if not _uneven(w, t) and (w.heads or w.inner)}


def _aligned(w: Widths, t: int) -> int:
    kv_width = {width * heads_on_rank(kv, t) for kv in w.kv for _, width in w.heads}
    shards = {q // t * width for q, width in w.heads} | kv_width | {n // t for _, n in w.inner}
    tile = TILE
    while any(n % tile for n in shards):
        tile //= 2
    return tile


def params_on_rank(model: Model, t: int) -> int | None:
    """Stored weights of the fullest of `t` tensor-parallel ranks; None where a width does not divide or is unknown."""
    if _uneven(widths(model), t):
        return None
    try:
        return model_on_rank(model, Split(tp=t))
    except Undescribed:
        return None


def growth_on_rank(model: Model, t: int) -> float | None:
    """Bytes that one more token adds on each of `t` ranks once every window is full, at 2 bytes an element."""
    if _uneven(widths(model), t):
        return None
    grows = [(c, n) for c, n in counted_caches(model) if c.stack == "decoder" and c.kind in ("kv", "latent")]
    each = (n * cache_on_rank(c, Split(tp=t)) * (c.width or CACHE_WIDTH) / c.stride for c, n in grows if not c.window)
    return sum(each)


def serving_columns(model: Model) -> dict[str, object]:
    """The columns of parallel serving: verdicts, alignment, and what the fullest rank holds at each degree."""
    decodes = model.has_cache
    found: dict[str, object] = {"tp_degrees": verdicts(model), "tp_alignment": alignments(model)}
    found |= {f"params_rank_tp{t}": params_on_rank(model, t) for t in DEGREES}
    drafted = [(c, n) for c, n in counted_caches(model) if c.stack == "mtp" and c.kind in ("kv", "latent")]
    found["draft_kv_bytes_per_token"] = sum(n * c.elements * CACHE_WIDTH for c, n in drafted) if drafted else None
    return found | {f"kv_bytes_per_token_rank_tp{t}": growth_on_rank(model, t) if decodes else None for t in DEGREES}
