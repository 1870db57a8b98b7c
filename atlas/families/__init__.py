"""Families: one TOML file per model_type, read when it is first asked for.

A row says which parts stand in which layout, what the class takes when a key is absent, what no config states, and at
least one
expectation. It never holds a condition. `extends` names the family a row starts from; tables are merged key by key,
`mixers` and
`ffns` are replaced, and `unset` takes away what the parent says (`"defaults.sliding_window"`, or a whole table).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from atlas.numbers.fingerprint import Evidence
from atlas.reading.correct import Correction
from atlas.refusal import Refused, shown
from schemas.vocabulary import Origin, RefusalKind


class Spec(msgspec.Struct, frozen=True, eq=False):
    """A part in a row: the part's name, the fields that stand under other names here.

    The facts that hold here alone.
    """

    part: str
    fields: Mapping[str, str] = {}
    facts: Mapping[str, Any] = {}
    norms: tuple[str, ...] | None = None


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
    outer: Mapping[str, Any] = {}
    classes: Mapping[str, str] = {}  # heads of classes whose name's ending does not tell it
    class_names: frozenset[str] = frozenset()  # the classes these rules describe: the library's own, and published ones
    reads: frozenset[str] = frozenset()  # fields that the class reads although the row gives them no key and no default
    names: Mapping[
        str, str | list[str]
    ] = {}  # how checkpoints call the tensors: see _names.toml, atlas/checkpoint/naming.py
    irrelevant: frozenset[str] = frozenset()
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
    named: frozenset[str] = frozenset()  # made of the same and of `keys`: keys whose effect these rules know
    visible: frozenset[str] = frozenset()  # made of defaults and reads: fields that a key of their own name answers


@cache
def available() -> frozenset[str]:
    """The model_types that have a row."""
    return frozenset(f.name[:-5] for f in files(__package__ or "atlas.families").iterdir() if f.name.endswith(".toml"))


def known(model_type: str) -> bool:
    """Whether a model_type has rules."""
    return model_type in available() and not model_type.startswith("_")


@cache
def family(model_type: str) -> Family:
    """The row of a model_type; raises `Refused` (unknown_family)."""
    if model_type not in available():
        raise Refused(RefusalKind.UNKNOWN_FAMILY, f"no rules for model_type {shown(model_type)}")
    return made(model_type, merged(model_type))


def row(model_type: str) -> dict[str, Any]:
    """The row as written, without what it extends."""
    return tomllib.loads(files(__package__ or "atlas.families").joinpath(f"{model_type}.toml").read_text("utf-8"))


_OWN = ("references", "expect", "correct", "class_names")
"""Never inherited: evidence belongs to the row it stands in."""


def merged(model_type: str) -> dict[str, Any]:
    """The row with what it extends, as plain tables."""
    own = row(model_type)
    own["class_names"] = [
        *own.get("class_names", ()),
        *(k for k, v in own.get("classes", {}).items() if v != "unknown"),
    ]
    parent = own.pop("extends", None)
    if parent is None:
        return own
    return over({k: v for k, v in merged(parent).items() if k not in _OWN}, own)


def over(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What `own` says over what `base` says."""
    merged, own = dict(base), dict(own)
    for name in own.pop("unset", ()):
        table, _, key = name.partition(".")
        merged[table] = {k: v for k, v in merged.get(table, {}).items() if key and k != key}
    for key, value in own.items():
        if key == "encoder":
            merged[key] = over(merged.get(key, {}), {**value, "unset": ()}) | {"unset": value.get("unset", ())}
        elif isinstance(value, dict) and key not in ("mixers", "ffns"):
            merged[key] = {**merged.get(key, {}), **value}
        else:
            merged[key] = value
    return merged


def made(model_type: str, row: dict[str, Any]) -> Family:
    """The rules that a merged row is."""
    encoder = row.get("encoder")
    row = {k: v for k, v in row.items() if k != "encoder"}
    if encoder is not None:
        row["encoder"] = made(model_type, over({**row}, encoder))
    for kind in ("mixers", "ffns"):
        row[kind] = {word: _specs(value) for word, value in row.get(kind, {}).items()}
    row["correct"] = tuple(msgspec.convert(each, Correction) for each in row.get("correct", ()))
    for key in ("mixer_norms", "ffn_norms", "references", "expect"):
        if key in row:
            row[key] = tuple(row[key])
    row["keys"] = {k: tuple(_listed(v)) for k, v in row.get("keys", {}).items()}
    row["class_names"] = frozenset(row.get("class_names", ()))
    row["reads"], row["inside"] = frozenset(row.get("reads", ())), frozenset(row.get("inside", ()))
    row["visible"] = ALWAYS.union(row["reads"], row.get("defaults", {}))
    row["named"] = row["visible"].union(k.partition(".")[0] for keys in row["keys"].values() for k in keys)
    row["irrelevant"] = IRRELEVANT.union(row.get("irrelevant", ()))
    if "text" in row:
        row["text"] = msgspec.convert(row["text"], Wrapped)
    drafting = row.pop("mtp", None)
    if drafting:
        row["mtp"] = msgspec.convert(drafting, Mtp)
    row["model_type"] = model_type
    row["unstated"] = _unstated(model_type, row)
    open_to_change = row["keys"].keys() | row.get("defaults", {}).keys()
    row["settled"] = {k: row["unstated"][k] for k in row.get("facts", {}) if k not in open_to_change}
    unknown = row.keys() - set(Family.__struct_fields__)
    if unknown:
        raise ValueError(f"families/{model_type}.toml: no such key: {', '.join(sorted(unknown))}")
    return Family(**row)


ALWAYS = frozenset((
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "tie_word_embeddings",
    "max_position_embeddings", "original_max_position_embeddings", "rope_theta", "rope_scaling", "rope_parameters",
))  # fmt: skip
"""What every class reads that has it at all: without an effect where nothing is rotated."""


def with_defaults(rules: Family, table: Mapping[str, Any]) -> Family:
    """The rules of a language model with the defaults that its wrapper's class puts under absent keys."""
    made = {
        k: Evidence(k, v, Origin.CLASS_DEFAULT.value, "the wrapper's class when the key is absent")
        for k, v in table.items()
    }
    return msgspec.structs.replace(
        rules,
        defaults={**rules.defaults, **table},
        unstated={**rules.unstated, **made},
        settled={k: e for k, e in rules.settled.items() if k not in table},
        visible=rules.visible.union(table),
        named=rules.named.union(table),
    )


@cache
def owners(cls: str) -> tuple[str, ...]:
    """The families whose own list has this class, wrappers among them; a row that only follows another has none."""
    texts = {
        f.name[:-5]: f.read_text("utf-8")
        for f in files(__package__ or "atlas.families").iterdir()
        if f.name.endswith(".toml")
    }
    holding = (m for m, text in texts.items() if known(m) and f'"{cls}"' in text)
    return tuple(sorted(m for m in holding if cls in family(m).class_names))


def _unstated(model_type: str, row: dict[str, Any]) -> dict[str, Evidence]:
    """What is noted of a field that no key answers; a class default goes before a fact."""
    rule, default = Origin.FAMILY_RULE.value, Origin.CLASS_DEFAULT.value
    facts = {k: Evidence(k, v, rule, f"family {model_type}") for k, v in row.get("facts", {}).items()}
    return facts | {
        k: Evidence(k, v, default, f"{model_type} when the key is absent") for k, v in row.get("defaults", {}).items()
    }


def _specs(value: Any) -> tuple[Spec, ...]:
    return tuple(_spec(each) for each in _listed(value))


def _listed(value: Any) -> list[Any]:
    """One or several, as a list."""
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


def _spec(value: str | dict[str, Any]) -> Spec:
    if isinstance(value, str):
        return Spec(value)
    rest = dict(value)
    norms = rest.pop("norms", None)
    return Spec(rest.pop("part"), rest.pop("fields", {}), rest, None if norms is None else tuple(norms))


_REVIEWED = row("_irrelevant")
IRRELEVANT = frozenset(_REVIEWED["keys"])
"""Keys reviewed as saying nothing of structure, cost or storage."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {k: tuple(v) for k, v in _REVIEWED["neutral"].items()}
"""Values that say nothing under a key that says something with others."""

BESIDE = IRRELEVANT.union(_REVIEWED["beside"])
"""Keys of a wrapper that say nothing of its language model."""

COMMON_NAMES: Mapping[str, str | list[str]] = row("_names")["names"]
"""Names that checkpoints of many families use, tried after a family's own."""
