"""Disentangled attention: content against relative positions and the other way round, with tables for all layers.

DeBERTa; in its third version positions go through the projections of content.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Part, Read, Tensor, part
from atlas.parts.both_ways import both_ways
from atlas.parts.norms import linear, vector
from schemas.vocabulary import Component, Role

A = Component.ATTENTION


class Disentangled(NamedTuple):
    """Scalars beside those of the attention: rows of the table of positions, and which way they are compared.

    `keys` and `queries` say that positions stand as keys and as queries; `own` that they have projections of their own.
    """

    d: int
    rows: int
    keys: bool
    queries: bool
    own: bool


@lru_cache(maxsize=256)
def disentangled(s: Disentangled, usual: Part) -> Part:
    """The attention, its positions projected once a sequence and compared with every token."""
    made = linear("self_attn.pos_key_proj", s.d, s.d, A, Role.ONCE) if s.own and s.keys else []
    made += linear("self_attn.pos_query_proj", s.d, s.d, A, Role.ONCE) if s.own and s.queries else []
    return _compared(s, usual, (*usual.tensors, *made))


@lru_cache(maxsize=256)
def fused(s: Disentangled, usual: Part, talking: int) -> Part:
    """The first version: one projection for queries, keys and values, no bias of keys; `talking` heads mix scores."""
    kept = tuple(t for t in usual.tensors if t.name.startswith("self_attn.o_proj"))
    made = [Tensor("self_attn.in_proj.weight", (3 * s.d, s.d), A)]
    made += [vector(f"self_attn.{x}_bias", s.d, A) for x in "qv"]
    names = ("logits", "weights") if talking else ()
    made += [Tensor(f"self_attn.head_{x}_proj.weight", (talking, talking), A) for x in names]
    made += [Tensor("self_attn.pos_proj.weight", (s.d, s.d), A, Role.ONCE)] * s.keys
    made += linear("self_attn.pos_q_proj", s.d, s.d, A, Role.ONCE) if s.queries else []
    return _compared(s, usual, (*made, *kept))


def _compared(s: Disentangled, usual: Part, tensors: tuple[Tensor, ...]) -> Part:
    """Each way of comparing is one product of a token with all rows of the table, over the width of all heads."""
    both = both_ways(usual)
    read = Read(2 * s.d * s.rows * (s.keys + s.queries), 0, 0)
    return part("attention.both_ways", tensors, (), (*both.reads, *((read,) if read.flops else ())), both.info)


def table(rows: int, d: int, normed: bool) -> list[Tensor]:
    """The table of relative positions that all layers use, and its norm."""
    made = [Tensor("encoder.rel_embeddings.weight", (rows, d), A, Role.LOOKUP)]
    return made + [vector(f"encoder.LayerNorm.{x}", d, Component.NORM) for x in ("weight", "bias")] * normed


def convolution(d: int, kernel: int, groups: int) -> list[Tensor]:
    """A convolution beside the first layer, with a norm of its own (the largest models of the second version)."""
    made = [Tensor("encoder.conv.conv.weight", (d, d // groups, kernel), Component.RECURRENT)]
    made.append(vector("encoder.conv.conv.bias", d, Component.RECURRENT))
    return made + [vector(f"encoder.conv.LayerNorm.{x}", d, Component.NORM) for x in ("weight", "bias")]
