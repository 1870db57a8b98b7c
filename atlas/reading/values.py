"""What a value of a config has to be: every check gives the value back, or refuses it by the field's name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any

from atlas.refusal import bad_value

MAX_COUNT = 2**31
"""More than any width, vocabulary or context a real model states."""


def count(field: str, value: Any, least: int) -> int:
    """A whole number, at least `least`; raises `Refused`."""
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
    return count(field, value, least=1)


def mapping(field: str, value: Any) -> Mapping[str, Any]:
    """An object of keys and values; raises `Refused`."""
    if not isinstance(value, dict):
        raise bad_value(field, value, "an object")
    return value  # pyright: ignore[reportUnknownVariableType]


def entries(field: str, value: Any) -> list[Any]:
    """A value that has to be a list; raises `Refused`."""
    if not isinstance(value, list):
        raise bad_value(field, value, "a list")
    return value  # pyright: ignore[reportUnknownVariableType]


def like_default(field: str, value: Any, default: object) -> Any:
    """A value of the kind that its default shows; raises `Refused`.

    A switch is true or false, or 0 or 1; a number is no switch, a whole one has no fraction, and one whose default is
    0 or more is not negative; a list is no single value. What else a key may hold is left to whoever reads it.
    """
    wanted = _unlike(value, default)
    if wanted is not None:
        raise bad_value(field, value, wanted)
    return value


def _unlike(value: object, default: object) -> str | None:
    """What a value would have to be, where it is of another kind than its default."""
    if isinstance(default, bool):
        plain = isinstance(value, bool | dict) or value is None or (type(value) is int and value in (0, 1))
        return None if plain else "true or false"
    if isinstance(default, list):
        return None if isinstance(value, list) or value is None else "a list"
    if not isinstance(default, int | float) or not isinstance(value, int | float):
        return None
    if isinstance(value, bool):
        return "a number"
    if isinstance(default, int) and isinstance(value, float) and not value.is_integer():
        return "a whole number"
    return "0 or more" if value < 0 <= default else None


def among(field: str, values: Sequence[Any], known: Collection[Any]) -> None:
    """Every value is one of the known ones; raises `Refused` naming the first that is not."""
    try:
        if set(values) <= set(known):
            return
    except TypeError:  # a list or an object among them: found below
        pass
    odd = next(i for i, v in enumerate(values) if isinstance(v, list | dict) or v not in known)
    raise bad_value(field, values[odd], "one of " + ", ".join(sorted(map(str, known))))
