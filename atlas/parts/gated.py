"""Softmax attention with a gate on its output, or behind an indexer that chooses blocks of positions.

A word may carry the number of query heads: `sliding_attention:64`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.attention import Gqa, gqa, head_dim, kv_heads, rotary_dim
from atlas.parts.gemma import rotated
from atlas.parts.sparse import INDEX_WIDTH
from atlas.reading.config import View
from schemas.vocabulary import Component, Mixer, Role

A = Component.ATTENTION


@lru_cache(maxsize=1024)
def gated(base: Part, d: int, rows: int) -> Part:
    """The attention `base` with a gate of `rows` values per token."""
    return part(
        "attention.gqa_gated",
        (*base.tensors, Tensor("self_attn.g_proj.weight", (rows, d), A)),
        base.states,
        base.reads,
        base.info,
    )


def read_gated(v: View) -> Part:
    """Attention with norms of queries and keys and a gate per head or per value.

    Heads by layer, rotary share by kind of layer.
    """
    d, word, mixer = v.count("hidden_size"), getattr(v, "part_word", ""), v.text("mixer")
    stated = word.partition(":")[2]
    own = v.opt_count("num_sliding_attention_heads") if mixer == "sliding_attention" else None
    heads = int(stated) if stated else own or v.count("num_attention_heads")
    hd = head_dim(v, d, heads)
    base = gqa(
        Gqa(
            d,
            heads,
            kv_heads(v, heads),
            hd,
            hd,
            v.flag("qkv_bias"),
            v.flag("o_bias"),
            "head",
            mixer=mixer,
            window=None if mixer == "full_attention" else v.count("sliding_window"),
            rotary_dim=rotated(v, hd, mixer),
        )
    )
    per_head = v.opt("gating") in (True, "per-head")
    return gated(base, d, heads if per_head else heads * hd)


class Blocks(NamedTuple):
    """Scalars of an indexer over blocks: heads, width, and the positions it lets through."""

    d: int
    heads: int
    width: int
    positions: int


@lru_cache(maxsize=512)
def block_sparse(base: Part, s: Blocks) -> Part:
    """The attention `base` reading only the blocks that an indexer chooses by its own queries and one key per token."""
    assert isinstance(base.info, Mixing)  # noqa: S101 - attention says what it is
    made = [
        Tensor("self_attn.indexer.q_proj.weight", (s.heads * s.width, s.d), A),
        Tensor("self_attn.indexer.k_proj.weight", (s.width, s.d), A),
        Tensor("self_attn.indexer.q_norm.weight", (s.width,), A, Role.VECTOR),
        Tensor("self_attn.indexer.k_norm.weight", (s.width,), A, Role.VECTOR),
    ]
    states = (*base.states, State("index", s.width, width=INDEX_WIDTH))
    reads = (
        *(r._replace(limit=s.positions) for r in base.reads),
        Read(2 * s.heads * s.width, s.width, width=INDEX_WIDTH),
    )
    info = base.info._replace(mixer=Mixer.SPARSE_ATTENTION, label="sparse")
    return part("attention.block_sparse", (*base.tensors, *made), states, reads, info)


def read_block_sparse(v: View) -> Part:
    """Attention behind an indexer over blocks, as the config states it."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    hd = head_dim(v, d, heads)
    base = gqa(Gqa(d, heads, kv_heads(v, heads), hd, hd, qk_norm=v.text("qk_norm"), rotary_dim=rotary_dim(v, hd)))
    positions = v.count("index_topk_blocks") * v.count("index_block_size")
    return block_sparse(base, Blocks(d, v.count("index_n_heads"), v.count("index_head_dim"), positions))
