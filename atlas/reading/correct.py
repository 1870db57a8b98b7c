"""Known wrong configs, set right: a row's `[[correct]]` says what a file states, what holds instead, and why.

`expect` is the guard: values that the file must state, key by key (dots lead inwards). Where one differs the correction
does nothing, so that a file repaired upstream is read as it is. `set` gives the values that hold instead; each is in
the evidence with origin `correction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.families.rules import Correction
from atlas.numbers.fingerprint import Evidence
from atlas.parse import Raw
from schemas.vocabulary import Origin

STATED = (Origin.EXPLICIT.value, Origin.ALIAS.value)


def corrected(raw: Raw, rows: tuple[Correction, ...]) -> tuple[Raw, dict[str, str]]:
    """The config with the corrections that apply, and what they say, by key; the config itself where none applies."""
    said: dict[str, str] = {}
    for each in rows:
        if all(stated(raw, key) == value for key, value in each.expect.items()):
            for key, value in each.set.items():
                said[key] = f"{key}, where the file says {stated(raw, key)!r}: {each.reason}"
                raw = overwritten(raw, key.split("."), value)
    return raw, said


def stated(raw: Raw, key: str) -> Any:
    """What stands under a dotted key, or None."""
    found: Any = raw
    for step in key.split("."):
        found = found.get(step) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
    return found  # pyright: ignore[reportUnknownVariableType]


def overwritten(raw: Raw, steps: list[str], value: Any) -> Raw:
    """A copy with another value under a key; the file's own object stays as it is."""
    head, *rest = steps
    inner: Any = raw.get(head)
    return {**raw, head: overwritten(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}  # pyright: ignore[reportUnknownArgumentType]


def noted(evidence: tuple[Evidence, ...], said: Mapping[str, str], prefix: str) -> tuple[Evidence, ...]:
    """The evidence, with the corrected values under their own origin."""
    by_source = {prefix + key: text for key, text in said.items()}
    return tuple(_noted(e, by_source) for e in evidence)


def _noted(e: Evidence, by_source: Mapping[str, str]) -> Evidence:
    """An entry of a corrected key, or of the mapping that such a key stands in."""
    told = (text for key, text in by_source.items() if key == e.source or key.startswith(f"{e.source}."))
    text = next(told, None) if e.origin in STATED else None
    return e if text is None else Evidence(e.field, e.value, Origin.CORRECTION.value, text)
