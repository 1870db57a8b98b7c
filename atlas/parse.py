"""Parsing a config: strict JSON within limits."""

from __future__ import annotations

import json
from typing import Any

import orjson

from atlas.refusal import Refused, shown
from schemas.vocabulary import RefusalKind

MAX_BYTES = 5 * 1024 * 1024
MAX_DEPTH = 1024
"""Objects and lists in one another; orjson's own limit. The standard library's depends on the version of Python."""
Raw = dict[str, Any]


def load(data: bytes) -> Raw:
    """Parse a config. Raises `Refused` (not_json, not_an_object, too_large, too_deep, bad_value for a key given twice).

    orjson first; what it rejects is looked at again by the standard library, which alone reads a bare Infinity or
    NaN: these
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
    if not _keys_agree(data, parsed):  # pyright: ignore[reportUnknownArgumentType]
        _refuse_twice(data)
    return parsed  # pyright: ignore[reportUnknownVariableType]


def _article(parsed: object) -> str:
    names = {"list": "a list", "str": "a text", "bool": "a true or false", "NoneType": "null"}
    return names.get(type(parsed).__name__, "a number")


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
    if _is_deeper(parsed, MAX_DEPTH):
        raise Refused(RefusalKind.TOO_DEEP, "the config is nested too deeply to be read")
    return parsed


def _is_deeper(parsed: object, depth: int) -> bool:
    level: list[Any] = [parsed]
    for _ in range(depth + 1):
        inner: list[Any] = []
        for each in level:
            inner += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        if not inner:
            return False
        level = inner
    return True


def _keys_agree(data: bytes, parsed: Raw) -> bool:
    """Whether the text has as many keys as the object, counted quickly: a key given twice leaves the object with fewer.

    Lists are only looked into where the text has more objects than the values alone account for.
    """
    todo: list[Any] = [parsed]
    keys = 0
    for item in todo:
        keys += len(item)
        for value in item.values():
            if type(value) is dict:
                todo.append(value)  # noqa: PERF401 - the list grows while it is walked
    if keys == data.count(b":"):
        return True
    return len(todo) == data.count(b"{") and keys == data.count(b'":') + data.count(b'" :')


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
