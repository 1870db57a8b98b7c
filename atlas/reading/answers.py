"""Answers to what a family's rules ask of a config: looked up once, each with its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas.numbers.fingerprint import Evidence
from atlas.parse import Raw
from schemas.vocabulary import Origin

if TYPE_CHECKING:
    from atlas.families.rules import Family

EXPLICIT, ALIAS, DERIVED = Origin.EXPLICIT.value, Origin.ALIAS.value, Origin.DERIVED.value
_ABSENT: Any = object()


class Answers(dict[str, Any]):
    """Every answer given so far; a field asked for the first time is looked up, and its evidence noted.

    It holds what it looks in and notes in, and nothing that holds it: a reader is freed as soon as it is let go.
    """

    __slots__ = ("noted", "prefix", "raw", "read", "rules", "visible")

    def __init__(self, raw: Raw, rules: Family, prefix: str) -> None:
        super().__init__()
        self.raw = raw
        self.rules = rules
        self.visible = rules.visible
        self.prefix = prefix
        self.read: set[str] = set()
        self.noted: dict[str, Evidence] = {}

    def __missing__(self, field: str) -> Any:
        """Key, other spellings, class default, family rule, in this order; None where it is null or unknown.

        A fact of the family that has no key is no question to the config: a key of that name would mean something else.
        """
        fact = self.rules.settled.get(field)
        if fact is not None:
            self.noted[field] = fact
            value = fact.value
        else:
            keys = self.rules.keys.get(field)
            value = self._stated(field, keys) if keys else self._plain(field)
        self[field] = value
        return value

    def _plain(self, field: str) -> Any:
        """Look up a field that has no other spelling.

        A key that the class does not read is no answer, whichever part knows a field of its name.
        """
        value = self.raw.get(field, _ABSENT)
        if value is _ABSENT or field not in self.visible:
            return self._unstated(field)
        self.read.add(field)
        if value is not None:
            self.noted[field] = Evidence(field, value, EXPLICIT, self.prefix + field)
        return value

    def _stated(self, field: str, keys: tuple[str, ...]) -> Any:
        """The first of several spellings that holds a value; null only where all that are there are null."""
        present = False
        for key in keys:
            value = self.raw.get(key, _ABSENT) if "." not in key else self._nested(key)
            if value is _ABSENT:
                continue
            self.read.add(key)
            if value is not None:
                self.noted[field] = Evidence(field, value, EXPLICIT if key == field else ALIAS, self.prefix + key)
                self.read.update([other for other in keys if other in self.raw and self.raw[other] == value])
                return value
            present = True
        return None if present else self._unstated(field)

    def _nested(self, key: str) -> Any:
        found: Any = self.raw
        for step in key.split("."):
            if not isinstance(found, dict) or step not in found:
                return _ABSENT
            found = found[step]  # pyright: ignore[reportUnknownVariableType]
        self.read.add(key.partition(".")[0])
        return found  # pyright: ignore[reportUnknownVariableType]

    def _unstated(self, field: str) -> Any:
        known = self.rules.unstated.get(field)
        if known is None:
            return None
        self.noted[field] = known
        return known.value
