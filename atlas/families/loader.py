"""Rows read when they are first asked for: one TOML file per model_type.

`extends` names the family a row starts from; tables are merged key by key, `mixers` and `ffns` are replaced, and
`unset` takes away what the parent says (`"defaults.sliding_window"`, or a whole table). A row is checked whole when it
is loaded (`whole`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from atlas.families.rules import Correction, Family, Mtp, Spec, Wrapped
from atlas.families.whole import EVIDENCE, check
from atlas.numbers.fingerprint import Evidence
from atlas.refusal import Refused, shown
from schemas.vocabulary import Origin, RefusalKind

ROWS = "atlas.families"


@cache
def available() -> frozenset[str]:
    """The model_types that have a row."""
    return frozenset(f.name[:-5] for f in files(ROWS).iterdir() if f.name.endswith(".toml"))


def known(model_type: str) -> bool:
    """Whether a model_type has rules."""
    return model_type in available() and not model_type.startswith("_")


@cache
def family(model_type: str) -> Family:
    """The row of a model_type; raises `Refused` (unknown_family)."""
    if model_type not in available():
        raise Refused(RefusalKind.UNKNOWN_FAMILY, f"no rules for model_type {shown(model_type)}")
    return made(model_type, {**merged(model_type), "class_names": class_names(model_type)})


def row(model_type: str) -> dict[str, Any]:
    """The row as written, without what it extends."""
    return tomllib.loads(files(ROWS).joinpath(f"{model_type}.toml").read_text("utf-8"))


def lineage(model_type: str) -> tuple[str, ...]:
    """The rows that a row is made of, the one that extends nothing first."""
    parent = row(model_type).get("extends")
    above = lineage(parent) if parent in available() else ()
    return (*above, model_type)


@cache
def merged(model_type: str) -> Mapping[str, Any]:
    """The row over what it extends, checked whole; raises `Miswritten`."""
    own = row(model_type)
    parent = own.get("extends")
    inherited: Mapping[str, Any] = merged(parent) if parent in available() else {}
    base = {k: v for k, v in inherited.items() if k not in EVIDENCE}
    check(model_type, own, base, available())
    return over(base, {k: v for k, v in own.items() if k != "extends"})


def class_names(model_type: str) -> tuple[str, ...]:
    """The classes that a row itself names, those whose heads it tells among them; none of its parent's."""
    own = row(model_type)
    return (*own.get("class_names", ()), *(k for k, v in own.get("classes", {}).items() if v != "unknown"))


def over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What `own` says over what `base` says."""
    made, own = dict(base), dict(own)
    for name in own.pop("unset", ()):
        table, _, key = name.partition(".")
        made[table] = {k: v for k, v in made.get(table, {}).items() if key and k != key}
    for key, value in own.items():
        if key == "encoder":
            # What is unset there is taken from the decoder's part of the row, when both are laid over each other.
            inner = over({k: v for k, v in made.get(key, {}).items() if k != "unset"}, {**value, "unset": ()})
            made[key] = inner | {k: v for k, v in value.items() if k == "unset"}
        elif isinstance(value, dict) and key not in ("mixers", "ffns"):
            made[key] = {**made.get(key, {}), **value}
        else:
            made[key] = value
    return made


def made(model_type: str, written: Mapping[str, Any]) -> Family:
    """The rules that a merged row is."""
    encoder = written.get("encoder")
    row = {k: v for k, v in written.items() if k != "encoder"}
    if encoder is not None:
        row["encoder"] = made(model_type, over(row, encoder))
    for kind in ("mixers", "ffns"):
        row[kind] = {word: _specs(value) for word, value in row.get(kind, {}).items()}
    row["correct"] = tuple(msgspec.convert(each, Correction) for each in row.get("correct", ()))
    for key in ("mixer_norms", "ffn_norms", "references", "expect"):
        if key in row:
            row[key] = tuple(row[key])
    row["only"] = {k: tuple(v) for k, v in row.get("only", {}).items()}
    row["keys"] = {k: (k,) for k in row["only"]} | {k: tuple(_listed(v)) for k, v in row.get("keys", {}).items()}
    row |= {k: frozenset(row.get(k, ())) for k in ("class_names", "reads", "inside", "must")}
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
    """The families that a class may belong to: those that list it, or the one of them that it is named after."""
    texts = {f.name[:-5]: f.read_text("utf-8") for f in files(ROWS).iterdir() if f.name.endswith(".toml")}
    holding = (m for m, text in texts.items() if known(m) and f'"{cls}"' in text)
    found = tuple(sorted(m for m in holding if cls in family(m).class_names))
    after = tuple(m for m in found if _plain(cls).startswith(_plain(m)))
    return after if len(after) == 1 else found


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


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
    hangs = {k: rest.pop(k) for k in ("joins", "place") if k in rest}
    return Spec(rest.pop("part"), rest.pop("fields", {}), rest, None if norms is None else tuple(norms), **hangs)


_REVIEWED = row("_irrelevant")
IRRELEVANT = frozenset(_REVIEWED["keys"])
"""Keys reviewed as saying nothing of structure, cost or storage."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {k: tuple(v) for k, v in _REVIEWED["neutral"].items()}
"""Values that say nothing under a key that says something with others."""

FOREIGN = frozenset(_REVIEWED["foreign"]["keys"])
"""Keys of geometry that other classes read: they say nothing under a class whose code does not."""
_READ_AS_CODE = frozenset(_REVIEWED["foreign"]["of"].split())
_BUT: Mapping[str, list[str]] = _REVIEWED["foreign"]["but"]


def unread_by_class(model_type: str, key: str) -> bool:
    """Whether the code of the library's class was read, and reads no key of this name."""
    return key in FOREIGN and model_type in _READ_AS_CODE and key not in _BUT.get(model_type, ())


BESIDE = IRRELEVANT.union(_REVIEWED["beside"])
"""Keys of a wrapper that say nothing of its language model."""

COMMON_NAMES: Mapping[str, str | list[str]] = row("_names")["names"]
"""Names that checkpoints of many families use, tried after a family's own."""
