"""The ends of drafts as their configs state them, and the one layer of theirs that reads more than a hidden state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from atlas.numbers.structure import Part
from atlas.parts.both_ways import wider_inside
from atlas.parts.drafts import Eagle, corrected, eagle, features, joined, markov
from atlas.readers.attention import read_gqa
from atlas.readers.ends import Made, head_of
from atlas.readers.view import View
from atlas.reading.config import Config
from atlas.reading.values import mapping, whole
from atlas.refusal import bad_value, not_derivable

TAPS = 3
"""States of the target that EAGLE-3 joins, where none are listed."""

PLAIN = (
    "mask_token_id", "target_layer_ids", "projector_type", "attention_mode", "shift_label", "pure_draft_prefix_len",
)  # fmt: skip
MARKOV = (
    "markov_rank", "markov_head_type", "enable_confidence_head", "confidence_head_with_markov",
    "confidence_head_alpha",
)  # fmt: skip
GRU = ("emb_dim", "gru_hidden_dim")
ALONE = "the draft has no embedding and no head of its own"


def _settings(c: Config, known: tuple[str, ...]) -> Mapping[str, Any]:
    """The draft's own settings; raises `Refused` at one that these rules do not know."""
    table = mapping("dflash_config", c.need("dflash_config"))
    odd = next((k for k, v in table.items() if k not in known and v not in (None, False)), None)
    if odd is not None:
        raise not_derivable(f"dflash_config states {odd[:60]!a}, and what the draft holds then is not described")
    mode = table.get("attention_mode")
    if mode not in (None, "gqa") and (
        mode != "mha" or c.count("num_key_value_heads") != c.count("num_attention_heads")
    ):
        raise not_derivable(f"dflash_config.attention_mode is {str(mode)[:60]!a}: only gqa and plain mha are described")
    return table


def _only(table: Mapping[str, Any], key: str, only: str) -> None:
    if table.get(key) not in (None, only):
        raise not_derivable(f"dflash_config.{key} is {str(table[key])[:60]!a}: only {only} is described")


def _length(value: Any) -> int:
    """Entries of a list; 0 for whatever is none."""
    return len(value) if isinstance(value, list) else 0  # pyright: ignore[reportUnknownArgumentType]


def _joined(c: Config, table: Mapping[str, Any]) -> tuple[Part, ...]:
    d, taps = c.count("hidden_size"), cast("Any", table.get("target_layer_ids"))
    if not _length(taps):
        raise bad_value("dflash_config.target_layer_ids", taps, "a list of layers of the target")
    c.derived("tie_word_embeddings", False, ALONE)
    return joined(d, _length(taps) * d, c.word("norm_class"))


def dflash(c: Config) -> Made:
    """The ends of a DFlash draft."""
    return _joined(c, _settings(c, PLAIN)), head_of(c)[0]


def dspark(c: Config) -> Made:
    """The same, with a Markov head of two tables and a confidence head."""
    stated = {k: c.opt(k) for k in MARKOV}  # beside the table in some files, in one of its own in others
    table = {**stated, **_settings(c, PLAIN + MARKOV), **_own(c)}
    _only(table, "markov_head_type", "vanilla")
    rank = whole("dflash_config.markov_rank", table.get("markov_rank"))
    confident, with_rank = bool(table.get("enable_confidence_head")), bool(table.get("confidence_head_with_markov"))
    confidence = c.count("hidden_size") + rank * with_rank if confident else None
    return (*_joined(c, table), markov(c.count("vocab_size"), rank, confidence)), head_of(c)[0]


def _own(c: Config) -> Mapping[str, Any]:
    """What `dspark_config` states, which goes before all else; raises `Refused` at what is not known."""
    stated = c.opt("dspark_config")
    if stated is None:
        return {}
    table = mapping("dspark_config", stated)
    odd = next((k for k in table if k not in MARKOV), None)
    if odd is not None:
        raise not_derivable(f"dspark_config states {odd[:60]!a}, and what the draft holds then is not described")
    return table


def domino(c: Config) -> Made:
    """The same as DFlash, with a correction of the logits by the tokens before."""
    table = _settings(c, PLAIN + GRU)
    state, width = (whole(f"dflash_config.{k}", table.get(k)) for k in ("gru_hidden_dim", "emb_dim"))
    heads = corrected(c.count("vocab_size"), c.count("hidden_size"), state, width)
    return (*_joined(c, table), heads), head_of(c)[0]


def eagle3(c: Config, *, masked: bool = False) -> Made:
    """Embedding, a matrix over three states of the target, a norm, and a head over the tokens that may be drafted."""
    d, vocab = c.count("hidden_size"), c.count("vocab_size")
    inside = _taps(c) * (c.opt_count("target_hidden_size") or d)
    c.derived("tie_word_embeddings", False, "the head is over the tokens that may be drafted")
    drafted = c.opt_count("draft_vocab_size") or vocab
    normed = _taps(c) if c.opt("fc_norm") is True else 0
    return eagle(Eagle(vocab, drafted, d, inside, c.word("norm_class"), masked, normed)), head_of(c)[0]


def eagle_of_features(c: Config) -> Made:
    """The first EAGLE: the target's embedding, and a matrix over token and state; the head is the target's."""
    c.derived("tie_word_embeddings", False, "the head is the target's")
    return features(c.count("vocab_size"), c.count("hidden_size"), c.flag("bias")), head_of(c)[0]


def peagle(c: Config) -> Made:
    """The same, with a vector for the states that are not known yet."""
    return eagle3(c, masked=True)


def _taps(c: Config) -> int:
    table = c.opt("eagle_config")
    listed = mapping("eagle_config", table).get("eagle_aux_hidden_state_layer_ids") if table is not None else None
    return _length(listed) or TAPS


def read_from_two_states(v: View) -> Part:
    """Attention whose projections read the states of token and target side by side."""
    return wider_inside(read_gqa(v), 2 * v.count("hidden_size"))


ENDS: dict[str, Callable[[Config], Made]] = {
    "dflash": dflash,
    "dspark": dspark,
    "domino": domino,
    "eagle": eagle_of_features,
    "eagle3": eagle3,
    "peagle": peagle,
}
