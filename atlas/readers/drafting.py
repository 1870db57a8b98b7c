"""Which drafting layers a checkpoint holds, as its config states them, where a row knows what they are."""

from __future__ import annotations

from collections.abc import Callable

from atlas.numbers.structure import Layer, Run, layer
from atlas.parts.drafting import Fusing, drafting, fusing, markov
from atlas.reading.config import Config
from atlas.refusal import bad_value

PATTERNS = (None, "*E", ["attention", "moe"])
"""Where a config says what a drafting layer is made of (Nemotron-H): attention, then experts."""


MARKOV = "markov"
"""A style whose blocks share what stands around them: three states joined to one, a chain over the vocabulary."""
Make = Callable[[str, str], Layer]
"""Builds a layer of the model from the words of its mixer and its feed-forward network."""


def drafts(c: Config, make: Make) -> tuple[Run, ...]:
    """The drafting layers that the checkpoint holds, where the row knows what they are."""
    n, rule = stated(c), c.rules.mtp
    if not n or rule is None or not known(c):
        return ()
    rows = c.count("vocab_size")
    embedding, head = rows if rule.copies else 0, rows if rule.copies or rule.own_head else 0
    streams = c.count("hc_mult") if rule.streams else 0
    inner = [make(*words) for words in rule.layers]
    parts = tuple(drafting(p) for each in inner for p in each.parts)
    if rule.style == MARKOV:
        shared = markov(c.count("hidden_size"), rows, c.count("dspark_markov_rank"))
        return (Run(n, (layer(parts),), "mtp"), Run(1, (layer((shared,)),), "mtp"))
    around = fusing(Fusing(rule.style, c.count("hidden_size"), embedding, head, streams))
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
    if n == 0 or n is None or rule is None:
        return n == 0
    confirmed = rule.context in (None, c.opt("max_position_embeddings"))
    return confirmed and n <= rule.most and c.opt("mtp_pattern") in PATTERNS
