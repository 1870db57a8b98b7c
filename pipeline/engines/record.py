"""What an engine's module is made of: rules with their source and proof, inputs, and a prediction with what it took."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from atlas.numbers.caches import Cache
from pipeline.engines.types import Kept, kept_in
from pipeline.errors import Usage

GIB, MIB = 2**30, 2**20
MOST = 2**50
"""No input counts or measures more than this."""


class Rule(NamedTuple):
    """One fact of an engine: what it does, where that is said and at which version it was read.

    `proof` is "logs" where start-up logs agree with it, "planner" where the engine's own planner, run beside these
    rules on random stacks of layers, gave the same numbers, else "unproven".
    """

    name: str
    says: str
    source: str
    read_at: str
    proof: str


class Input(NamedTuple):
    """What a prediction needs to know. A default is only given where the engine itself has one, with its origin."""

    name: str
    meaning: str
    default: object = None
    origin: str = ""


class Geometry(msgspec.Struct, frozen=True, kw_only=True):
    """What of a model an engine's cache depends on: its caches layer by layer, and the types its config states."""

    name: str
    model_type: str | None
    caches: tuple[Cache, ...]
    dtype: str | None
    state_dtype: str | None
    max_context: int | None
    n_layers: int = 0
    quant_method: str | None = None
    verdict: str = "known"
    query_heads: tuple[int, ...] = ()  # of the model's own layers, each number once

    def own(self) -> list[Cache]:
        """Caches of the model itself, without those of draft layers and of sources."""
        return [c for c in self.caches if c.stack == "decoder" and c.kind != "cross"]


class Step(NamedTuple):
    """One difference between the logical size and the engine's, with the rule that makes it."""

    rule: str
    what: str


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """Figures under the names the logs' table uses; what was taken as given, what has to be asked, and the steps."""

    predicted: dict[str, int | float] = {}
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()


class Said(msgspec.Struct):
    """What is taken as given, what has to be asked, and the steps, as they come up: gathered and then frozen."""

    assumed: list[str] = []
    missing: list[str] = []
    steps: list[Step] = []


class Unknown(Exception):
    """The engine's size cannot be said; the message is why."""


Inputs = Mapping[str, Any]
Predict = Callable[[Geometry, str, Inputs], Prediction]


class Engine(NamedTuple):
    """One engine: its rules, its inputs, and its arithmetic."""

    name: str
    rules: tuple[Rule, ...]
    inputs: tuple[Input, ...]
    predict: Predict
    newest: str


def whole(inputs: Inputs, name: str, default: int | None = None) -> int | None:
    """An input that counts something; raises `Unknown` where it is no whole number above zero."""
    stated = inputs.get(name, default)
    if stated is None:
        return None
    if isinstance(stated, bool) or not isinstance(stated, (int, float)) or not 1 <= stated <= MOST or stated % 1:
        raise Unknown(f"{name} is {stated!r}, but must be a whole number of at least 1")
    return int(stated)


def count(inputs: Inputs, name: str) -> int:
    """An input that counts something and is none where it is not given; raises `Unknown` where it is no count."""
    stated = inputs.get(name)
    if stated is None or (not isinstance(stated, bool) and stated == 0):
        return 0
    found = whole(inputs, name)
    return 0 if found is None else found


def switch(inputs: Inputs, name: str, *, default: bool) -> bool:
    """An input that is on or off, as 1 or 0, true or false; raises `Unknown` for anything else."""
    stated = inputs.get(name)
    if stated is None:
        return default
    if isinstance(stated, (bool, int, float)) and stated in (0, 1):
        return bool(stated)
    raise Unknown(f"{name} is {stated!r}, but must be 1 or 0")


def kept(inputs: Inputs, name: str, default: str, takes: frozenset[str]) -> Kept:
    """The cache's type that an input names, of those the engine has; raises `Unknown`."""
    stated = inputs.get(name)
    word = default if stated is None or str(stated) in ("auto", "default") else str(stated)
    try:
        found = kept_in(word, name)
    except Usage as wrong:
        raise Unknown(str(wrong).replace("\n", " ")) from wrong
    if found.name not in takes:
        raise Unknown(f"{name} is {word!r}: the rules have {', '.join(sorted(takes))} for this engine")
    return found


def number(inputs: Inputs, name: str) -> float | None:
    """An input that is a size; raises `Unknown` where it is none."""
    stated = inputs.get(name)
    if stated is not None and (
        isinstance(stated, bool) or not isinstance(stated, (int, float)) or not 0 < stated <= MOST
    ):
        raise Unknown(f"{name} is {stated!r}, but must be a number above zero")
    return None if stated is None else float(stated)


_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:[.-]?(?:x|rc|a|b|post|dev|\+)\S*|-\d+)?", re.IGNORECASE)


def version_of(text: str) -> tuple[int, ...]:
    """A version as numbers: "0.20.1rc1" is (0, 20, 1); raises `Unknown` where it is none, or more than one."""
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise Unknown(f"version {text!r} is no version number")
    return tuple(int(piece) for piece in found[1].split("."))


def odd(caches: Iterable[Cache], known: frozenset[str]) -> str | None:
    """Why a model's caches are of a kind that an engine's rules do not cover; None where all are covered."""
    found = tuple(caches)
    if not found:
        return "the model keeps no cache between steps"
    for c in found:
        if c.kind == "cross":
            return "caches of a source (cross-attention) are not among the rules"
        if c.kind in ("conv", "state") and c.mixer not in known:
            return f"the engine's state of {c.mixer} layers is not among the rules"
        if c.stride not in (0, 1):
            return f"a cache with one entry per {c.stride} tokens ({c.mixer}) is not among the rules"
    return None
