"""Reading a config: strict JSON within limits, and a reader that notes where every answer came from.

Absent, null, 0 and false are four different things. An absent key takes the class default of its model_type; a null one says "not
set" and falls to the rule that derives it; 0 and false are answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import orjson

from atlas import correct
from atlas.fingerprint import Evidence
from atlas.refusal import Refused, Unknown, bad_value, shown
from schemas.vocabulary import Origin, RefusalKind

if TYPE_CHECKING:
    from atlas.families import Family, Spec

EXPLICIT, ALIAS, DERIVED = Origin.EXPLICIT.value, Origin.ALIAS.value, Origin.DERIVED.value
MAX_BYTES = 5 * 1024 * 1024
MAX_COUNT = 2**31
"""More than any width, vocabulary or context a real model states."""

Raw = dict[str, Any]


def load(data: bytes) -> Raw:
    """Parse a config. Raises `Refused` (not_json, not_an_object, too_large, too_deep, bad_value for a key given twice).

    orjson first; what it rejects is looked at again by the standard library, which alone reads a bare Infinity or NaN: these
    become floats that no reader of a count accepts, so that they harm only the key they stand in.
    """
    if len(data) > MAX_BYTES:
        raise Refused(RefusalKind.TOO_LARGE, f"the config is larger than the {MAX_BYTES:,} bytes that are read")
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        parsed = _load_again(data, str(error))
    if not isinstance(parsed, dict):
        raise Refused(RefusalKind.NOT_AN_OBJECT, f"the config is {_article(parsed)}, not an object of keys and values")
    if not _keys_agree(data, parsed):
        _refuse_twice(data)
    return parsed  # pyright: ignore[reportUnknownVariableType]


def _article(parsed: object) -> str:
    names = {list: "a list", str: "a text", bool: "a true or false", type(None): "null"}
    return names.get(type(parsed), "a number")


def _load_again(data: bytes, why: str) -> object:
    """What orjson rejects: a config with Infinity, NaN or very long integers, or not JSON (then say why)."""
    try:
        parsed = json.loads(data.decode("utf-8"))
        json.dumps(parsed, ensure_ascii=False).encode("utf-8")  # a lone surrogate stops here
    except UnicodeDecodeError:
        raise Refused(RefusalKind.NOT_JSON, "the config is not UTF-8 text") from None
    except RecursionError:
        raise Refused(RefusalKind.TOO_DEEP, "the config is nested too deeply to be read") from None
    except ValueError:
        raise Refused(RefusalKind.NOT_JSON, f"the config is not JSON: {why}") from None
    return parsed


def _keys_agree(data: bytes, parsed: Raw) -> bool:
    """Whether the text has as many keys as the object, counted quickly: a key given twice leaves the object with fewer.

    Lists are only looked into where the text has more objects than the values alone account for.
    """
    todo: list[Any] = [parsed]
    keys = objects = 0
    for item in todo:
        keys += len(item)
        objects += 1
        for value in item.values():
            if type(value) is dict:
                todo.append(value)
    return objects == data.count(b"{") and keys == data.count(b'":') + data.count(b'" :')


def _refuse_twice(data: bytes) -> None:
    """The quick count did not agree: parse again, watching for a key that is given twice."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [k for k, _ in pairs]
            twice = next(k for k in names if names.count(k) > 1)
            raise Refused(RefusalKind.BAD_VALUE, f"the key {shown(twice)} is given twice")
        return found

    json.loads(data, object_pairs_hook=once)

TOKENS = ("_token_id", "_token_ids", "_token_index")
"""Endings of keys that number tokens of the vocabulary."""


class Config:
    """One config read by the rules of one family. Every answer is noted once, in the order it was asked for."""

    __slots__ = ("outer", "prefix", "raw", "read", "rules", "values", "noted", "said")

    def __init__(self, raw: Raw, rules: Family, outer: Raw | None = None, prefix: str = "") -> None:
        self.raw = raw
        self.rules = rules
        self.outer = raw if outer is None else outer
        self.prefix = prefix
        self.read: set[str] = set()
        self.values: dict[str, Any] = {}
        self.noted: dict[str, Evidence] = {}
        self.said: dict[str, str] = {}  # what corrections say of the keys they set right

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

    def opt(self, field: str) -> Any:
        """The value, or None where it is null or unknown: key, other spellings, class default, family rule, in this order."""
        if field in self.values:
            return self.values[field]
        keys = self.rules.keys.get(field)
        value = self._stated(field, keys) if keys else self._plain(field)
        self.values[field] = value
        return value

    def _plain(self, field: str) -> Any:
        value = self.raw.get(field, _ABSENT)
        if value is _ABSENT:
            return self._unstated(field)
        self.read.add(field)
        if value is not None:
            self.noted[field] = Evidence(field, value, EXPLICIT, self.prefix + field)
        return value

    def _stated(self, field: str, keys: tuple[str, ...]) -> Any:
        """The first of several spellings that holds a value; null only where one is there and all that are there are null."""
        present = False
        for key in keys:
            value = self.raw.get(key, _ABSENT) if "." not in key else self._nested(key)
            if value is _ABSENT:
                continue
            self.read.add(key)
            if value is not None:
                return self.note(field, value, EXPLICIT if key == field else ALIAS, self.prefix + key)
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
        return known[1]

    def top(self, field: str) -> Any:
        """A value that a wrapper may state beside the language model's own config.

        The wrapper's word goes first, then the language model's, then the default of the wrapper's class. Where the row says so
        (`lifts`), a true of the language model counts although the wrapper says false.
        """
        if self.outer is self.raw or field in self.values:
            return self.opt(field)
        stated, given = self.outer.get(field), self.raw.get(field)
        self.read.add(field)
        if self.rules.lifts and not stated and self.opt(field):
            return self.values[field]
        if stated is not None:
            return self.note(field, stated, EXPLICIT, field)
        if given is None and field in self.rules.outer:
            return self.note(field, self.rules.outer[field], Origin.CLASS_DEFAULT.value, "wrapper's class when the key is absent")
        return self.opt(field)

    def need(self, field: str) -> Any:
        """The value; raises `Unknown` naming the keys tried."""
        value = self.opt(field)
        if value is None:
            field = self.name(field)
            raise Unknown(field, [self.prefix + k for k in self.rules.keys.get(field) or (field,)])
        return value

    def count(self, field: str) -> int:
        """A positive whole number."""
        value = self.need(field)
        return value if type(value) is int and 0 < value <= MAX_COUNT else _count(self.name(field), value, least=1)

    def size(self, field: str) -> int:
        """A whole number, 0 allowed."""
        return _count(self.name(field), self.need(field), least=0)

    def opt_count(self, field: str) -> int | None:
        """A positive whole number, or None where it is not set."""
        value = self.opt(field)
        return None if value is None else _count(self.name(field), value, least=1)

    def flag(self, field: str) -> bool:
        """True or false."""
        value = self.need(field)
        if type(value) is not bool:
            raise bad_value(self.name(field), value, "true or false")
        return value

    def word(self, field: str) -> str:
        """A short text."""
        value = self.need(field)
        if not isinstance(value, str) or not value or len(value) > 100:
            raise bad_value(self.name(field), value, "a short text")
        return value

    text = word

    def number(self, field: str) -> float | None:
        """A finite number, or None where it is not set."""
        value = self.opt(field)
        return None if value is None else finite(self.name(field), value)

    def items(self, field: str) -> list[Any]:
        """A list."""
        value = self.need(field)
        if not isinstance(value, list):
            raise bad_value(self.name(field), value, "a list")
        return value  # pyright: ignore[reportUnknownVariableType]

    def unread(self) -> tuple[str, ...]:
        """Keys nobody asked for, less those reviewed as irrelevant: how a new feature is noticed on the day it appears."""
        rest = self.raw.keys() - self.read - self.rules.irrelevant
        own = sorted(self.prefix + k for k in rest if self.raw[k] is not None and not k.endswith(TOKENS))
        return (*own, *self._unread_beside())

    def _unread_beside(self) -> list[str]:
        """The wrapper's keys that nobody asked for, but for those that repeat what the language model's config says."""
        if self.outer is self.raw:
            return []
        rest = [k for k in self.outer.keys() - self.rules.beside if not k.endswith(TOKENS) and self.outer[k] is not None]
        return sorted(k for k in rest if self.outer[k] not in (self.raw.get(k), self.values.get(k)))


class View(Config):
    """A config as one part sees it: some fields stand under other names, some facts hold for this part alone."""

    __slots__ = ("part_word", "root", "spec")

    def __init__(self, config: Config, spec: Spec, word: str) -> None:  # pyright: ignore[reportMissingSuperCall]
        self.root = config
        self.spec = spec
        self.part_word = word
        self.raw, self.rules, self.outer, self.prefix = config.raw, config.rules, config.outer, config.prefix
        self.read, self.values, self.noted = config.read, config.values, config.noted

    @property
    def config(self) -> Config:
        """The config itself, for fields that are no part's own."""
        return self.root

    def name(self, field: str) -> str:
        """The field that answers for `field` here."""
        return self.spec.fields.get(field, field)

    def opt(self, field: str) -> Any:
        """The fact of this part, else the config's answer, else None."""
        spec = self.spec
        if field in spec.facts:
            value = spec.facts[field]
            label = f"{field}[{self.part_word}]"
            if label not in self.noted:
                self.note(label, value, Origin.FAMILY_RULE.value, f"family {self.rules.model_type}")
            return value
        return self.root.opt(spec.fields.get(field, field))

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


def mapping(field: str, value: Any) -> Mapping[str, Any]:
    """An object of keys and values; raises `Refused`."""
    if not isinstance(value, dict):
        raise bad_value(field, value, "an object")
    return value  # pyright: ignore[reportUnknownVariableType]
