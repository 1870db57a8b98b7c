"""DeepSeek-V4's layers: how much of the past each of them compresses, and which of them choose experts by a table."""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import n_layers
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.reading.values import among, entries
from atlas.refusal import contradiction

RATIOS = {0: "sliding_attention", 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}


def compress_ratios(c: Config) -> Kinds:
    """The listed kinds, else compress_ratios, else two heavily compressed layers and then both kinds in turn.

    Entries beyond the last layer describe drafting layers.
    """
    n, stated = n_layers(c), c.opt("layer_types")
    if stated is None:
        ratios = c.opt("compress_ratios")
        stated = _default(c, n) if ratios is None else _kinds(ratios)
    return _first("layer_types", stated, n, c.rules.mixers)


def _kinds(stated: Any) -> list[str]:
    ratios = entries("compress_ratios", stated)
    among("compress_ratios", ratios, RATIOS)
    return [RATIOS[r] for r in ratios]


def _default(c: Config, n: int) -> list[str]:
    c.derived(
        "layer_types",
        "2 heavily compressed, then sparse and heavy in turn",
        "neither layer_types nor compress_ratios is stated",
    )
    return [RATIOS[4] if i > 2 and i % 2 else RATIOS[128] for i in range(n)]


def _first(field: str, stated: Any, n: int, known: Any) -> Kinds:
    words = entries(field, stated)[:n]
    if len(words) < n:
        raise contradiction(f"{field} has {len(words)} entries for {n} layers")
    among(field, words, known)
    return tuple(words)


def hash_first(c: Config) -> Kinds:
    """The listed kinds, else experts chosen by a table in the first `num_hash_layers` layers, by a router after."""
    n, stated = n_layers(c), c.opt("mlp_layer_types")
    if stated is not None:
        return _first("mlp_layer_types", stated, n, c.rules.ffns)
    first = min(c.size("num_hash_layers"), n)
    return ("hash_moe",) * first + ("moe",) * (n - first)
