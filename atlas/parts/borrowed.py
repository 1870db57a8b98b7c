"""DeepSeek-V4.1's attention: a window in every layer, and a compressed cache that a few layers make and others read.

A source compresses `ratio` tokens to one entry, key and value at once, and, where it owns the index too, keeps one
index key per entry. Other layers have queries of their own and read the last source before them; some choose anew by an
indexer of their own. What a compressor holds of an unfinished group is not described, so it is in no state.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.compressed import Compressed, projections
from atlas.parts.norms import vector
from atlas.parts.sparse import INDEX_WIDTH, Indexer
from schemas.vocabulary import AttentionKind, Component, Mixer

A = Component.ATTENTION


class Sourced(NamedTuple):
    """Scalars: what all layers share, tokens per entry read (0: the window alone), and what this layer makes."""

    base: Compressed
    ratio: int
    makes: bool  # compresses entries of its own
    source: int | None  # the layer whose entries are read, where it is another
    indexer: Indexer | None = None
    chooses: bool = False  # by an indexer of its own
    keys: bool = False  # and keeps index keys of its own


@lru_cache(maxsize=512)
def sourced(s: Sourced) -> Part:
    """Attention of these scalars."""
    made = projections(s.base) + _compressor(s) + (_indexer(s, s.indexer) if s.indexer and s.chooses else [])
    mixer = Mixer.COMPRESSED_ATTENTION if s.ratio else Mixer.SLIDING_ATTENTION
    width, label = s.base.width, "csa" if s.ratio else "swa"
    info = Mixing(
        mixer, label, AttentionKind.MQA, s.base.heads, 1, width, width, s.base.window, "rope", s.base.rope, "unit",
        has_sinks=True, shared_from=s.source,
    )  # fmt: skip
    return part("attention.sourced", made, tuple(_states(s)), tuple(_reads(s)), info)


def _compressor(s: Sourced) -> list[Tensor]:
    """Entry and its norm; a gate over the tokens of a group where there are several."""
    if not s.makes:
        return []
    made = [
        Tensor("self_attn.compressor.wkv.weight", (s.base.width, s.base.d), A),
        vector("self_attn.compressor.norm.weight", s.base.width, A),
    ]
    return made + [Tensor("self_attn.compressor.wgate.weight", (s.base.width, s.base.d), A)] * (s.ratio > 1)


def _indexer(s: Sourced, ix: Indexer) -> list[Tensor]:
    made = [
        Tensor("self_attn.indexer.wq_b.weight", (ix.heads * ix.width, s.base.q_rank), A),
        Tensor("self_attn.indexer.weights_proj.weight", (ix.heads, s.base.d), A),
    ]
    if s.keys:
        made.append(Tensor("self_attn.indexer.wk.weight", (ix.width, s.base.width), A))
        made.append(vector("self_attn.indexer.k_norm.weight", ix.width, A))
    return made


def _states(s: Sourced) -> list[State]:
    held = [State("kv", s.base.width, window=s.base.window, keys=s.base.width)]
    held += [State("kv", s.base.width, stride=s.ratio, keys=s.base.width)] * s.makes
    return held + ([State("index", s.indexer.width, stride=s.ratio, width=INDEX_WIDTH)] if s.indexer and s.keys else [])


def _reads(s: Sourced) -> list[Read]:
    """Scores and values of one entry cost 2 x heads x width each; every entry is scored where a layer chooses."""
    flops, ix = 4 * s.base.heads * s.base.width, s.indexer
    looked = [Read(flops, s.base.width, window=s.base.window)]
    if s.ratio:
        looked.append(Read(flops, s.base.width, stride=s.ratio, limit=ix.top_k if ix else None))
    if ix and s.chooses:
        looked.append(Read(2 * ix.heads * ix.width, ix.width, stride=s.ratio, width=INDEX_WIDTH))
    return looked
