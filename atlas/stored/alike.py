"""Layers and experts that settings speak of in the same words: one of them stands for all.

A name in settings that gives a layer's number says something of that layer alone, so layers differ only where they
are named in other words. A pattern that has a number of its own may take any of them: then each stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from atlas.stored.settings import Settings
from atlas.stored.units import Unit

_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")
_NUMBER = re.compile(r"(?<![A-Za-z_0-9])\d+")
_OF_PATTERNS = frozenset("\\^$()[]{}|+")
_EXPERTS = "experts."
_ANYWHERE = frozenset(("awq", "gptq", "auto-round", "bitsandbytes", "torchao", "hqq"))
"""Methods that look for a text anywhere in a name, where `layers.1` stands in `layers.10` too."""
Kinds = tuple[tuple[int, int], ...]
"""Numbers that stand for others, each with how many it stands for, itself among them."""


class Mentions(NamedTuple):
    """What settings say of single layers, with the layer's number left open; `apart` where a pattern has numbers."""

    of_layer: Mapping[int, frozenset[str]]
    layers_apart: bool = False
    experts_apart: bool = False

    def layers(self, found: tuple[int, ...]) -> Kinds:
        """The layers that stand for these."""
        if self.layers_apart:
            return tuple((i, 1) for i in found)
        return _counted((i, self.of_layer.get(i, _NOTHING)) for i in found)

    def experts(self, layer: int | None, copies: int) -> Kinds:
        """The experts that stand for all of one layer."""
        if self.experts_apart:
            return tuple((e, 1) for e in range(copies))
        named: dict[int, set[str]] = {}
        for text in () if layer is None else self.of_layer.get(layer, _NOTHING):
            match = _INDEX.search(text)
            if match is not None:
                named.setdefault(int(match[0]), set()).add(text[: match.start()] + "#" + text[match.end() :])
        if not named:
            return ((0, copies),)
        return _counted((e, frozenset(named.get(e, ()))) for e in range(copies))


_NOTHING: frozenset[str] = frozenset()


def _counted(each: Iterable[tuple[int, frozenset[str]]]) -> Kinds:
    first: dict[frozenset[str], int] = {}
    counts: dict[int, int] = {}
    for number, said in each:
        at = first.setdefault(said, number)
        counts[at] = counts.get(at, 0) + 1
    return tuple(counts.items())


def mentions(s: Settings) -> Mentions:
    """What the names and patterns of settings say of single layers and experts."""
    of_layer: dict[int, set[str]] = {}
    layers_apart = experts_apart = False
    for text, value, loose in _named(s):
        match = _INDEX.search(text)
        if _is_open(text, match, loose=loose or s.method in _ANYWHERE):
            layers_apart, experts_apart = True, experts_apart or _EXPERTS[:-1] in text
        elif match is not None:
            said = text[: match.start()] + "#" + text[match.end() :]
            of_layer.setdefault(int(match[0]), set()).add(f"{said} {value!r}")  # in other lists it says something else
    return Mentions({i: frozenset(said) for i, said in of_layer.items()}, layers_apart, experts_apart)


def _is_open(text: str, match: re.Match[str] | None, *, loose: bool) -> bool:
    """Whether a text may take layers other than the one it numbers."""
    if not _NUMBER.search(text):
        return False
    if text.startswith("re:") or _OF_PATTERNS & set(text):
        return True
    if any(not _INDEX.match(text, m.start()) for m in _NUMBER.finditer(text)):
        return True
    return match is not None and (text[: match.start()].endswith(_EXPERTS) or (loose and match.end() == len(text)))


def _named(s: Settings) -> Iterator[tuple[str, Any, bool]]:
    """Every text of a list with the list's place, every key with what it says; and whether it is a beginning alone."""
    for raw in (s.raw, s.beside):
        for key, value in raw.items():
            yield key, value if _NUMBER.search(key) else None, False
            yield from ((*each, key == "dynamic") for each in _texts(value, key))


def _texts(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield str(key), each  # pyright: ignore[reportUnknownArgumentType]
            yield from _texts(each, f"{at} {key}")
    elif isinstance(value, list):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from ((each, at),) if isinstance(each, str) else _texts(each, at)


class Kind(NamedTuple):
    """A unit of one layer, with the numbers of its layer and expert in its name, and how many layers have the same.

    `is_all` where its copies are all of the layer's.
    """

    unit: Unit
    times: int
    is_all: bool = True


def kinds(u: Unit, m: Mentions) -> Iterator[Kind]:
    """A unit for every kind of layer and of expert there is."""
    for layer, times in m.layers(u.layers) if u.layers else ((None, 1),):
        at = u if layer is None else u._replace(name=u.name.replace("{i}", str(layer)))
        if "{e}" not in u.name:
            yield Kind(at, times)
            continue
        experts = m.experts(layer, u.copies)
        for e, copies in experts:
            yield Kind(at._replace(name=at.name.replace("{e}", str(e)), copies=copies), times, len(experts) == 1)
