"""Reading a config: a reader that notes where every answer came from.

Absent, null, 0 and false are four different things. An absent key takes the class default of its model_type; a null
one says "not set" and falls to the rule that derives it; 0 and false are answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas.numbers.fingerprint import Evidence
from atlas.parse import Raw
from atlas.reading import correct, levels
from atlas.reading.answers import DERIVED, EXPLICIT, Answers
from atlas.reading.values import MAX_COUNT, count, finite
from atlas.refusal import Unknown, bad_value
from schemas.vocabulary import Origin

if TYPE_CHECKING:
    from atlas.families.rules import Family

TOKENS = ("_token_id", "_token_ids", "_token_index")
"""Endings of keys that number tokens of the vocabulary."""


class Config:
    """One config read by the rules of one family. Every answer is noted once, in the order it was asked for."""

    __slots__ = ("outer", "prefix", "raw", "rules", "said", "source", "values")

    def __init__(self, raw: Raw, rules: Family, outer: Raw | None = None, prefix: str = "") -> None:
        self.raw = raw
        self.rules = rules
        self.outer = raw if outer is None else outer
        self.prefix = prefix
        self.source = Answers(raw, rules, prefix)
        self.values: dict[str, Any] = self.source
        self.said: dict[str, str] = {}  # what corrections say of the keys they set right

    @property
    def config(self) -> Config:
        """The config itself; a part's own view of it answers with the whole."""
        return self

    @property
    def read(self) -> set[str]:
        """Keys that somebody asked for."""
        return self.source.read

    @read.setter
    def read(self, keys: set[str]) -> None:
        self.source.read = keys

    @property
    def noted(self) -> dict[str, Evidence]:
        """The evidence of every answer, by field."""
        return self.source.noted

    @noted.setter
    def noted(self, notes: dict[str, Evidence]) -> None:
        self.source.noted = notes

    def evidence(self) -> tuple[Evidence, ...]:
        """Every answer so far, in the order of asking."""
        found = tuple(self.source.noted.values())
        return correct.noted(found, self.said, self.prefix) if self.said else found

    def note(self, field: str, value: Any, origin: str, source: str) -> Any:
        """Record an answer and hand it back."""
        self.source.noted[field] = Evidence(field, value, origin, source)
        self.values[field] = value
        return value

    def derived(self, field: str, value: Any, rule: str) -> Any:
        """Record a computed answer, with the rule in words."""
        return self.note(field, value, DERIVED, rule)

    def name(self, field: str) -> str:
        """The field that answers for `field`: itself, but for a part that has it under another name."""
        return field

    def top(self, field: str) -> Any:
        """A value that a wrapper may state beside the language model's own config.

        The wrapper's word goes first, then the language model's, then the default of the wrapper's class. Where the
        row says so (`lifts`), a true of the language model counts although the wrapper says false.
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
            if levels.silent(self.raw, self.outer, self.rules) and levels.older(self.outer):
                return self.derived(field, self.rules.defaults[field], levels.LEFT_OUT)
            return self.note(field, self.rules.outer[field], Origin.CLASS_DEFAULT.value, self._of_classes(field))
        return self._of_two(field, given)

    def _of_classes(self, field: str) -> str:
        """What is said where no level states a value; the language model's own class is named where it differs."""
        said, inner = "wrapper's class when the key is absent", self.rules.defaults.get(field)
        if inner is None or bool(inner) == bool(self.rules.outer[field]):
            return said
        return f"{said}; the language model's own class takes {str(inner).lower()} then"

    def _of_two(self, field: str, given: Any) -> Any:
        """The language model's word where the wrapper says nothing; both readings are noted where they differ."""
        other = self.rules.outer.get(field)
        if given is None or other is None or bool(other) == bool(given):
            return self.values[field]
        said = f"{self.prefix}{field}; the wrapper states none, and its class takes {str(other).lower()} then"
        return self.note(field, given, EXPLICIT, said)

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
            else count(self.name(field), self.need(field), least=1)
        )

    def size(self, field: str) -> int:
        """A whole number, 0 allowed."""
        return count(self.name(field), self.need(field), least=0)

    def opt_count(self, field: str) -> int | None:
        """A positive whole number, or None where it is not set."""
        value = self.values[field]
        return None if value is None else count(self.name(field), value, least=1)

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
        """Keys nobody asked for, less those reviewed as irrelevant: a new feature is noticed the day it appears."""
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
