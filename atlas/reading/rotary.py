"""Positions and context as a config states them: RoPE base, scaling, native and stated context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from atlas.reading.answers import EXPLICIT
from atlas.reading.config import Config
from atlas.reading.values import mapping, unsigned, whole
from schemas.vocabulary import Origin


class Rotary(NamedTuple):
    """`theta` the base; `scaling` its kind and `factor`; contexts in tokens, as stated and before scaling."""

    theta: float | None
    scaling: str | None
    factor: float | None
    max_context: int | None
    native_context: int | None


def read_rotary(c: Config) -> Rotary:
    """Read RoPE from `rope_parameters` or from `rope_theta` and `rope_scaling`.

    The stated context is never multiplied.
    """
    stated = c.opt_count("max_position_embeddings")
    table, where = _table(c)
    theta = _theta(c, table, where)
    kind = table.get("rope_type", table.get("type"))
    if not isinstance(kind, str) or kind == "default":
        return Rotary(theta, None, None, stated, stated)
    factor = table.get("factor")
    factor = None if factor is None else unsigned(f"{where}.factor", factor)
    return Rotary(theta, kind[:40], factor, stated, _native(c, table, where, kind, stated))


ORIGINAL = "original_max_position_embeddings"
FROM_STATED = ("yarn", "dynamic")
"""Kinds whose reference implementation takes the stated context for the one before scaling, where none is given."""


def _native(c: Config, table: Mapping[str, Any], where: str, kind: str, stated: int | None) -> int | None:
    """The context before scaling: stated, else by the rule of the scaling's kind, else not known."""
    given, origin, source = c.opt(ORIGINAL), _origin(c, where), f"{where}.{ORIGINAL}"
    if ORIGINAL in table:
        given = table[ORIGINAL]
    elif given is not None:
        _, _, origin, source = msgspec.structs.astuple(c.noted[ORIGINAL])
    if given is not None:
        return c.note("native_context", whole(source, given), origin, source)
    if kind not in FROM_STATED:
        return None
    return c.derived("native_context", stated, f"{kind} scales from the stated context")


def _table(c: Config) -> tuple[Mapping[str, Any], str]:
    """The object that holds RoPE's settings; where it is one per layer type, that of full attention.

    What the file states goes before what the class takes when it states neither.
    """
    c.read.update(("rope_parameters", "rope_scaling", "rope_theta"))
    stated = [key for key in ("rope_parameters", "rope_scaling") if c.raw.get(key) is not None]
    for key in stated or ("rope_parameters", "rope_scaling"):
        found = c.opt(key)
        if found not in (None, {}):
            table = mapping(key, found)
            if isinstance(table.get("full_attention"), dict):
                return table["full_attention"], f"{c.prefix}{key}.full_attention"
            return table, c.prefix + key
    return {}, c.prefix + "rope_scaling"


def _theta(c: Config, table: Mapping[str, Any], where: str) -> float | None:
    stated = table.get("rope_theta")
    if stated is not None:
        return c.note("rope_theta", unsigned(f"{where}.rope_theta", stated), _origin(c, where), f"{where}.rope_theta")
    theta = c.number("rope_theta")
    return None if theta is None else unsigned("rope_theta", theta)


def _origin(c: Config, where: str) -> str:
    """Whether RoPE's table is the file's own or the one that the class takes where none is stated."""
    key = where.removeprefix(c.prefix).partition(".")[0]
    return EXPLICIT if c.raw.get(key) is not None else Origin.CLASS_DEFAULT.value
