"""What drafts store: small models that propose tokens to a larger one, whose embedding and head they may share.

DFlash: layers over the target's tapped states, joined by one matrix, without embedding and head. DSpark adds a Markov
head over token pairs and a confidence. EAGLE-3: one layer over the states of token and target side
by side, a matrix over three tapped states, a head over the tokens it may draft.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from atlas.numbers.structure import Part, Tensor
from atlas.parts.both_ways import wider_inside
from atlas.parts.ends import kept
from atlas.parts.norms import norm
from atlas.readers.attention import read_gqa
from atlas.readers.ends import Made, head_of
from atlas.readers.view import View
from atlas.reading.config import Config
from atlas.reading.values import mapping, whole
from atlas.refusal import bad_value, not_derivable
from schemas.vocabulary import Component, Role

X, E, U = Component.OTHER, Component.EMBEDDING, Component.UNEMBEDDING
TAPS = 3
"""States of the target that EAGLE-3 joins, where none are listed."""

PLAIN = (
    "mask_token_id",
    "target_layer_ids",
    "projector_type",
    "attention_mode",
    "shift_label",
    "pure_draft_prefix_len",
)
MARKOV = (
    "markov_rank",
    "markov_head_type",
    "enable_confidence_head",
    "confidence_head_with_markov",
    "confidence_head_alpha",
)


def _settings(c: Config, known: tuple[str, ...]) -> Mapping[str, Any]:
    """The draft's own settings; raises `Refused` at one that these rules do not know."""
    table = mapping("dflash_config", c.need("dflash_config"))
    odd = next((k for k, v in table.items() if k not in known and v not in (None, False)), None)
    if odd is not None:
        raise not_derivable(f"dflash_config states {odd[:60]!a}, and what the draft holds then is not described")
    if table.get("attention_mode", "gqa") != "gqa":
        raise not_derivable(f"dflash_config.attention_mode is {table['attention_mode']!a}: only gqa is described")
    return table


def _length(value: Any) -> int:
    """Entries of a list; 0 for whatever is none."""
    return len(value) if isinstance(value, list) else 0  # pyright: ignore[reportUnknownArgumentType]


def _joined(c: Config, table: Mapping[str, Any]) -> list[Part]:
    """The matrix over the tapped states of the target, and two norms."""
    d, taps = c.count("hidden_size"), cast("Any", table.get("target_layer_ids"))
    n = _length(taps)
    if not n:
        raise bad_value("dflash_config.target_layer_ids", taps, "a list of layers of the target")
    fc = kept("draft.fc", Tensor("fc.weight", (d, n * d), X))
    return [fc, norm("hidden_norm", d, c.word("norm_class"), False), norm("norm", d, c.word("norm_class"), False)]


def dflash(c: Config) -> Made:
    """The ends of a DFlash draft."""
    cls, _ = head_of(c)
    c.derived("tie_word_embeddings", False, "the draft has no embedding and no head of its own")
    return tuple(_joined(c, _settings(c, PLAIN))), cls


def dspark(c: Config) -> Made:
    """The same, with a Markov head of two tables and a confidence head."""
    cls, _ = head_of(c)
    c.derived("tie_word_embeddings", False, "the draft has no embedding and no head of its own")
    table = _settings(c, PLAIN + MARKOV)
    if table.get("markov_head_type", "vanilla") != "vanilla":
        raise not_derivable(
            f"dflash_config.markov_head_type is {table['markov_head_type']!a}: only vanilla is described"
        )
    return (*_joined(c, table), *_markov(c, table)), cls


def _markov(c: Config, table: Mapping[str, Any]) -> list[Part]:
    d, vocab, rank = (
        c.count("hidden_size"),
        c.count("vocab_size"),
        whole("dflash_config.markov_rank", table.get("markov_rank")),
    )
    made = [
        Tensor("markov_head.w1.weight", (vocab, rank), X, Role.LOOKUP),
        Tensor("markov_head.w2.weight", (vocab, rank), X),
    ]
    if table.get("enable_confidence_head"):
        inside = d + rank * bool(table.get("confidence_head_with_markov"))
        made += [Tensor("confidence_head.weight", (1, inside), X), Tensor("confidence_head.bias", (1,), X, Role.VECTOR)]
    return [kept("draft.heads", *made)]


def eagle3(c: Config) -> Made:
    """Embedding, a matrix over three states of the target, a norm, and a head over the tokens that may be drafted."""
    cls, _ = head_of(c)
    d, vocab, drafted = c.count("hidden_size"), c.count("vocab_size"), c.count("draft_vocab_size")
    inside = c.opt_count("target_hidden_size") or d
    c.derived("tie_word_embeddings", False, "the head is over the tokens that may be drafted")
    made = [
        kept("embedding", Tensor("embed_tokens.weight", (vocab, d), E, Role.LOOKUP)),
        kept("draft.fc", Tensor("fc.weight", (d, _taps(c) * inside), X)),
        norm("norm", d, c.word("norm_class"), False),
        kept("head", Tensor("lm_head.weight", (drafted, d), U)),
    ]
    maps = (
        Tensor("d2t", (drafted,), Component.BUFFERS, Role.VECTOR),
        Tensor("t2d", (vocab,), Component.BUFFERS, Role.VECTOR),
    )
    return (*made, kept("buffers", *maps)), cls


def _taps(c: Config) -> int:
    table = c.opt("eagle_config")
    listed = mapping("eagle_config", table).get("eagle_aux_hidden_state_layer_ids") if table is not None else None
    return _length(listed) or TAPS


def read_from_two_states(v: View) -> Part:
    """Attention whose projections read the states of token and target side by side."""
    return wider_inside(read_gqa(v), 2 * v.count("hidden_size"))


MIXERS: dict[str, Callable[[View], Part]] = {"from_two_states": read_from_two_states}
ENDS: dict[str, Callable[[Config], Made]] = {"dflash": dflash, "dspark": dspark, "eagle3": eagle3}
