"""The layers of a model as vLLM's cache manager sees them: one record per kind, with a layer's bytes a token."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from atlas.numbers.caches import Cache
from atlas.numbers.ranks import channels_on_rank, heads_on_rank
from pipeline.engines.record import Geometry, Unknown, odd
from pipeline.engines.types import Kept
from pipeline.engines.vllm_versions import Version, state_bytes

INDEX_GROUP = 128
DS_MLA = 656
"""Bytes a token of DeepSeek's fp8 layout of a latent of 512 + 64."""
RECURRENT = frozenset({"mamba2", "mamba", "gdn", "kda", "conv", "lightning"})


class Kind(NamedTuple):
    """Layers that share a table of blocks: full, windowed, chunked or recurrent ones of one size."""

    name: str
    each: float  # bytes a token a layer; of a recurrent layer, of its whole page
    window: int | None = None
    shape: tuple[int, int, int] = (0, 0, 0)  # heads of the rank, widths of K and of V of one


class Placed(NamedTuple):
    """One layer's cache: which layer of which stack owns it, and its kind."""

    stack: str
    owner: int
    kind: Kind


class Serving(NamedTuple):
    """What decides the bytes of a layer: version, ranks, the cache's type, the state's bytes, tokens drafted ahead."""

    version: Version
    tp: int
    kept: Kept
    model_bytes: int
    state_bytes: int | None
    speculative: int
    columns_ahead: frozenset[str]  # mixers whose convolution keeps drafted columns
    ds_mla: bool


def placed(g: Geometry, s: Serving, *, windows: bool, mtp: bool) -> list[Placed]:
    """Every layer that has a page, in order; raises `Unknown` where a layer is of no kind."""
    if any(c.kind == "cross" for c in g.caches):
        raise Unknown("caches of a source (cross-attention) are not among the rules")
    kept = [c for c in g.caches if c.stack == "decoder" or mtp]
    if reason := odd(kept, RECURRENT):
        raise Unknown(reason)
    found: list[Placed] = []
    for (stack, owner), layer in groupby(kept, lambda c: (c.stack, c.owner)):
        found += [Placed(stack, owner, kind) for kind in _of_layer(list(layer), g, s, windows=windows)]
    return found


def _of_layer(layer: list[Cache], g: Geometry, s: Serving, *, windows: bool) -> Iterator[Kind]:
    recurrent = [c for c in layer if c.is_recurrent]
    yield from (_attention(c, s, windows=windows) for c in layer if not c.is_recurrent)
    if recurrent:
        yield Kind("recurrent", sum(_recurrent(c, g, s) for c in recurrent))


def _attention(c: Cache, s: Serving, *, windows: bool) -> Kind:
    name = "chunked" if c.chunked else "windowed"
    heads = c.heads or 1
    shape = (heads_on_rank(heads, s.tp), c.k // heads, c.v // heads)
    if c.window is None or not windows:
        return Kind("full", _bytes(c, s), None, shape)
    return Kind(name, _bytes(c, s), c.window, shape)


def _bytes(c: Cache, s: Serving) -> float:
    """Bytes a token takes in one layer of one rank."""
    if c.kind == "index":
        return c.elements + 4 * (c.elements // INDEX_GROUP)
    if c.kind == "latent":
        return DS_MLA if s.ds_mla else c.elements * s.kept.each
    heads = c.heads or 1
    if heads % s.tp and s.tp % heads:
        raise Unknown(f"{heads} KV heads neither divide nor are divided by {s.tp} ranks")
    on_rank = heads_on_rank(heads, s.tp)
    return on_rank * (c.elements // heads * s.kept.each + 2 * s.kept.per_head)


def _recurrent(c: Cache, g: Geometry, s: Serving) -> float:
    """Bytes of a convolution's columns or of a state on one rank."""
    if c.kind == "conv":
        ahead = s.speculative if c.mixer in s.columns_ahead else 0
        channels = channels_on_rank(c, s.tp)
        if channels != int(channels):
            raise Unknown(f"{c.channels} channels do not divide among {s.tp} ranks")
        return channels * ((c.kernel or 1) - 1 + ahead) * s.model_bytes
    # A selective state has no heads: it is dealt out by channel, as its columns are.
    if (c.heads is None and c.mixer != "mamba") or (c.heads or s.tp) % s.tp:
        raise Unknown(f"{c.heads} recurrent heads do not divide among {s.tp} ranks")
    return c.elements // s.tp * (s.state_bytes or state_bytes(c, g, s.version, s.model_bytes))
