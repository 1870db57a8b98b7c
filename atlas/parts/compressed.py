"""Attention over one entry per token, key and value at once, kept over a window and compressed beyond it.

Every layer keeps the last `window` entries. A heavily compressed layer (HCA) adds one entry per 128 tokens and reads
all of them; a compressed sparse layer (CSA) adds one per 4 tokens, with an index key beside it, and reads the best
`top_k` (DeepSeek-V4). What overlaps from one group of tokens to the next is kept as well. transformers holds the
windowed entry twice in layers without a compressor; the weights make it once, and it is counted once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.sparse import INDEX_WIDTH, Indexer
from atlas.parts.state import FP32
from atlas.refusal import contradiction
from schemas.vocabulary import AttentionKind, Component, Mixer, Role

A = Component.ATTENTION


class Compressed(NamedTuple):
    """Scalars: `width` of an entry, `rate` tokens per compressed entry (0: none), the indexer of a sparse layer."""

    d: int
    heads: int
    width: int
    q_rank: int
    groups: int
    o_rank: int
    rope: int
    window: int
    rate: int = 0
    indexer: Indexer | None = None


@lru_cache(maxsize=2048)
def compressed(s: Compressed) -> Part:
    """Attention of these scalars."""
    label = "csa" if s.indexer else "hca" if s.rate else "swa"
    mixer = Mixer.COMPRESSED_ATTENTION if s.rate else Mixer.SLIDING_ATTENTION
    info = Mixing(
        mixer,
        label,
        AttentionKind.MQA,
        s.heads,
        1,
        s.width,
        s.width,
        s.window,
        "rope",
        s.rope,
        qk_norm="unit",
        has_sinks=True,
    )
    made = (
        projections(s)
        + (_compressor("self_attn.compressor", s.width, s) if s.rate else [])
        + (_indexer(s, s.indexer) if s.indexer else [])
    )
    return part(f"attention.{label}", made, tuple(_states(s)), tuple(_reads(s)), info)


def projections(s: Compressed) -> list[Tensor]:
    """Queries through a latent, one shared key and value, outputs in groups, and sinks."""
    if s.heads * s.width % s.groups:
        raise contradiction(f"{s.heads} heads of {s.width} do not divide into {s.groups} output groups")
    return [
        Tensor("self_attn.q_a_proj.weight", (s.q_rank, s.d), A),
        Tensor("self_attn.q_a_norm.weight", (s.q_rank,), A, Role.VECTOR),
        Tensor("self_attn.q_b_proj.weight", (s.heads * s.width, s.q_rank), A),
        Tensor("self_attn.kv_proj.weight", (s.width, s.d), A),
        Tensor("self_attn.kv_norm.weight", (s.width,), A, Role.VECTOR),
        Tensor("self_attn.o_a_proj.weight", (s.groups * s.o_rank, s.heads * s.width // s.groups), A),
        Tensor("self_attn.o_b_proj.weight", (s.d, s.groups * s.o_rank), A),
        Tensor("self_attn.sinks", (s.heads,), A, Role.VECTOR),
    ]


def _compressor(prefix: str, width: int, s: Compressed) -> list[Tensor]:
    """Entry, gate and place in the group. Groups of a sparse layer overlap, so that each token makes two of each."""
    wide = 2 * width if s.indexer else width
    return [
        Tensor(f"{prefix}.kv_proj.weight", (wide, s.d), A),
        Tensor(f"{prefix}.gate_proj.weight", (wide, s.d), A),
        Tensor(f"{prefix}.position_bias", (s.rate, wide), A, Role.VECTOR),
        Tensor(f"{prefix}.kv_norm.weight", (width,), A, Role.VECTOR),
    ]


def _indexer(s: Compressed, ix: Indexer) -> list[Tensor]:
    prefix = "self_attn.compressor.indexer"
    return [
        *_compressor(prefix, ix.width, s),
        Tensor(f"{prefix}.q_b_proj.weight", (ix.heads * ix.width, s.q_rank), A),
        Tensor(f"{prefix}.scorer.weights_proj.weight", (ix.heads, s.d), A),
    ]


def _states(s: Compressed) -> list[State]:
    kept = [State("kv", s.width, window=s.window, keys=s.width)]
    kept += [State("kv", s.width, stride=s.rate, keys=s.width)] * (s.rate > 0)
    if s.indexer:
        overlap = s.rate * (s.width + s.indexer.width)
        kept.append(State("index", s.indexer.width, stride=s.rate, width=INDEX_WIDTH))
        kept += [State("constant", overlap, 0, width=2), State("constant", overlap, 0, width=FP32)]
    return kept


def _reads(s: Compressed) -> list[Read]:
    """Scores and values of one entry cost 2 x heads x width each; the entry is loaded once."""
    flops, ix = 4 * s.heads * s.width, s.indexer
    looked = [Read(flops, s.width, window=s.window)]
    looked += [Read(flops, s.width, stride=s.rate, limit=ix.top_k if ix else None)] * (s.rate > 0)
    return looked + ([Read(2 * ix.heads * ix.width, ix.width, stride=s.rate, width=INDEX_WIDTH)] if ix else [])
