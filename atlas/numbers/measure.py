"""Every number of the atlas is a fold over one structure; there is no second formula for any of them.

Conventions (the contract's, in short):

- `params_total`: the weights a checkpoint of the named class stores, tied weights once. MTP layers, towers and
buffers stand apart.
- `params_active`: the stored weights one token uses, each once: top-k of the routed experts, shared experts, a tied
matrix once.
- `params_active_compute`: matmul weights as often as they multiply in one step (a tied head once, a shared block each
time), no looked-up tables. What a source token costs, what runs once a sequence and what needs an image stand apart.
- Cache and state are logical sizes of one sequence, 2 bytes an element, except states kept at a width of the family's
own.
- A window of W holds min(T, W) tokens. FLOPs: a multiply-add is 2. Decode traffic: active compute weights at 2 bytes
plus what is read.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from atlas.numbers.entries import CACHE_WIDTH
from atlas.numbers.structure import Layer, Model, Part, Read, State
from schemas.vocabulary import APART, Component, Role

CONTEXTS = {"4k": 4_096, "32k": 32_768, "128k": 131_072, "1m": 1_048_576}
"""Tokens behind the suffixes of column names."""

COMPONENTS = tuple(c for c in Component if c not in APART)


class Ledger(msgspec.Struct, frozen=True, gc=False):
    """What a layer or a model weighs, keeps and costs.

    Counts of weights, bytes at 2 bytes an element, FLOPs of one token.
    """

    params: tuple[int, ...]  # one entry per Component, in its order
    active: int
    active_compute: int
    growth: float  # bytes per token of unbounded caches
    growth_first: float  # bytes the first tokens add, windows open
    index_growth: float
    constant: int
    kv: tuple[int, int, int, int]  # total state at 4k, 32k, 128k, 1m
    flops: tuple[int, int]  # reads at 4k, 128k
    read_bytes: tuple[int, int]  # loaded per token at 4k, 128k
    cross: float  # bytes per token of a source that is looked at, in no other figure
    active_max: int  # the same as active where no choice of a router is empty
    source_compute: int  # weights multiplied once per token of a source
    cross_flops: int  # FLOPs of one decoded token per token of a source
    prompt: tuple[int, int]  # reads of a whole prompt of 4k, 128k


_ORDER = {c: i for i, c in enumerate(Component)}
_CONTEXTS = tuple(CONTEXTS.values())
_READ_AT = (CONTEXTS["4k"], CONTEXTS["128k"])


@lru_cache(maxsize=16384)
def part_ledger(part: Part) -> Ledger:
    """Fold one part."""
    params = [0] * len(_ORDER)
    active = most = compute = source = 0
    for t in part.tensors:
        size = t.elements
        params[_ORDER[t.component]] += t.stored * size
        if t.component not in APART:
            most += min(t.stored, t.touched) * size
            active += min(t.stored * size, t.used)
            compute += t.used if t.role is Role.MATMUL else 0
            source += t.used if t.role is Role.SOURCE else 0
    return Ledger(
        tuple(params),
        active,
        compute,
        _growth(part.states, "kv", bounded=False),
        _growth(part.states, "kv", bounded=True),
        _growth(part.states, "index", bounded=True),
        sum(int(s.bytes_at(0)) for s in part.states if not s.stride),
        tuple(sum(int(s.bytes_at(t)) for s in part.states) for t in _CONTEXTS),  # pyright: ignore[reportArgumentType]
        tuple(sum(r.flops * r.entries_at(t) for r in part.reads) for t in _READ_AT),  # pyright: ignore[reportArgumentType]
        tuple(sum(int(r.bytes_at(t)) for r in part.reads) for t in _READ_AT),  # pyright: ignore[reportArgumentType]
        _growth(part.states, "cross", bounded=True),
        most,
        source,
        sum(r.flops for r in part.reads if r.over == "source"),
        tuple(sum(_in_prompt(r) * r.entries_in_prompt(t) for r in part.reads) for t in _READ_AT),  # pyright: ignore[reportArgumentType]
    )


def _in_prompt(read: Read) -> int:
    """FLOPs per entry in the form that a whole prompt runs in."""
    return read.flops if read.prefill is None else read.prefill


def _growth(states: tuple[State, ...], kind: str, *, bounded: bool, cache_width: float = CACHE_WIDTH) -> float:
    """Bytes per token of the states of a kind, windowed ones counted only where asked."""
    found = (s for s in states if s.kind == kind and s.stride and (bounded or s.window is None))
    return sum(s.elements * (cache_width if s.width is None else s.width) / s.stride for s in found)


@lru_cache(maxsize=16384)
def layer_ledger(layer: Layer) -> Ledger:
    """Fold one layer."""
    return total([(1, part_ledger(p)) for p in layer.parts])


@lru_cache(maxsize=16384)
def model_ledger(model: Model) -> Ledger:
    """Fold a model."""
    return total([(n, layer_ledger(each)) for each, n in model.counted().items()])


def total(ledgers: list[tuple[int, Ledger]]) -> Ledger:
    """Add ledgers up, each as often as it is counted."""
    params = [0] * len(_ORDER)
    kv, flops, reads, prompt = [0] * 4, [0] * 2, [0] * 2, [0] * 2
    active = compute = constant = most = source = looked = 0
    growth = first = index = cross = 0.0
    for n, g in ledgers:
        params = [a + n * b for a, b in zip(params, g.params, strict=True)]
        active += n * g.active
        compute += n * g.active_compute
        growth += n * g.growth
        first += n * g.growth_first
        index += n * g.index_growth
        constant += n * g.constant
        cross += n * g.cross
        most += n * g.active_max
        source += n * g.source_compute
        looked += n * g.cross_flops
        kv = [a + n * b for a, b in zip(kv, g.kv, strict=True)]
        flops = [a + n * b for a, b in zip(flops, g.flops, strict=True)]
        reads = [a + n * b for a, b in zip(reads, g.read_bytes, strict=True)]
        prompt = [a + n * b for a, b in zip(prompt, g.prompt, strict=True)]
    return Ledger(
        tuple(params),
        active,
        compute,
        growth,
        first,
        index,
        constant,
        tuple(kv),  # pyright: ignore[reportArgumentType]
        tuple(flops),  # pyright: ignore[reportArgumentType]
        tuple(reads),  # pyright: ignore[reportArgumentType]
        cross,
        most,
        source,
        looked,
        tuple(prompt),  # pyright: ignore[reportArgumentType]
    )


def params_total(ledger: Ledger) -> int:
    """The weights of the checkpoint's class, tied ones once."""
    return sum(ledger.params[_ORDER[c]] for c in COMPONENTS)


def component(ledger: Ledger, name: Component) -> int:
    """The weights of one component."""
    return ledger.params[_ORDER[name]]


def kv_bytes(model: Model, context: int, cache_width: float = CACHE_WIDTH) -> float:
    """Bytes of cache and state one sequence of `context` tokens holds, at `cache_width` bytes per cache element."""
    return sum(
        n * s.bytes_at(context, cache_width)
        for each, n in model.counted().items()
        for p in each.parts
        for s in p.states
    )


def kv_bytes_per_token(model: Model, cache_width: float = CACHE_WIDTH) -> float:
    """Bytes one more token adds once every window is full, at `cache_width` bytes per cache element."""
    return sum(
        n * _growth(p.states, "kv", bounded=False, cache_width=cache_width)
        for each, n in model.counted().items()
        for p in each.parts
    )


def growth_bytes_per_token(model: Model, max_context: int | None, cache_width: float = CACHE_WIDTH) -> float:
    """Bytes of cache and index one more token adds at the stated context: a window no shorter than it is no bound."""
    return sum(
        n * s.elements * (cache_width if s.width is None else s.width) / s.stride
        for each, n in model.counted().items()
        for p in each.parts
        for s in p.states
        if s.kind in ("kv", "index") and (s.window is None or (max_context is not None and s.window >= max_context))
    )


def prefill_attention_flops(model: Model, tokens: int) -> int:
    """FLOPs that all tokens of a prompt spend looking at each other, in the form prefill runs in; no state work."""
    return sum(
        n * _in_prompt(r) * r.entries_in_prompt(tokens)
        for each, n in model.counted().items()
        for p in each.parts
        for r in p.reads
    )


def decode_bytes(model: Model, context: int, cache_width: float = CACHE_WIDTH) -> float:
    """Bytes moved to decode one token after `context`: compute weights at 2 bytes, and what it reads of the cache."""
    read = (
        n * r.bytes_at(context, cache_width) for each, n in model.counted().items() for p in each.parts for r in p.reads
    )
    return 2 * model_ledger(model).active_compute + sum(read)


def attention_flops(model: Model, context: int) -> int:
    """FLOPs one token spends looking back over `context` tokens, on top of its weights."""
    return sum(
        n * r.flops * r.entries_at(context) for each, n in model.counted().items() for p in each.parts for r in p.reads
    )


def whole(number: float) -> int | float:
    """An integer where the number is one (a compressed cache may add half an element per token)."""
    return int(number) if number == int(number) else number
