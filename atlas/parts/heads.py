"""Heads beyond a decoder's usual one: masked language models, classifiers, poolers, scaled and deeper heads.

Square matrices around the stack (pooler, transform before the head) are booked where the reference ledger books them:
with the feed-forward networks where the layer is named dense, else with what is left; RoBERTa's with its head.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Part, Tensor
from atlas.parts.ends import kept
from atlas.parts.norms import linear, norm, vector
from schemas.vocabulary import Component, Role

F = Component.FFN_DENSE
U = Component.UNEMBEDDING
X = Component.OTHER


class Masked(NamedTuple):
    """Scalars of a (masked) language model's head.

    `e` is the width of the token table, `width` what the transform gives where there is one.
    """

    vocab: int
    d: int
    e: int
    transform: str  # none, roberta, or else a dense layer and a norm
    width: int
    norm_class: str
    tied: bool
    two_biases: bool


@lru_cache(maxsize=1024)
def masked(s: Masked) -> tuple[Part, ...]:
    """The head, and the norm before its matrix where that is a part of its own."""
    before, norms, width = _transform(s)
    matrix = Tensor("predictions.decoder.weight", (s.vocab, width), U, stored=0 if s.tied else 1)
    biases = [vector("predictions.bias", s.vocab, U)]
    biases += [vector("predictions.decoder.bias", s.vocab, U)] * (not s.tied and s.two_biases)
    return (kept("head", *before, matrix, *biases), *norms)


def _transform(s: Masked) -> tuple[list[Tensor], list[Part], int]:
    """What stands before the head's matrix, its norm, and the width the matrix takes."""
    if s.transform == "none":
        return [], [], s.e
    if s.transform == "roberta":
        made = linear("lm_head.dense", s.d, s.d, U)
        return [*made, vector("lm_head.layer_norm.weight", s.d, U), vector("lm_head.layer_norm.bias", s.d, U)], [], s.d
    norms = [norm("predictions.LayerNorm", s.width, s.norm_class, True)]
    return linear("predictions.dense", s.width, s.d, F), norms, s.width


def classifier(labels: int, d: int, deep: bool, role: Role) -> Part:
    """The head of a classifier: one matrix, behind a dense layer where it is deep.

    That of a sequence runs once a sequence, those of tokens and of spans once a token, as `role` says.
    """
    if not deep:
        return kept("head", *linear("classifier", labels, d, X, role))
    return kept("head", *linear("classifier.dense", d, d, F, role), *linear("classifier.out_proj", labels, d, X, role))


def discriminator(d: int) -> Part:
    """Whether a token was replaced (ELECTRA)."""
    name = "discriminator_predictions"
    return kept("head", *linear(f"{name}.dense", d, d, F), *linear(f"{name}.dense_prediction", 1, d, F))


def order(d: int) -> Part:
    """Which of two sentences stands first."""
    return kept("head.order", *linear("seq_relationship", 2, d, X, Role.ONCE))


def pooler(d: int, component: Component) -> Part:
    """A square matrix over the first token."""
    return kept("pooler", *linear("pooler.dense", d, d, component, Role.ONCE))


def projection(d: int, e: int) -> Part:
    """What widens embeddings of `e` to the hidden state."""
    return kept("projection", *linear("embeddings_project", d, e, X))


def matrix_head(rows: int, d: int, stored: int = 1, touched: int = 1) -> Part:
    """A head of one matrix, which multiplies `touched` times a token."""
    return kept("head", Tensor("lm_head.weight", (rows, d), U, stored=stored, touched=touched))


def logits_bias(vocab: int) -> Part:
    """A bias on the logits that the checkpoint keeps as a buffer."""
    return kept("buffers", vector("final_logits_bias", vocab, Component.BUFFERS))


def before_head(d: int, dense_bias: bool, norm_bias: bool, role: Role) -> Part:
    """A square matrix and a norm before the head (ModernBERT)."""
    made = [Tensor("lm_head.dense.weight", (d, d), U, role), vector("lm_head.norm.weight", d, U)]
    made += [vector("lm_head.dense.bias", d, U)] * dense_bias
    made += [vector("lm_head.norm.bias", d, U)] * norm_bias
    return kept("head.transform", *made)


def scores(labels: int, d: int, bias: bool, role: Role) -> Part:
    """The last matrix of a classifier."""
    made = [Tensor("classifier.weight", (labels, d), X, role), *[vector("classifier.bias", labels, X)] * bias]
    return kept("head.scores", *made)
