"""Rules for classes that are made of a family's layers and something else: drafts, pruned blocks, upcycled merges.

A table of `_overlays.toml` says what such a class says over the row of the family it stands on. A config is one of
these by its class, or by a key (`states`) that no plain class of the family has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from atlas.families.loader import class_names, made, merged, over, row
from atlas.families.rules import Family
from atlas.parse import Raw

_HEAD = ("on", "for_classes", "states", "where", "reads")


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    return row("_overlays")


@cache
def _by_family() -> Mapping[str, tuple[str, ...]]:
    """The overlays that stand on each family."""
    found: dict[str, tuple[str, ...]] = {}
    for name, table in _tables().items():
        for family in table["on"]:
            found[family] = (*found.get(family, ()), name)
    return found


@cache
def _drafts() -> Mapping[str, tuple[str, ...]]:
    """The families that the layers of each class of drafts are of."""
    found: dict[str, tuple[str, ...]] = {}
    for table in _tables().values():
        if table.get("facts", {}).get("kind") == "draft":
            for cls in table.get("for_classes", ()):
                found[cls] = (*found.get(cls, ()), *table["on"])
    return found


def of_draft(cls: str | None) -> str | None:
    """The family whose layers a class of drafts is made of, whatever model_type its file states; None for others.

    A draft's class is built from its own config class: sgl-project/SpecForge, specforge/modeling/auto.py and
    registry.py, where `architectures` chooses both and `model_type` neither.
    """
    found = _drafts().get(cls or "", ())
    return found[0] if len(found) == 1 else None


def applied(rules: Family, data: Raw, cls: str | None) -> Family:
    """The rules for this class, or for what this key says: those of an overlay where one fits, else the family's."""
    names = _by_family().get(rules.model_type, ())
    found = [n for n in names if cls in _tables()[n].get("for_classes", ())]
    found += [n for n in names if _states(_tables()[n], data)]
    return _overlaid(rules.model_type, found[0]) if found else rules


def _states(table: Mapping[str, Any], data: Raw) -> bool:
    """Whether a config states the key that no plain class has, beside what else the table asks for."""
    if data.get(table.get("states", "")) is None:
        return False
    return all(data.get(key) == value for key, value in table.get("where", {}).items())


@cache
def _overlaid(model_type: str, name: str) -> Family:
    table, base = _tables()[name], merged(model_type)
    own = {k: v for k, v in table.items() if k not in _HEAD}
    own["reads"] = [*base.get("reads", ()), *table.get("reads", ())]
    own["irrelevant"] = [*base.get("irrelevant", ()), *table.get("irrelevant", ())]
    own["class_names"] = [*class_names(model_type), *table.get("for_classes", ())]
    return made(model_type, over(base, own))
