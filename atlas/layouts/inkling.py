"""Inkling's layers: every sixth full, the others windowed; dense ones first; middle layers that run several rounds."""

from __future__ import annotations

from functools import lru_cache

from atlas.layouts.common import MAX_LAYERS, listed, n_layers
from atlas.layouts.words import Kinds, Round, Words
from atlas.reading.config import Config
from atlas.reading.values import entries
from atlas.refusal import contradiction

KINDS = ("hybrid", "hybrid_sliding")
Rounds = tuple[tuple[int, int], ...]
LATER = 3
"""Rounds from the third on are alike."""


def every_sixth_full(c: Config) -> Kinds:
    """layer_types, else the layers of local_layer_ids windowed, else every sixth full."""
    n, local = n_layers(c), c.opt("local_layer_ids")
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", KINDS)
    if local is None:
        c.derived("layer_types", "every 6th full", "layer i is full where i + 1 is a multiple of 6")
        return _every_sixth(n)
    windowed = entries("local_layer_ids", local)
    return tuple("hybrid_sliding" if i in windowed else "hybrid" for i in range(n))


@lru_cache(maxsize=64)
def _every_sixth(n: int) -> Kinds:
    return tuple("hybrid_sliding" if (i + 1) % 6 else "hybrid" for i in range(n))


def dense_to_index(c: Config) -> Kinds:
    """mlp_layer_types, else the first `dense_mlp_idx` layers dense."""
    if c.opt("mlp_layer_types") is not None:
        return listed(c, "mlp_layer_types", c.rules.ffns)
    n, first = n_layers(c), c.size("dense_mlp_idx")
    return tuple("dense" if i < first else "sparse" for i in range(n))


def _rounds(c: Config) -> Rounds:
    """Every layer with its round: 0 outside the loop, 1 and up inside."""
    n, end = n_layers(c), c.opt_count("loop_layer_index_end")
    if end is None:
        return _looped(n, 0, 0, 0)
    start, passes = c.size("loop_layer_index_start"), c.count("loop_num_passes")
    if not 0 < start < end <= n or n + (end - start) * passes > MAX_LAYERS:
        raise contradiction(f"layers {start} to {end} of {n} cannot run {passes} rounds")
    return _looped(n, start, end, passes)


@lru_cache(maxsize=256)
def _looped(n: int, start: int, end: int, passes: int) -> Rounds:
    core = tuple((i, min(r, LATER)) for r in range(1, passes + 1) for i in range(start, end))
    return (*((i, 0) for i in range(start)), *core, *((i, 0) for i in range(end, n)))


def in_rounds(c: Config) -> Words:
    """Later generations: kind of layer, whether it leads, and its round."""
    return _rounds_of(every_sixth_full(c), _rounds(c))


@lru_cache(maxsize=256)
def _rounds_of(kinds: Kinds, rounds: Rounds) -> Words:
    return tuple(Round(kinds[i], r, leads=i == 0) for i, r in rounds)


def experts_in_rounds(_: Config, mixers: Words) -> Words:
    """Experts in every layer, with its round."""
    return tuple(Round("sparse", word.number) for word in mixers if isinstance(word, Round))


LAYOUTS = {"every_sixth_full": every_sixth_full, "in_rounds": in_rounds}
FFN_LAYOUTS = {"dense_to_index": dense_to_index}
FOLLOWING = {"experts_in_rounds": experts_in_rounds}
