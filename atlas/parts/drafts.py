"""What drafts store: small models that propose tokens to a larger one, whose embedding and head they may share.

DFlash: layers over the target's tapped states, joined by one matrix, without embedding and head. DSpark adds a Markov
head over token pairs and a confidence. EAGLE-3: one layer over the states of token and target side by side, a matrix
over three tapped states, a head over the tokens it may draft.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Part, Standing, Tensor, part
from atlas.parts.norms import norm
from schemas.vocabulary import Component, Role

X, E, U, B = Component.OTHER, Component.EMBEDDING, Component.UNEMBEDDING, Component.BUFFERS


@lru_cache(maxsize=1024)
def joined(d: int, inside: int, norm_class: str) -> tuple[Part, ...]:
    """The matrix over the tapped states of the target, and the norms behind it and behind the last layer."""
    fc = part("draft.fc", [Tensor("fc.weight", (d, inside), X)])
    last = norm("norm", d, norm_class, False, Standing("final"))
    return fc, norm("hidden_norm", d, norm_class, False), last


@lru_cache(maxsize=1024)
def markov(vocab: int, rank: int, confidence: int | None) -> Part:
    """Two tables over pairs of tokens, and a confidence read from so many elements, where there is one."""
    made = [Tensor("markov_head.w1.weight", (vocab, rank), X, Role.LOOKUP)]
    made.append(Tensor("markov_head.w2.weight", (vocab, rank), X))
    if confidence is not None:
        made.append(Tensor("confidence_head.weight", (1, confidence), X))
        made.append(Tensor("confidence_head.bias", (1,), X, Role.VECTOR))
    return part("draft.heads", made)


@lru_cache(maxsize=1024)
def corrected(vocab: int, d: int, state: int, width: int) -> Part:
    """A GRU without biases over the tokens before, and two matrices from its state and the hidden one to the tokens."""
    made = [
        Tensor("prefix_gru.weight_ih_l0", (3 * state, d), X),
        Tensor("prefix_gru.weight_hh_l0", (3 * state, state), X),
        Tensor("embed_proj.0.weight", (width, d + state), X),
        Tensor("embed_proj.2.weight", (vocab, width), X),
    ]
    return part("draft.heads", made)


class Eagle(NamedTuple):
    """Scalars around an EAGLE-3 layer: `inside` is the width of the tapped states together."""

    vocab: int
    drafted: int
    d: int
    inside: int
    norm_class: str
    masked: bool = False  # a vector stands for states not yet known (P-EAGLE)
    normed: int = 0  # states that have a norm of their own before the matrix (EAGLE-3.1)


@lru_cache(maxsize=1024)
def eagle(s: Eagle) -> tuple[Part, ...]:
    """Embedding, a matrix over the tapped states, a norm, a head, and the maps between the two vocabularies."""
    mask = [part("draft.mask", [Tensor("mask_hidden", (s.inside,), X, Role.VECTOR)])] * s.masked
    maps = [Tensor("d2t", (s.drafted,), B, Role.VECTOR), Tensor("t2d", (s.vocab,), B, Role.VECTOR)]
    return (
        part("embedding", [Tensor("embed_tokens.weight", (s.vocab, s.d), E, Role.LOOKUP)]),
        part("draft.fc", [Tensor("fc.weight", (s.d, s.inside), X)]),
        norm("norm", s.d, s.norm_class, False, Standing("final")),
        part("head", [Tensor("lm_head.weight", (s.drafted, s.d), U)]),
        part("buffers", maps),
        *mask,
        *[norm(f"fc_norm.{i}", s.inside // s.normed, s.norm_class, False) for i in range(s.normed)],
    )


@lru_cache(maxsize=1024)
def features(vocab: int, d: int, bias: bool) -> tuple[Part, ...]:
    """The embedding of the target, which the file keeps, and a matrix over token and state (EAGLE)."""
    fc = [Tensor("fc.weight", (d, 2 * d), X)]
    fc += [Tensor("fc.bias", (d,), X, Role.VECTOR)] * bias
    table = part("embedding", [Tensor("embed_tokens.weight", (vocab, d), E, Role.LOOKUP)])
    return table, part("draft.fc", fc)
