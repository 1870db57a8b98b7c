"""Layers that read the compressed cache of an earlier layer, or make one, beside a window of their own."""

from __future__ import annotations

from atlas.layouts.common import n_layers
from atlas.layouts.mixed import indices
from atlas.layouts.words import Borrowed, Words
from atlas.reading.config import Config
from atlas.reading.values import MAX_COUNT, among, entries
from atlas.refusal import bad_value, contradiction

MOST_RATIO = 4096


def kv_sources(c: Config) -> Words:
    """Which layers make a compressed cache, which read one, which choose by an indexer, which have a table."""
    n, ratios = n_layers(c), entries("compress_ratios", c.need("compress_ratios"))
    if len(ratios) < n:
        raise contradiction(f"compress_ratios has {len(ratios)} entries for {n} layers")
    among("compress_ratios", ratios, range(MOST_RATIO + 1))
    makers, choosers = indices(c, "kv_source_layer_ids"), indices(c, "index_source_layer_ids")
    tables = _tables(c)
    return tuple(_word(i, ratios, makers, choosers, tables.get(i, 0)) for i in range(n))


def _word(i: int, ratios: list[int], makers: frozenset[int], choosers: frozenset[int], rows: int) -> Borrowed:
    tail = "_engram" if rows else ""
    if not ratios[i]:
        if i in makers | choosers:
            raise contradiction(f"layer {i} is a source, but compress_ratios has 0 for it")
        return Borrowed("window" + tail, rows=rows)
    source = max((m for m in makers if m <= i), default=None)
    if source is None or ratios[source] != ratios[i]:
        raise contradiction(f"layer {i} reads a compressed cache of ratio {ratios[i]}, but no layer before makes one")
    chosen = any(j <= i for j in choosers)
    index = "" if not chosen else "read" if i not in choosers else "keys" if i in makers else "choice"
    return Borrowed("compressed" + tail, ratios[i], None if i in makers else source, i in makers, index, rows)


def _tables(c: Config) -> dict[int, int]:
    """The rows of the n-gram table of each layer that has one."""
    at, rows = c.opt("engram_layer_ids"), c.opt("engram_num_embeddings")
    if not at:
        return {}
    ids, sizes = entries("engram_layer_ids", at), entries("engram_num_embeddings", rows)
    if len(ids) != len(sizes) or any(type(x) is not int or not 0 < x <= MAX_COUNT for x in sizes):
        raise bad_value("engram_num_embeddings", sizes, "one number of rows per entry of engram_layer_ids")
    return dict(zip(ids, sizes, strict=True))


LAYOUTS = {"kv_sources": kv_sources}
