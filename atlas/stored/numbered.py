"""Whether settings can tell one layer from another: where they cannot, equal layers are stored alike, and fold."""

from __future__ import annotations

import re
from typing import Any

from atlas.stored.settings import Settings

_NAME = re.compile(r"(?:[A-Za-z][0-9]*|[_\-.*/])*")
"""A name, its beginning or a shell pattern whose digits, if any, belong to a word (`w1`): none is a layer's number."""
_EXPRESSION = re.compile(r"(?:re:|[+-]:)(?:\.\*|\\\.|[A-Za-z][0-9]*|[_\-^$()|]|(?<=[A-Za-z0-9_])\.(?=[A-Za-z_]))*")
"""An expression in which a number can stand only where `.*` takes it, however long it is."""
_VERSIONS = ("version", "producer")


def tells_layers_apart(s: Settings) -> bool:
    """Whether any text of the settings, versions aside, could be true of one layer's module and not of another's."""
    return any(not _NAME.fullmatch(t) and not _EXPRESSION.fullmatch(t) for t in _texts([s.raw, s.beside]))


def _texts(value: Any) -> list[str]:
    """Every key and text in the settings."""
    match value:
        case str():
            return [value]
        case list():
            return [t for each in value for t in _texts(each)]  # pyright: ignore[reportUnknownVariableType]
        case _ if hasattr(value, "items"):
            inner = [(str(k), v) for k, v in value.items() if not str(k).endswith(_VERSIONS)]
            return [t for k, v in inner for t in (k, *_texts(v))]
        case _:
            return []
