"""Files that can be read in two ways, and what decides between them: a stored total, or the headers.

A wrapper that states no `tie_word_embeddings` beside a language model that says the opposite of the wrapper's class;
a T5 that states that nothing is tied, which its class ties all the same unless the checkpoint holds another head
(transformers 5.24, `PreTrainedModel.tie_weights`; T5 1.1 and its kin hold one); a Llama of one wide layer, which is
also the whole config of an EAGLE draft (SafeAILab/EAGLE, eagle/train: the published ones are of class LlamaForCausalLM
with one layer, 4,096 to 8,192 wide).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from atlas.parse import Raw
from atlas.reading.correct import overwritten
from atlas.reading.levels import TIE, older, silent

if TYPE_CHECKING:
    from atlas.reading.config import Config

WIDE = 2048
"""Width of a state from which one layer alone is more likely a draft's than a small model's made for a test."""


class Held(Enum):
    """What a reading says of a checkpoint: no text can state it, whatever keys a file has."""

    APART = "a head that differs from the token table is not tied when it is loaded"


HEAD = "lm_head_stored"
"""The key under which a reading says that the head is held apart."""

Other = tuple[str, Mapping[str, Any]]


class Reading(NamedTuple):
    """Another way to read a file, in words; the keys (dots lead inwards) that say so; the config with them."""

    said: str
    changes: Mapping[str, Any]
    data: Raw


def readings(c: Config, data: Raw) -> tuple[Reading, ...]:
    """The other ways to read a config; none for nearly all of them."""
    return tuple(Reading(said, changes, _changed(data, changes)) for said, changes in _others(c))


def _others(c: Config) -> Iterable[Other]:
    return (*_of_levels(c), *_of_heads(c), *_of_drafts(c))


def _changed(raw: Raw, changes: Mapping[str, Any]) -> Raw:
    for key, value in changes.items():
        raw = overwritten(raw, key.split("."), value)
    return raw


def _of_levels(c: Config) -> Iterable[Other]:
    """Whether the head is tied, where the wrapper states nothing and its class and the language model disagree."""
    if c.outer is c.raw or c.outer.get(TIE) is not None or c.rules.outer.get("ties") is not None:
        return
    one, other = c.values[TIE], c.rules.outer.get(TIE)
    inner = c.raw.get(TIE, c.rules.defaults.get(TIE))
    if one is None or other is None or inner is None or bool(inner) == bool(other) or (c.rules.lifts and inner):
        return
    value = not one
    said = f"{TIE} is {str(value).lower()}: the wrapper states none, and the levels of the file disagree"
    yield said, {TIE: value, c.prefix + TIE: value}


def _of_heads(c: Config) -> Iterable[Other]:
    """Whether the checkpoint holds a head of its own, where the config says so and the class ties it."""
    if c.rules.facts.get("always_tied") and c.raw.get(TIE) is False and c.values[TIE] is True:
        yield "a head of its own is stored beside the token table, as the config states", {HEAD: Held.APART}


def doubt(c: Config) -> str | None:
    """Why a file that a total or header would settle is `assumed` until one does; None where it is not in doubt."""
    if may_be_draft(c):
        return DRAFT
    if any(True for _ in _of_heads(c)):
        return HEADS
    if silent(c.raw, c.outer, c.rules):
        taken = "false is taken here: it was saved by 4" if older(c.outer) else "true is taken here"
        return (
            f"assumed: no level of the file states {TIE}; the wrapper's class takes true since transformers 5.0, the "
            f"language model's takes false, as files saved by 4 mean it; a total or header says which holds; {taken}"
        )
    if not any(True for _ in _of_levels(c)) or TIE not in c.raw:
        return None
    said = ("false", "true")
    inner, outer = said[bool(c.raw[TIE])], said[bool(c.rules.outer[TIE])]
    return (
        f"assumed: the wrapper states no {TIE}, its class takes {outer} and its language model says {inner}, as older "
        f"files do; a total or header says which holds, and {inner} is taken here"
    )


def may_be_draft(c: Config) -> bool:
    """Whether a plain Llama may be an EAGLE draft: one wide layer and the class of a language model."""
    if c.rules.model_type != "llama" or c.outer is not c.raw or c.opt("num_hidden_layers") != 1:
        return False
    named: Any = c.raw.get("architectures")
    alone = named == ["LlamaForCausalLM"] and c.rules.facts.get("kind") is None and "bias" not in c.raw
    return alone and c.count("hidden_size") >= WIDE


def _of_drafts(c: Config) -> Iterable[Other]:
    if may_be_draft(c):
        for bias in (True, False):
            yield "an EAGLE draft: one layer over token and state, no last norm, no head", {"bias": bias}


DRAFT = (
    "assumed: one wide layer under LlamaForCausalLM is also the whole config of an EAGLE draft, which stores a matrix "
    "over token and state and no head; a total or header says which this is"
)

HEADS = (
    f"assumed: the file states that {TIE} is false, and the class ties the head all the same unless the checkpoint "
    "holds another one, as T5 1.1, Flan-T5 and mT5 do; a total or header says which, and a tied one is taken here"
)
