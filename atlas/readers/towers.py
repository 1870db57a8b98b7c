"""Towers of a wrapper, read from its config by the rows of `atlas/families/towers`: exact, or none with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from atlas.families.towers import Held, Module, Stack, TowerRow, available, reviewed, tower_row
from atlas.numbers.structure import Run
from atlas.numbers.towers import Tower
from atlas.parse import Raw
from atlas.parts.towers import Weights, run
from atlas.reading.answered import Kept
from atlas.reading.arithmetic import Lookup, evaluate, side, size
from atlas.reading.config import TOKENS, Config
from atlas.reading.values import like_default
from atlas.refusal import Refused, contradiction, not_derivable, shown

MOST_LAYERS = 4096
_ABSENT = object()
_EMPTY: tuple[Any, ...] = (None, False, "", [], {})


class Towers(NamedTuple):
    """The towers of a checkpoint; where they are not understood there are none, and `reason` says why."""

    towers: tuple[Tower, ...] = ()
    reason: str | None = None

    @property
    def elements(self) -> int | None:
        """Weights of all of them; None where they are not understood."""
        return None if self.reason else sum(t.elements for t in self.towers)

    @property
    def buffers(self) -> int | None:
        """Elements of their persistent buffers; None where they are not understood."""
        return None if self.reason else sum(t.buffers for t in self.towers)

    @property
    def words(self) -> str:
        """Each tower with the row it is read by and its weights."""
        return "; ".join(f"{t.name} ({t.rules}): {t.elements:,}" for t in self.towers)


def read_towers(c: Config, data: Raw) -> Towers:
    """The towers of a wrapper's config. Never raises: what is not understood is a reason."""
    stated = data.get("model_type")
    if not isinstance(stated, str) or stated not in available():
        return Towers((), f"no rules for the towers of {shown(stated)}")
    try:
        return Towers(tuple(_towers(c, data, tower_row(stated))))
    except Refused as refused:
        return Towers((), f"towers: {refused.reason}")


class Scope:
    """The scalars of one row, answered from one config object: keys, class defaults, derived sizes."""

    __slots__ = ("beside", "facts", "known", "raw", "read", "row", "where")

    def __init__(self, row: TowerRow, raw: Mapping[str, Any], where: str, beside: dict[str, Any]) -> None:
        self.row = row
        self.raw = raw
        self.where = where
        self.beside = beside
        self.facts: Mapping[str, Any] = {}
        self.known: dict[str, Any] = {}
        self.read: set[str] = {"model_type"}

    def __call__(self, name: str) -> Any:
        """The value of a name; raises `Refused` where nothing answers."""
        if name not in self.known:
            self.known[name] = self._answer(name)
        return self.known[name]

    def _answer(self, name: str) -> Any:
        if name in self.facts:
            return self.facts[name]
        if name in self.row.sizes:
            return evaluate(self.row.sizes[name], self)
        first, _, rest = name.partition(".")
        if rest and first in self.beside:
            return self.beside[first](rest)
        stated = self._stated(name)
        if stated is not _ABSENT:
            return like_default(self.where + name, stated, self.row.defaults.get(name))
        if name in self.row.defaults:
            return None if self.row.defaults[name] == "null" else self.row.defaults[name]
        raise not_derivable(f"{self.where}{name} is needed and not stated")

    def _stated(self, name: str) -> Any:
        for key in self.row.keys.get(name, (name,)):
            self.read.add(key.partition(".")[0])
            found = _at(self.raw, key)
            if found is not _ABSENT:
                return found
        return _ABSENT

    def check(self) -> None:
        """Raise `Refused` where a demand of the row is not met."""
        demanded(self.row, self, self.where or "the wrapper")

    def check_read(self) -> None:
        """Raise `Refused` where a key of the config was read by nobody and reviewed by nobody."""
        known = self.read | reviewed() | self.row.irrelevant
        rest = sorted(k for k, v in self.raw.items() if k not in known and not k.endswith(TOKENS) and v not in _EMPTY)
        if rest:
            raise not_derivable(f"no rule reads {', '.join(self.where + k for k in rest[:5])}")


def _towers(c: Config, data: Raw, row: TowerRow) -> Iterator[Tower]:
    beside: dict[str, Any] = {"text": c.opt}
    wrapper = beside["wrapper"] = Scope(row, data, "", beside)
    wrapper.check()
    scopes = [(held, _scope(held, wrapper, data, beside)) for held in row.towers]
    for held, scope in scopes:
        if scope is None or (held.needs and held.needs not in beside):
            continue
        runs = _runs_by(held, scope.row)(scope)
        yield Tower(held.name, scope.row.model_type, held.at, runs)
    for _, scope in scopes:
        if scope is not None and scope is not wrapper:
            scope.check_read()


def _scope(held: Held, wrapper: Scope, data: Raw, beside: dict[str, Any]) -> Scope | None:
    """The scope that a tower's sizes are read in; None where the wrapper has no such tower."""
    if not evaluate(held.when, wrapper):
        return None
    if not held.config:
        return wrapper
    raw = _at(data, held.config)
    if held.optional and (raw is None or raw is _ABSENT):
        return None
    if not isinstance(raw, dict):
        raise not_derivable(f"{held.config} is not in the file")
    stated = cast("Raw", raw)
    found = Scope(tower_row(_chosen(held, stated, wrapper)), stated, f"{held.config}.", beside)
    found.facts = held.facts
    beside[held.name] = found
    found.check()
    return found


def _at(raw: Mapping[str, Any], key: str) -> Any:
    """What stands under a dotted key."""
    found: Any = raw
    for step in key.split("."):
        found = cast("Raw", found).get(step, _ABSENT) if isinstance(found, dict) else _ABSENT
    return found


def _chosen(held: Held, raw: Mapping[str, Any], wrapper: Scope) -> str:
    """The row that a tower is read by: its model_type may choose among those the wrapper lists, or repeat its own."""
    stated = raw.get("model_type")
    if isinstance(stated, str) and stated in held.choices:
        return stated
    if not stated or stated in (held.row, wrapper.row.model_type, *tower_row(held.row).known_as):
        return held.row
    raise not_derivable(f"{wrapper.row.model_type} over a tower {shown(stated)}: no rules for it")


@cache
def _runs_by(held: Held, row: TowerRow) -> Kept[tuple[Run, ...]]:
    """The layers of a tower by the answers to what its row asks for."""
    stacks = (*(row.stacks if held.config else ()), *held.stacks)
    return Kept(lambda scope: tuple(run for stack in stacks for run in _stacked(held.name, stack, scope)))


def _stacked(name: str, stack: Stack, scope: Lookup) -> Iterator[Run]:
    return (run(name, times, weights) for times, weights in laid(stack, scope))


def laid(stack: Stack, scope: Lookup) -> Iterator[tuple[int, tuple[Weights, ...]]]:
    """The modules of each group of a stack, and how often they are there; raises `Refused`."""
    for s, t in _counted(stack, scope):
        lookup = _counting(scope, s, t)
        times = size(stack.times, lookup)
        if times > MOST_LAYERS:
            raise contradiction(f"{stack.times} is {times:,}: no tower has as many layers")
        if times:
            index = size(stack.index, lookup)
            at = _numbered(stack.at, index, t)
            yield times, tuple(_weights(m, at, (index, t), lookup) for m in stack.modules)


def _counted(stack: Stack, scope: Lookup) -> Iterator[tuple[int, int]]:
    """Every s of the stack, and every t within it."""
    for s in range(_bounded(stack.over, scope)):
        yield from ((s, t) for t in range(_bounded(stack.within, _counting(scope, s, 0))))


def _counting(scope: Lookup, s: int, t: int) -> Lookup:
    counts = {"s": s, "t": t}
    return lambda word: counts[word] if word in counts else scope(word)


def _numbered(text: str, index: int, t: int) -> str:
    return text.replace("{s}", str(index)).replace("{t}", str(t))


def demanded(row: TowerRow, lookup: Lookup, where: str) -> None:
    """Raise `Refused` where a demand of the row is not met."""
    for demand, words in row.demands.items():
        if not evaluate(demand, lookup):
            raise not_derivable(f"{where}: {words}")


def _bounded(text: str, lookup: Lookup) -> int:
    found = size(text, lookup)
    if found > MOST_LAYERS:
        raise contradiction(f"{text} is {found:,}: no tower has as many stages")
    return found


def _weights(m: Module, at: str, counts: tuple[int, int], lookup: Lookup) -> Weights:
    shape = tuple(side(axis, lookup) for axis in m.shape)
    name, copies = at + _numbered(m.name, *counts), size(m.copies, lookup)
    if copies and 0 in shape:
        raise contradiction(f"{name}: {m.shape[shape.index(0)]} is 0, and no tensor has such a side")
    return Weights(name, m.kind, shape, copies, size(m.bias, lookup))
