"""Latent attention that looks at the best few positions only: an indexer scores all of them, attention reads the top k.

DeepSeek-V3.2-Exp (arXiv 2512.02556), section 2.1. Two caches per token: the latent, and the indexer's key. A layer
that takes the choice of an earlier layer has no indexer and keeps no index key, but still reads only the top k.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts import mla
from atlas.reading.config import View
from atlas.refusal import not_derivable
from schemas.vocabulary import AttentionKind, Component, Mixer, Role

A = Component.ATTENTION
INDEX_WIDTH = 2
"""Bytes of an element of the index cache, as transformers keeps it (bf16); the DeepSeek engines keep it in FP8."""


class Indexer(NamedTuple):
    """Scalars of an indexer: its heads, their width, and how many positions it lets through."""

    heads: int
    width: int
    top_k: int


class Dsa(NamedTuple):
    """Latent attention behind an indexer; `own` is false where an earlier layer's choice is used."""

    latent: mla.Mla
    indexer: Indexer
    own: bool = True


@lru_cache(maxsize=4096)
def dsa(s: Dsa) -> Part:
    """Sparse latent attention of these scalars."""
    a, ix = s.latent, s.indexer
    held = a.kv_rank + a.rope
    states = [State("kv", held, keys=held)]
    reads = [Read(2 * a.heads * (held + a.kv_rank), held, limit=ix.top_k, prefill=mla.expanded(a))]
    if s.own:
        states.append(State("index", ix.width, width=INDEX_WIDTH))
        reads.append(Read(2 * ix.heads * ix.width, ix.width, width=INDEX_WIDTH))
    info = Mixing(
        Mixer.SPARSE_ATTENTION,
        "dsa" if s.own else "dsa-shared",
        AttentionKind.MLA,
        a.heads,
        None,
        a.nope + a.rope,
        a.v_head_dim,
        None,
        a.position,
        a.rope,
        "latent",
        a.bias,
    )
    made = mla.weights(a) + (_indexer(s) if s.own else [])
    return part("attention.dsa", made, tuple(states), tuple(reads), info)


def _indexer(s: Dsa) -> list[Tensor]:
    ix, rank = s.indexer, s.latent.q_rank
    if rank is None:
        raise not_derivable("an indexer takes its queries from the query latent, and no q_lora_rank is stated")
    return [
        Tensor("self_attn.indexer.wq_b.weight", (ix.heads * ix.width, rank), A),
        Tensor("self_attn.indexer.wk.weight", (ix.width, s.latent.d), A),
        Tensor("self_attn.indexer.k_norm.weight", (ix.width,), A, Role.VECTOR),
        Tensor("self_attn.indexer.k_norm.bias", (ix.width,), A, Role.VECTOR),
        Tensor("self_attn.indexer.weights_proj.weight", (ix.heads, s.latent.d), A),
    ]


def read_indexer(v: View) -> Indexer:
    """The indexer as the config states it."""
    return Indexer(v.count("index_n_heads"), v.count("index_head_dim"), v.count("index_topk"))


def read_dsa(v: View) -> Part:
    """Sparse latent attention as the config states it."""
    return dsa(Dsa(mla.scalars(v), read_indexer(v), v.flag("own_indexer")))
