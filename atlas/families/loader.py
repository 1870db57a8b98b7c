"""Rows read when they are first asked for: one TOML file per model_type.

`extends` names the family a row starts from; tables are merged key by key, `mixers` and `ffns` are replaced, and
`unset` takes away what the parent says (`"defaults.sliding_window"`, or a whole table).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from atlas.families.rules import Correction, Family, Mtp, Spec, Wrapped
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
    return _made(model_type, _merged(model_type))


def row(model_type: str) -> dict[str, Any]:
    """The row as written, without what it extends."""
    return tomllib.loads(files(ROWS).joinpath(f"{model_type}.toml").read_text("utf-8"))


_OWN = ("references", "expect", "correct")
"""Never inherited: evidence belongs to the row it stands in."""


def _merged(model_type: str) -> dict[str, Any]:
    own = row(model_type)
    parent = own.pop("extends", None)
    if parent is None:
        return own
    return _over({k: v for k, v in _merged(parent).items() if k not in _OWN}, own)


def _over(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What `own` says over what `base` says."""
    merged, own = dict(base), dict(own)
    for name in own.pop("unset", ()):
        table, _, key = name.partition(".")
        merged[table] = {k: v for k, v in merged.get(table, {}).items() if key and k != key}
    for key, value in own.items():
        if key == "encoder":
            merged[key] = _over(merged.get(key, {}), {**value, "unset": ()}) | {"unset": value.get("unset", ())}
        elif isinstance(value, dict) and key not in ("mixers", "ffns"):
            merged[key] = {**merged.get(key, {}), **value}
        else:
            merged[key] = value
    return merged


def _made(model_type: str, row: dict[str, Any]) -> Family:
    encoder = row.get("encoder")
    row = {k: v for k, v in row.items() if k != "encoder"}
    if encoder is not None:
        row["encoder"] = _made(model_type, _over({**row}, encoder))
    for kind in ("mixers", "ffns"):
        row[kind] = {word: _specs(value) for word, value in row.get(kind, {}).items()}
    row["correct"] = tuple(msgspec.convert(each, Correction) for each in row.get("correct", ()))
    for key in ("mixer_norms", "ffn_norms", "references", "expect"):
        if key in row:
            row[key] = tuple(row[key])
    row["keys"] = {k: tuple(_listed(v)) for k, v in row.get("keys", {}).items()}
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

BESIDE = IRRELEVANT.union(_REVIEWED["beside"])
"""Keys of a wrapper that say nothing of its language model."""

COMMON_NAMES: Mapping[str, str | list[str]] = row("_names")["names"]
"""Names that checkpoints of many families use, tried after a family's own."""
