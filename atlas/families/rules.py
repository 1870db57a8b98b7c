"""What a family's row says: one record for it, and one for each table that has a shape of its own.

A row says which parts stand in which layout, what the class takes when a key is absent, what no config states, and at
least one expectation. It never holds a condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from atlas.numbers.fingerprint import Evidence


class Spec(msgspec.Struct, frozen=True, eq=False):
    """A part in a row: the part's name, the fields that stand under other names here.

    The facts that hold here alone.
    """

    part: str
    fields: Mapping[str, str] = {}
    facts: Mapping[str, Any] = {}
    norms: tuple[str, ...] | None = None
    joins: str = "next"  # how it hangs on the stream after the parts before it: see atlas/numbers/flow.py
    place: str | None = None  # where its norms stand, if the family's one word does not say it


class Wrapped(msgspec.Struct, frozen=True):
    """Where a wrapper keeps its language model's config (dots lead inwards).

    And its family where the config names none.
    """

    key: str
    family: str
    flat: bool = False  # older files of this model_type state the language model's keys at the top
    unnamed: tuple[str, ...] = ()  # nested model_types that are read by `family`'s rules too
    only: tuple[str, ...] = ()  # the families that are known to fit, where others would be described wrongly
    lifts: bool = False  # a true tie_word_embeddings of the language model counts where the wrapper says false


class Mtp(msgspec.Struct, frozen=True):
    """What a checkpoint stores of a drafting layer.

    Which of the model's layers it repeats, and what stands around them.
    """

    layers: tuple[tuple[str, str], ...]  # words of mixer and feed-forward network, one pair per layer it is made of
    style: str = "eh_proj"
    copies: bool = False  # embedding and head of its own
    own_head: bool = False  # a head of its own, but no embedding
    most: int = 1  # layers that a published total confirms
    streams: bool = False  # a head of hyper-connections of its own
    context: int | None = None  # the stated context for which published totals confirm it, where a family differs


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One known error of published files: what a file states, what holds instead, and why."""

    reason: str
    expect: Mapping[str, Any]
    set: Mapping[str, Any]


class Family(msgspec.Struct, frozen=True, eq=False):
    """One row, with what it extends merged in."""

    model_type: str
    layout: str = "same"
    ffn_layout: str = "same"
    mixers: Mapping[str, tuple[Spec, ...]] = {}
    ffns: Mapping[str, tuple[Spec, ...]] = {}
    mixer_norms: tuple[str, ...] = ("input_layernorm",)
    ffn_norms: tuple[str, ...] = ("post_attention_layernorm",)
    norms: str = "listed"
    ends: str = "decoder"
    keys: Mapping[str, tuple[str, ...]] = {}
    defaults: Mapping[str, Any] = {}
    facts: Mapping[str, Any] = {}
    derive: Mapping[str, str] = {}  # fields that follow from other keys, by the rules of atlas/reading/derivations
    outer: Mapping[str, Any] = {}
    classes: Mapping[str, str] = {}  # heads of classes whose name's ending does not tell it
    class_names: frozenset[str] = frozenset()  # the classes these rules describe: the library's own, and published ones
    reads: frozenset[str] = frozenset()  # fields that the class reads although the row gives them no key and no default
    names: Mapping[
        str, str | list[str]
    ] = {}  # how checkpoints call the tensors: see _names.toml, atlas/checkpoint/naming.py
    irrelevant: frozenset[str] = frozenset()
    only: Mapping[str, tuple[Any, ...]] = {}  # switches that were read as they stand in these values, and in no other
    must: frozenset[str] = frozenset()  # switches among them whose absence means another value than those
    siblings: Mapping[str, str] = {}  # classes that go by the same model_type and are another family's
    text: Wrapped | None = None
    beside: frozenset[str] = frozenset()  # keys of the wrapper that are read or say nothing, where there is a wrapper
    lifts: bool = False  # of the wrapper's `text`
    text_defaults: Mapping[str, Any] = {}  # of a wrapper: what its class puts under absent keys of the language model
    inside: frozenset[str] = frozenset()  # of a wrapper: keys of the language model's config that say nothing here
    stacks: str = "decoder"
    encoder: Family | None = None  # what the row says of its encoder, over what it says of its decoder
    mtp: Mtp | None = None
    mtp_unstated: bool = False  # checkpoints of the family may hold drafting layers that no config states
    correct: tuple[Correction, ...] = ()
    references: tuple[str, ...] = ()
    expect: tuple[Mapping[str, Any], ...] = ()
    unstated: Mapping[str, Evidence] = {}  # made of defaults and facts: what is noted where no key answers
    settled: Mapping[str, Evidence] = {}  # the facts among them that no key and no default can change
    visible: frozenset[str] = frozenset()  # made of defaults and reads: fields that a key of their own name answers
    named: frozenset[str] = frozenset()  # made of the same and of `keys`: keys whose effect these rules know
