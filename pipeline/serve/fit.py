"""Does it fit: weights and cache of the fullest GPU beside its memory, and what is left for sequences and context.

Sizes are logical: no pages, padding, activations or graphs, unless a reserve is stated for them. Every figure of a GPU
is that of the fullest rank of the fullest stage. What cannot be derived makes the answer unknown, with the reason.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import msgspec

from atlas.derived import Derived
from atlas.numbers.caches import Cache, caches
from atlas.numbers.degrees import DEGREES, verdict
from atlas.numbers.ranks import Split, Stage, Undescribed, cache_on_rank, stages
from atlas.numbers.structure import Model
from pipeline.engines.types import Kept
from pipeline.serve.gpus import Gpu
from pipeline.serve.latency import Bounds, Load, bounds
from pipeline.serve.weights import UNPROVEN, Weights, weights

LONGEST = 2**31
"""No context is looked for beyond this."""


class Wanted(NamedTuple):
    """What is asked: GPU and how many, how the model is shared out, tokens, sequences, types, and what is reserved."""

    gpu: Gpu
    gpus: int
    split: Split
    at: int | None
    sequences: int | None
    cache: Kept
    weights: str
    reserve: int


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one model. Bytes are of the fullest GPU; `fits` is null where it is not known."""

    name: str
    fits: bool | None
    why: str
    verdict: str
    params_total: int | None = None
    memory: int = 0
    reserve: int = 0
    weight_bytes: int | None = None
    weight_bytes_least: int | None = None
    weights_are: str | None = None
    at: int | None = None
    cache_bytes_per_sequence: int | None = None
    sequences: int | None = None
    longest_context: int | None = None
    states_context: int | None = None
    left_bytes: int | None = None
    binds: str | None = None
    bounds: Bounds | None = None
    notes: tuple[str, ...] = ()


class _Gpu(NamedTuple):
    """What one stage's fullest GPU has to hold: its caches, and the room beside its weights."""

    room: int
    kept: tuple[tuple[Cache, float], ...]

    def of(self, tokens: int, cache: Kept) -> float:
        """Bytes that one sequence of so many tokens keeps here."""
        return sum(_bytes(c, on_rank, tokens, cache) for c, on_rank in self.kept)


def _bytes(c: Cache, on_rank: float, tokens: int, cache: Kept) -> float:
    """Bytes of one cache after so many tokens; states at the width the family keeps."""
    if c.kind == "cross":
        return 0
    held = min(tokens, c.window) if c.window is not None else tokens
    entries = 1 if c.stride == 0 else held // c.stride
    if c.width is not None:
        return entries * on_rank * c.width
    heads = (c.heads or 1) * on_rank / c.elements if c.kind == "kv" else 1
    return entries * (on_rank * cache.each + heads * cache.per_head * (2 if c.v else 1))


def fit(name: str, d: Derived, w: Wanted) -> Fit:
    """Whether a model fits, how much of it, and what binds; never raises for a model."""
    f = d.fingerprint
    if d.model is None:
        return Fit(name=name, fits=None, verdict=f.verdict, why=f"refused ({f.refusal_kind}): {f.refusal_reason}")
    try:
        return _wider(_fit(name, d, d.model, w), name, d, d.model, w)
    except Undescribed as reason:
        said = f"not known, because {reason}"
        return Fit(name=name, fits=None, why=said, verdict=f.verdict, params_total=f.params_total, memory=w.gpu.memory)


def _wider(found: Fit, name: str, d: Derived, model: Model, w: Wanted) -> Fit:
    """The answer, and where it does not fit, the least tensor-parallel degree at which it would."""
    if found.fits is not False:
        return found
    if _may(found):
        why = f"not known: with the weights counted at most, {found.why}"
        return msgspec.structs.replace(found, fits=None, why=why)
    if found.weights_are == UNPROVEN:
        why = f"not known, because the stored form of the weights is not proven; at bf16, {found.why}"
        return msgspec.structs.replace(found, fits=None, why=why)
    for t in (t for t in DEGREES if t > w.split.tp):
        verdict = (d.fingerprint.tp_degrees or {}).get(str(t), "")
        split = w.split._replace(tp=t)
        if verdict.startswith("uneven"):
            continue
        other = _fit(name, d, model, w._replace(split=split, gpus=t * split.pp))
        if other.fits or _may(other):
            word = "would" if other.fits else "may"
            return msgspec.structs.replace(found, notes=(*found.notes, f"it {word} fit with TP {t}"))
    return msgspec.structs.replace(found, notes=(*found.notes, "no TP up to 16 makes it fit"))


def _may(found: Fit) -> bool:
    """Whether it would fit after all, were the weights no more than the fullest GPU holds at least."""
    left, most, least = found.left_bytes, found.weight_bytes, found.weight_bytes_least
    if found.fits is not False or left is None or most is None or least is None:
        return False
    if found.binds == "weights" and found.cache_bytes_per_sequence is not None:
        left -= found.cache_bytes_per_sequence
    return left + most - least >= 0


def _fit(name: str, d: Derived, model: Model, w: Wanted) -> Fit:
    f, parts = d.fingerprint, stages(model, w.split)
    held = weights(d, parts, w.split, w.weights)
    rooms = _rooms(model, parts, held, w)
    kept = any(g.kept for g in rooms) and f.kv_bytes_4k is not None
    known = Fit(
        name=name, fits=None, why="", verdict=f.verdict, params_total=f.params_total, memory=w.gpu.memory,
        reserve=w.reserve, weight_bytes=max(held.per_stage), weights_are=held.says, at=w.at,
        weight_bytes_least=held.least,
        states_context=f.max_context, notes=_notes(d, w, held),
    )  # fmt: skip
    at = w.at if w.at is not None else f.max_context
    if kept and at is not None:
        each = ceil(max(g.of(at, w.cache) for g in rooms))
        known = msgspec.structs.replace(known, at=at, cache_bytes_per_sequence=each)
    tight = min(rooms, key=lambda g: g.room)
    if tight.room < 0:
        why = f"the weights alone are {-tight.room / 2**30:,.2f} GiB more than a GPU has left for them"
        return msgspec.structs.replace(known, fits=False, why=why, binds="weights", left_bytes=tight.room)
    if not kept:
        why = "the weights fit; no cache is kept between steps"
        return msgspec.structs.replace(known, fits=True, why=why, binds=None, left_bytes=tight.room)
    return _with_cache(known, d, rooms, w, sum(held.per_stage) / sum(p.params for p in parts))


def _rooms(model: Model, parts: tuple[Stage, ...], held: Weights, w: Wanted) -> list[_Gpu]:
    """One GPU per stage."""
    if w.split.pp > 1 and any(r.stack == "encoder" for r in model.runs):
        raise Undescribed("how stages share an encoder and a decoder is not described")
    shared = [(c, cache_on_rank(c, w.split)) for c in caches(model) if c.stack == "decoder"]
    room = w.gpu.memory - w.reserve
    stage_of = [tuple((c, n) for c, n in shared if p.first <= c.owner < p.beyond) for p in parts]
    return [_Gpu(room - n, kept) for n, kept in zip(held.per_stage, stage_of, strict=True)]


def _with_cache(known: Fit, d: Derived, rooms: list[_Gpu], w: Wanted, width: float) -> Fit:
    """Sequences at a context, context for sequences, and what is left, on the GPU that binds."""
    at = w.at if w.at is not None else (d.fingerprint.max_context or None)
    groups = w.split.dp
    each = None if at is None else [g.of(at, w.cache) for g in rooms]
    most = None if each is None else min(_most(g.room, n) for g, n in zip(rooms, each, strict=True)) * groups
    asked = w.sequences or 1
    per_group = ceil(asked / groups)
    longest = min(_longest(g, per_group, w.cache) for g in rooms)
    if at is None or each is None or most is None:
        why = "no context is stated, neither by --at nor by the config"
        return msgspec.structs.replace(known, fits=None, why=why, longest_context=longest)
    i = min(range(len(rooms)), key=lambda k: rooms[k].room - per_group * each[k])
    left = rooms[i].room - ceil(per_group * each[i])
    fits = left >= 0
    return msgspec.structs.replace(
        known, fits=fits, at=at, why=_why(fits=fits, asked=asked, at=at, left=left),
        cache_bytes_per_sequence=ceil(max(each)),
        sequences=most, longest_context=longest, left_bytes=left, binds=_binds(w, i, d, fits=fits),
        bounds=bounds(
            d, w.split, w.gpu, Load(at, asked, width, ceil(per_group * sum(each)), is_fp8=w.weights == "fp8")
        ),
    )  # fmt: skip


def _most(room: int, each: float) -> int:
    return int(room // each) if each else LONGEST


def _longest(g: _Gpu, sequences: int, cache: Kept) -> int:
    """Tokens that so many sequences may have each, by halving; growth is never negative."""
    low, high = 0, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sequences * g.of(middle, cache) <= g.room else (low, middle - 1)
    return low


def _why(*, fits: bool, asked: int, at: int, left: int) -> str:
    many, one = ("", "s") if asked == 1 else ("s", "")
    does = f"fit{one}, {left / 2**30:,.2f} GiB left" if fits else f"need{one} {-left / 2**30:,.2f} GiB more"
    return f"{asked:,} sequence{many} of {at:,} tokens {does} on the fullest GPU"


def _binds(w: Wanted, stage: int, d: Derived, *, fits: bool) -> str:
    place = f" of stage {stage}" if w.split.pp > 1 else ""
    beyond = w.at is not None and d.fingerprint.max_context is not None and w.at > d.fingerprint.max_context
    return (
        f"cache{place}" if not (fits and beyond) else f"cache{place}; the config states {d.fingerprint.max_context:,}"
    )


def _notes(d: Derived, w: Wanted, held: Weights) -> tuple[str, ...]:
    f = d.fingerprint
    found = list(held.notes)
    if f.verdict != "known":
        found.append(f"the model is {f.verdict}: its numbers are by the nearest rules, not proven")
    if f.index_bytes_per_token and w.cache.each != 2:
        found.append("index caches stay at the width the family keeps")
    if w.cache.says:
        found.append(f"cache at {w.cache.name}: {w.cache.says}")
    t = w.split.attention_tp
    if d.model is not None and t > 1 and (said := verdict(d.model, t)) != "even":
        found.append(f"TP {t} is {said}")
    if w.at is not None and f.max_context is not None and w.at > f.max_context:
        found.append(f"the config states a context of {f.max_context:,} tokens, less than {w.at:,}")
    return tuple(found)
