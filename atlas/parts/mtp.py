"""Multi-token-prediction layers: what a checkpoint stores beside the model to draft tokens ahead.

One such layer is a layer of the model behind a projection of two hidden states to one (DeepSeek-V3, arXiv 2412.19437,
section 2.2). Its weights are counted apart and nothing it would keep is counted: a model serves without it. What a
checkpoint stores beside the layer differs, so a row says it only where a published total confirms it to the weight.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Layer, Part, Run, Tensor, layer, part
from atlas.reading.config import Config
from atlas.refusal import bad_value
from schemas.vocabulary import Component, Role

MTP = Component.MTP
PATTERNS = (None, "*E", ["attention", "moe"])
"""Where a config says what a drafting layer is made of (Nemotron-H): attention, then experts."""
Make = Callable[[str, str], Layer]
"""Builds a layer of the model from the words of its mixer and its feed-forward network."""


class Fusing(NamedTuple):
    """Scalars around a drafting layer: width, copies of embedding and head, streams of hyper-connections."""

    style: str  # eh_proj: one matrix over both states; e_h_proj: one for each
    d: int
    copied_embedding: int = 0  # rows
    copied_head: int = 0  # rows
    streams: int = 0


@lru_cache(maxsize=1024)
def fusing(s: Fusing) -> Part:
    """The projection of token and hidden state to one, its norms, and what is copied."""
    halves = {"eh_proj": (s.d, 2 * s.d)} if s.style == "eh_proj" else {"e_proj": (s.d, s.d), "h_proj": (s.d, s.d)}
    made = [Tensor(f"{n}.weight", shape, MTP) for n, shape in halves.items()]
    made += [Tensor(f"{n}.weight", (s.d,), MTP, Role.VECTOR) for n in ("enorm", "hnorm", "shared_head.norm")]
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


@lru_cache(maxsize=4096)
def drafting(each: Part) -> Part:
    """The same weights, counted as a drafting layer's; its states, reads and facts are not the model's."""
    made = tuple(t._replace(component=MTP) for t in each.tensors)
    return part("mtp." + each.kind, made, drafted=each.states)


def drafts(c: Config, make: Make) -> tuple[Run, ...]:
    """The drafting layers that the checkpoint holds, where the row knows what they are."""
    n, rule = stated(c), c.rules.mtp
    if not n or rule is None or not known(c):
        return ()
    rows = c.count("vocab_size")
    embedding, head = rows if rule.copies else 0, rows if rule.copies or rule.own_head else 0
    streams = c.count("hc_mult") if rule.streams else 0
    around = fusing(Fusing(rule.style, c.count("hidden_size"), embedding, head, streams))
    inner = [make(*words) for words in rule.layers]
    parts = tuple(drafting(p) for each in inner for p in each.parts)
    return (Run(n, (layer((around, *parts)),), "mtp"),)


def stated(c: Config) -> int | None:
    """Drafting layers of the checkpoint; None where the family has them and the config does not say."""
    n = c.opt("n_mtp_layers")
    if n is None:
        return None if c.rules.mtp_unstated else 0
    if type(n) is not int or not 0 <= n <= 64:
        raise bad_value("n_mtp_layers", n, "a whole number, at most 64")
    return n


def known(c: Config) -> bool:
    """Whether their weights are known: none, or as many as a published total confirms."""
    n, rule = stated(c), c.rules.mtp
    return n == 0 or (n is not None and rule is not None and n <= rule.most and c.opt("mtp_pattern") in PATTERNS)
