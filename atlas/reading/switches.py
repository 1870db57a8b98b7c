"""Switches of a family that were read as they stand in some values only: any other value is refused, by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from atlas.families.rules import Family
from atlas.parse import Raw
from atlas.reading.config import Config
from atlas.reading.types import ANY, vocabulary
from atlas.refusal import bad_value, not_derivable, shown

TRUTH = frozenset((bool, type(None)))


def settled(c: Config) -> None:
    """Every switch the row lists stands as it was read: one of the listed values, absent or null where it may be.

    One under a name that no class of the library has is true or false too: 0 and "false" are neither.
    """
    for key in _renamed(c.rules):
        if type(c.raw.get(key)) not in TRUTH:
            raise bad_value(c.prefix + key, c.raw[key], "true or false")
    for key, values in c.rules.only.items():
        _stands(key, c.opt(key), values)
    for key in sorted(c.rules.must):
        said = (c.rules.keys.get(key) or (key,))[0]
        if c.opt(key) is None:
            raise not_derivable(f"{said} is not stated, and what the class builds without it is not described")
    _blocks(c)


@lru_cache(maxsize=1024)
def _renamed(rules: Family) -> tuple[str, ...]:
    """Keys of switches of a family whose types the vocabulary does not hold."""
    types = vocabulary()
    fields = {f for f, d in rules.defaults.items() if type(d) is bool}
    fields |= {f for f in rules.keys if types.get(f, ANY) <= TRUTH}
    found = {k for f in fields for k in rules.keys.get(f) or (f,)}
    return tuple(sorted(k for k in found if k not in types and "." not in k))


def of_wrapper(data: Raw, rules: Family) -> None:
    """The same of a wrapper's own switches, which stand beside its language model's config."""
    for key, values in rules.only.items():
        _stands(key, data.get(key), values)


def _stands(key: str, stated: Any, values: tuple[Any, ...]) -> None:
    if stated is not None and not any(_same(stated, v) for v in values):
        known = ", ".join(shown(v) for v in values) or "null"
        raise not_derivable(f"{key} is {shown(stated)}, and only {known} is described: what it changes was not read")


def _blocks(c: Config) -> None:
    """A family that generates block by block keeps finished blocks; the row names the key that says so."""
    key = c.rules.facts.get("blockwise")
    if key is None:
        return
    if c.top(key) is None:
        raise not_derivable(f"no {key} is stated, and nothing else says that finished blocks are kept")
    why = f"{key} is {c.count(key)}: attention looks both ways inside a block, and finished blocks are kept"
    c.derived("attention_mask", "mixed", why)


def _same(stated: Any, value: Any) -> bool:
    """Equal, and of one type: 0 is not false."""
    return type(stated) is type(value) and stated == value
