"""What stands outside the stack of a decoder: embedding, positions, final norm, and the head."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Part, Standing, Tensor, part
from atlas.parts.norms import norm
from schemas.vocabulary import Component, Role

A = Component.ATTENTION
E = Component.EMBEDDING


class Ends(NamedTuple):
    """Scalars of the ends. `d_embed` differs from `d` where a projection stands between (OPT-350m)."""

    vocab: int
    d: int
    tied: bool
    head: str
    labels: int
    norm_class: str
    norm_bias: bool
    final_norm: bool = True
    positions: int = 0  # rows of a learned position table
    head_bias: bool = False
    embedding_norm: bool = False
    d_embed: int | None = None
    extra_rows: int = 0  # rows of the embedding beyond the vocabulary, that the head does not have


@lru_cache(maxsize=8192)
def ends(s: Ends) -> tuple[Part, ...]:
    """Embedding, positions, final norm and head of these scalars."""
    e = s.d if s.d_embed is None else s.d_embed
    embed = [Tensor("model.embed_tokens.weight", (s.vocab + s.extra_rows, e), Component.EMBEDDING, Role.LOOKUP)]
    embed += [Tensor("model.embed_positions.weight", (s.positions, s.d), Component.EMBEDDING, Role.LOOKUP)] * (
        s.positions > 0
    )
    made = [part("embedding", embed)]
    made += [norm("model.embed_norm", s.d, s.norm_class, s.norm_bias, Standing("embedding"))] * s.embedding_norm
    made += [norm("model.norm", s.d, s.norm_class, s.norm_bias, Standing("final"))] * s.final_norm
    return (*made, *_projections(s, e), *_head(s, e))


def _projections(s: Ends, e: int) -> list[Part]:
    if e == s.d:
        return []
    shapes = {"project_in": (s.d, e), "project_out": (e, s.d)}
    return [part("embedding", [Tensor(f"model.{n}.weight", x, Component.EMBEDDING) for n, x in shapes.items()])]


def _head(s: Ends, e: int) -> list[Part]:
    if s.head == "none":
        return []
    if s.head == "lm":
        made = [Tensor("lm_head.weight", (s.vocab, e), Component.UNEMBEDDING, stored=0 if s.tied else 1)]
        made += [Tensor("lm_head.bias", (s.vocab,), Component.UNEMBEDDING, Role.VECTOR)] * s.head_bias
        return [part("head", made)]
    if s.head in TWO_LAYERS:
        return [part("head", [*_dense("score.0", e, e), *_dense("score.2", s.labels, e)])]
    made = [Tensor("score.weight", (s.labels, e), Component.OTHER)]
    made += [Tensor("score.bias", (s.labels,), Component.OTHER, Role.VECTOR)] * (s.head not in ("score", "value"))
    return [part("head", made)]


def _dense(name: str, out: int, inside: int) -> list[Tensor]:
    return [
        Tensor(f"{name}.weight", (out, inside), Component.OTHER),
        Tensor(f"{name}.bias", (out,), Component.OTHER, Role.VECTOR),
    ]


TWO_LAYERS = ("process_reward", "outcome_reward", "deep_score")
"""Heads of a square matrix, an activation and a matrix to the outputs, both with a bias."""


@lru_cache(maxsize=256)
def learned_vector(name: str, width: int) -> Part:
    """A learned vector that belongs to no other component."""
    return part("vector", [Tensor(f"model.{name}", (width,), Component.OTHER, Role.VECTOR)])


@lru_cache(maxsize=8192)
def kept(kind: str, *tensors: Tensor) -> Part:
    """A part of these weights alone; cached, so that equal ends are one object."""
    return part(kind, tensors)


class Stated(NamedTuple):
    """A tensor as a row states it, its axes worked out."""

    name: str
    component: str
    role: str
    shape: tuple[int, ...]


@lru_cache(maxsize=256)
def beside(kind: str, tensors: tuple[Stated, ...]) -> Part:
    """A part of tensors that a row states."""
    return part(kind, [Tensor(t.name, t.shape, Component(t.component), Role(t.role)) for t in tensors])


@lru_cache(maxsize=64)
def with_head_rows(p: Part, rows: int, d: int) -> Part:
    """The head with so many rows; any other part as it is."""
    made = [t._replace(shape=(rows, d)) if t.name == "lm_head.weight" else t for t in p.tensors]
    return part(p.kind, made, p.states, p.reads, p.info)


@lru_cache(maxsize=64)
def block_queries(d: int, n: int) -> Part:
    """A norm in the embedding, and queries over the results of the last blocks of layers (Inkling)."""
    made = [Tensor("model.embed_tokens.norm.weight", (d,), E, Role.VECTOR)]
    made += [Tensor("model.final_and_message_input.query", (n, d), A, Role.VECTOR)] * (n > 0)
    return part("ends.queries", made)
