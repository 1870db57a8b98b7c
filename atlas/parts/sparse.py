"""Attention that looks at the best few positions only: an indexer scores all of them, attention reads the top k.

DeepSeek-V3.2-Exp (arXiv 2512.02556), section 2.1. Two caches per token: the latent, and the indexer's key. A layer
that takes the choice of an earlier layer has no indexer and keeps no index key, but still reads only the top k. An
indexer may stand before plain attention too, and choose blocks of positions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.latent import Mla, expanded, mla, weights
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

    latent: Mla
    indexer: Indexer
    own: bool = True


@lru_cache(maxsize=4096)
def dsa(s: Dsa) -> Part:
    """Sparse latent attention of these scalars."""
    a, ix = s.latent, s.indexer
    held = a.kv_rank + a.rope
    states = [State("kv", held, keys=held)]
    reads = [Read(2 * a.heads * (held + a.kv_rank), held, limit=ix.top_k, prefill=expanded(a))]
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
        latent=a.kv_rank,
    )
    made = weights(a) + (_indexer(s) if s.own else [])
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


@lru_cache(maxsize=512)
def scaled(s: Mla, ix: Indexer, own: bool) -> Part:
    """Attention of these scalars; `own` false where an earlier layer's choice is used."""
    base = mla(s)
    assert isinstance(base.info, Mixing)  # noqa: S101 - attention says what it is
    made = [*base.tensors, *_scaling("self_attn", s.heads), *(_direct_indexer(s.d, ix) if own else [])]
    states, reads = base.states, tuple(r._replace(limit=ix.top_k) for r in base.reads)
    if own:
        states += (State("index", ix.width, width=INDEX_WIDTH),)
        reads += (Read(2 * ix.heads * ix.width, ix.width, width=INDEX_WIDTH),)
    info = base.info._replace(mixer=Mixer.SPARSE_ATTENTION, label="dsa" if own else "dsa-shared")
    return part("attention.dsa_scaled", made, states, reads, info)


def _scaling(prefix: str, heads: int) -> list[Tensor]:
    return [Tensor(f"{prefix}.softmax_scaling.{n}", (heads,), A, Role.VECTOR) for n in ("scale", "bias")]


def _direct_indexer(d: int, ix: Indexer) -> list[Tensor]:
    shapes = {"wq_b": (ix.heads * ix.width, d), "wk": (ix.width, d), "weights_proj": (ix.heads, d)}
    made = [Tensor(f"self_attn.indexer.{n}.weight", x, A) for n, x in shapes.items()]
    norms = {"k_norm": ix.width, "q_input_norm": d}
    made += [
        Tensor(f"self_attn.indexer.{n}.{x}", (w,), A, Role.VECTOR) for n, w in norms.items() for x in ("weight", "bias")
    ]
    return made + _scaling("self_attn.indexer", ix.heads)


class Blocks(NamedTuple):
    """Scalars of an indexer over blocks: heads, width, and the positions it lets through."""

    d: int
    heads: int
    width: int
    positions: int
    pool: int = 1  # keys averaged to one score


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
        Read(2 * s.heads * s.width, s.pool * s.width, stride=s.pool, width=INDEX_WIDTH),
    )
    info = base.info._replace(mixer=Mixer.SPARSE_ATTENTION, label="sparse")
    return part("attention.block_sparse", (*base.tensors, *made), states, reads, info)


@lru_cache(maxsize=64)
def strided(base: Part, local: int, stride: int) -> Part:
    """The attention `base` over the last `local` positions and one in `stride` of those before; everything is kept.

    One in `stride` of all positions, and of the local ones what that leaves out, add up to the same.
    """
    reads = tuple(
        x
        for r in base.reads
        for x in (
            r._replace(
                flops=r.flops * (stride - 1) // stride, elements=r.elements * (stride - 1) // stride, window=local
            ),
            r._replace(stride=stride),
        )
    )
    return part("attention.strided", base.tensors, base.states, reads, base.info)
