"""Multi-token-prediction layers: what a checkpoint stores beside the model to draft tokens ahead.

One such layer is a layer of the model behind a projection of two hidden states to one (DeepSeek-V3, arXiv 2412.19437,
section 2.2). Its weights are counted apart and nothing it would keep is counted: a model serves without it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Part, Tensor, part
from schemas.vocabulary import Component, Role

MTP = Component.MTP
ONE_MATRIX = ("eh_proj", "input_proj")
"""Styles with one matrix over both states; the second has no norm before the head."""


class Fusing(NamedTuple):
    """Scalars around a drafting layer: width, copies of embedding and head, streams of hyper-connections."""

    style: str  # one of ONE_MATRIX, or e_h_proj: a matrix for each state
    d: int
    copied_embedding: int = 0  # rows
    copied_head: int = 0  # rows
    streams: int = 0


@lru_cache(maxsize=1024)
def fusing(s: Fusing) -> Part:
    """The projection of token and hidden state to one, its norms, and what is copied."""
    halves = {s.style: (s.d, 2 * s.d)} if s.style in ONE_MATRIX else {"e_proj": (s.d, s.d), "h_proj": (s.d, s.d)}
    made = [Tensor(f"{n}.weight", shape, MTP) for n, shape in halves.items()]
    norms = ("enorm", "hnorm") if s.style == "input_proj" else ("enorm", "hnorm", "shared_head.norm")
    made += [Tensor(f"{n}.weight", (s.d,), MTP, Role.VECTOR) for n in norms]
    if s.copied_embedding:
        made.append(Tensor("embed_tokens.weight", (s.copied_embedding, s.d), MTP, Role.LOOKUP))
    if s.copied_head:
        made.append(Tensor("shared_head.head.weight", (s.copied_head, s.d), MTP))
    if s.streams:
        made.append(Tensor("hc_head_fn", (s.streams, s.streams * s.d), MTP))
        made += [
            Tensor("hc_head_base", (s.streams,), MTP, Role.VECTOR),
            Tensor("hc_head_scale", (1,), MTP, Role.VECTOR),
        ]
    return part("mtp.fusing", made)


@lru_cache(maxsize=64)
def markov(d: int, vocab: int, rank: int) -> Part:
    """What stands around the blocks of one drafter: a joining of three states, norms, two tables and a vector."""
    made = [
        Tensor("main_proj.weight", (d, 3 * d), MTP),
        *(Tensor(f"{n}.weight", (d,), MTP, Role.VECTOR) for n in ("main_norm", "norm")),
        *(Tensor(f"markov.{n}.weight", (vocab, rank), MTP, Role.LOOKUP) for n in ("embed", "head")),
        Tensor("confidence.weight", (d + rank,), MTP, Role.VECTOR),
    ]
    return part("mtp.markov", made)


@lru_cache(maxsize=4096)
def drafting(each: Part) -> Part:
    """The same weights, counted as a drafting layer's; its states, reads and facts are not the model's."""
    made = tuple(t._replace(component=MTP) for t in each.tensors)
    return part("mtp." + each.kind, made, drafted=each.states)
