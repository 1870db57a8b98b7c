"""Reading a config: a reader that notes where every answer came from.

Absent, null, 0 and false are four different things. An absent key takes the class default of its model_type; a null
one says "not
set" and falls to the rule that derives it; 0 and false are answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from atlas import correct
from atlas.fingerprint import Evidence
from atlas.parse import Raw
from atlas.refusal import Unknown, bad_value
from schemas.vocabulary import Origin

if TYPE_CHECKING:
    from atlas.families import Family, Spec

EXPLICIT, ALIAS, DERIVED = Origin.EXPLICIT.value, Origin.ALIAS.value, Origin.DERIVED.value
MAX_COUNT = 2**31
"""More than any width, vocabulary or context a real model states."""
TOKENS = ("_token_id", "_token_ids", "_token_index")
"""Endings of keys that number tokens of the vocabulary."""


class Answers(dict[str, Any]):
    """Every answer given so far; a field asked for the first time is looked up, and its evidence noted."""

    __slots__ = ("config",)

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config

    def __missing__(self, field: str) -> Any:
        """Key, other spellings, class default, family rule, in this order; None where it is null or unknown.

        A fact of the family that has no key is no question to the config: a key of that name would mean something else.
        """
        config = self.config
        fact = config.rules.settled.get(field)
        if fact is not None:
            config.noted[field] = fact
            value = fact.value
        else:
            keys = config.rules.keys.get(field)
            value = config.stated(field, keys) if keys else config.plain(field)
        self[field] = value
        return value


class Config:
    """One config read by the rules of one family. Every answer is noted once, in the order it was asked for."""

    __slots__ = ("noted", "outer", "prefix", "raw", "read", "rules", "said", "shared", "values")

    def __init__(self, raw: Raw, rules: Family, outer: Raw | None = None, prefix: str = "") -> None:
        self.raw = raw
        self.rules = rules
        self.outer = raw if outer is None else outer
        self.prefix = prefix
        self.read: set[str] = set()
        self.values: dict[str, Any] = Answers(self)
        self.noted: dict[str, Evidence] = {}
        self.said: dict[str, str] = {}  # what corrections say of the keys they set right
        self.shared: dict[Any, Any] = {}  # what several parts of this config read alike

    @property
    def config(self) -> Config:
        """The config itself; a part's own view of it answers with the whole."""
        return self

    def evidence(self) -> tuple[Evidence, ...]:
        """Every answer so far, in the order of asking."""
        found = tuple(self.noted.values())
        return correct.noted(found, self.said, self.prefix) if self.said else found

    def note(self, field: str, value: Any, origin: str, source: str) -> Any:
        """Record an answer and hand it back."""
        self.noted[field] = Evidence(field, value, origin, source)
        self.values[field] = value
        return value

    def derived(self, field: str, value: Any, rule: str) -> Any:
        """Record a computed answer, with the rule in words."""
        return self.note(field, value, DERIVED, rule)

    def name(self, field: str) -> str:
        """The field that answers for `field`: itself, but for a part that has it under another name."""
        return field

    def plain(self, field: str) -> Any:
        """Look up a field that has no other spelling."""
        value = self.raw.get(field, _ABSENT)
        if value is _ABSENT:
            return self._unstated(field)
        self.read.add(field)
        if value is not None:
            self.noted[field] = Evidence(field, value, EXPLICIT, self.prefix + field)
        return value

    def stated(self, field: str, keys: tuple[str, ...]) -> Any:
        """The first of several spellings that holds a value.

        Null only where one is there and all that are there are null.
        """
        present = False
        for key in keys:
            value = self.raw.get(key, _ABSENT) if "." not in key else self._nested(key)
            if value is _ABSENT:
                continue
            self.read.add(key)
            if value is not None:
                self.noted[field] = Evidence(field, value, EXPLICIT if key == field else ALIAS, self.prefix + key)
                self.read.update(other for other in keys if other in self.raw and self.raw[other] == value)
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

    def top(self, field: str) -> Any:
        """A value that a wrapper may state beside the language model's own config.

        The wrapper's word goes first, then the language model's, then the default of the wrapper's class. Where the
        row says so
        (`lifts`), a true of the language model counts although the wrapper says false.
        """
        if self.outer is self.raw or field in self.values:
            return self.values[field]
        stated, given = self.outer.get(field), self.raw.get(field)
        self.read.add(field)
        if self.rules.lifts and not stated and self.values[field]:
            return self.values[field]
        if stated is not None:
            return self.note(field, stated, EXPLICIT, field)
        if given is None and field in self.rules.outer:
            return self.note(
                field, self.rules.outer[field], Origin.CLASS_DEFAULT.value, "wrapper's class when the key is absent"
            )
        return self.values[field]

    def opt(self, field: str) -> Any:
        """The value, or None where it is null or unknown."""
        return self.values[field]

    def need(self, field: str) -> Any:
        """The value; raises `Unknown` naming the keys tried."""
        value = self.values[field]
        if value is None:
            self._refuse(field)
        return value

    def _refuse(self, field: str) -> None:
        field = self.name(field)
        raise Unknown(field, [self.prefix + k for k in self.rules.keys.get(field) or (field,)])

    def count(self, field: str) -> int:
        """A positive whole number."""
        value = self.values[field]
        return (
            value
            if type(value) is int and 0 < value <= MAX_COUNT
            else _count(self.name(field), self.need(field), least=1)
        )

    def size(self, field: str) -> int:
        """A whole number, 0 allowed."""
        return _count(self.name(field), self.need(field), least=0)

    def opt_count(self, field: str) -> int | None:
        """A positive whole number, or None where it is not set."""
        value = self.values[field]
        return None if value is None else _count(self.name(field), value, least=1)

    def flag(self, field: str) -> bool:
        """True or false."""
        value = self.values[field]
        if value is not True and value is not False:
            raise bad_value(self.name(field), self.need(field), "true or false")
        return value

    def word(self, field: str) -> str:
        """A short text."""
        value = self.values[field]
        if type(value) is not str or not 0 < len(value) <= 100:
            raise bad_value(self.name(field), self.need(field), "a short text")
        return value

    text = word

    def number(self, field: str) -> float | None:
        """A finite number, or None where it is not set."""
        value = self.values[field]
        return None if value is None else finite(self.name(field), value)

    def items(self, field: str) -> list[Any]:
        """A list."""
        value = self.need(field)
        if not isinstance(value, list):
            raise bad_value(self.name(field), value, "a list")
        return value  # pyright: ignore[reportUnknownVariableType]

    def unread(self) -> tuple[str, ...]:
        """Keys nobody asked for, less those reviewed as irrelevant.

        How a new feature is noticed on the day it appears.
        """
        rest = self.raw.keys() - self.read - self.rules.irrelevant
        own = sorted(self.prefix + k for k in rest if self.raw[k] is not None and not k.endswith(TOKENS))
        return (*own, *self._unread_beside())

    def _unread_beside(self) -> list[str]:
        """The wrapper's keys that nobody asked for, but for those that repeat what the language model's config says."""
        if self.outer is self.raw:
            return []
        rest = [
            k for k in self.outer.keys() - self.rules.beside if not k.endswith(TOKENS) and self.outer[k] is not None
        ]
        return sorted(k for k in rest if self.outer[k] not in (self.raw.get(k), self.values.get(k)))


class PartAnswers(dict[str, Any]):
    """The answers as one part sees them: its own facts first, then the config's, under the names they have there."""

    __slots__ = ("view",)

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view

    def __missing__(self, field: str) -> Any:
        """Nothing is kept here: a derived value may still be noted in the config."""
        view = self.view
        spec = view.spec
        if field not in spec.facts:
            return view.root.values[spec.fields.get(field, field)]
        label, value = f"{field}[{view.part_word}]", spec.facts[field]
        if label not in view.noted:
            view.root.note(label, value, Origin.FAMILY_RULE.value, f"family {view.rules.model_type}")
        return value


class View(Config):
    """A config as one part sees it: some fields stand under other names, some facts hold for this part alone."""

    __slots__ = ("part_word", "root", "spec")

    def __init__(self, config: Config, spec: Spec, word: str) -> None:  # pyright: ignore[reportMissingSuperCall]
        self.root = config
        self.spec = spec
        self.part_word = word
        self.raw, self.rules, self.outer, self.prefix = config.raw, config.rules, config.outer, config.prefix
        self.read, self.noted, self.said = config.read, config.noted, config.said
        self.values = PartAnswers(self)

    @property
    def config(self) -> Config:
        """The config itself, for fields that are no part's own."""
        return self.root

    def name(self, field: str) -> str:
        """The field that answers for `field` here."""
        return self.spec.fields.get(field, field)

    def derived(self, field: str, value: Any, rule: str) -> Any:
        """Record a computed answer under the name it has here."""
        return self.root.derived(self.name(field), value, rule)


_ABSENT: Any = object()


def _count(field: str, value: Any, least: int) -> int:
    if type(value) is float and value.is_integer() and abs(value) <= MAX_COUNT:
        value = int(value)
    if type(value) is not int:
        raise bad_value(field, value, "a whole number")
    if not least <= value <= MAX_COUNT:
        raise bad_value(field, value, f"between {least} and {MAX_COUNT:,}")
    return value


def finite(field: str, value: Any) -> float:
    """A finite number; raises `Refused`."""
    if type(value) not in (int, float) or abs(value) > 1e18 or not isfinite(value):
        raise bad_value(field, value, "a finite number")
    return float(value)


def unsigned(field: str, value: Any) -> float:
    """A finite number that is not negative; raises `Refused`."""
    number = finite(field, value)
    if number < 0:
        raise bad_value(field, value, "at least 0")
    return number


def whole(field: str, value: Any) -> int:
    """A positive whole number; raises `Refused`."""
    return _count(field, value, least=1)


def mapping(field: str, value: Any) -> Mapping[str, Any]:
    """An object of keys and values; raises `Refused`."""
    if not isinstance(value, dict):
        raise bad_value(field, value, "an object")
    return value  # pyright: ignore[reportUnknownVariableType]
