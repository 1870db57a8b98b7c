"""From canonical tensor names to a checkpoint's own, by the `[names]` of a family's row.

The structure names every weight as Llama does and keeps query, key, value, gate and up apart. A checkpoint may call
them otherwise, fuse several into one tensor, split one into several, keep experts in one stack, or store a matrix as
[in, out]. A row says how, in the form that `families/_names.toml` explains; where it gives several spellings, the
listing decides which one is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from atlas.families import COMMON_NAMES, Family
from atlas.families.braces import spread
from atlas.numbers.structure import Model

STACKS = ("decoder", "encoder")
TRANSPOSED = "^T"
_NUMBERS = re.compile(r"\d+|\{[ie]\}")

WRAPS = (
    ("{root}", ""),
    ("", ""),
    ("language_model.{root}", "language_model."),
    ("{root}language_model.", ""),
    ("language.{root}", "language."),
    ("llm.{root}", "llm."),
    ("thinker.{root}", "thinker."),
    ("text_model.{root}", "text_model."),
    ("{root}text_model.", ""),
    ("model.llm.{root}", "model.llm."),
    ("language_model.", "language_model."),
    ("decoder.{root}", "decoder."),
)
"""Where a language model stands in a checkpoint: alone, without its root, or inside a wrapper.

For its body and for its head.
"""


class Spelling(NamedTuple):
    """What a checkpoint calls a tensor: several names where it splits it; `transposed` where it stores [in, out]."""

    names: tuple[str, ...]
    transposed: bool = False

    def after(self, prefix: str, tail: str = "") -> Spelling:
        """The same between a prefix and a tail."""
        return Spelling(tuple(prefix + n + tail for n in self.names), self.transposed)

    def at(self, index: int) -> Spelling:
        """The same of one layer."""
        return Spelling(tuple(n.replace("{i}", str(index)) for n in self.names), self.transposed)


@lru_cache(maxsize=65536)
def pattern(name: str) -> str:
    """A name with its numbers (and the places for them) left open."""
    return _NUMBERS.sub("#", name)


Table = Mapping[str, tuple[Spelling, ...]]


class Rules(NamedTuple):
    """The spellings by canonical name: a family's own, and the common ones."""

    own: Table
    common: Table
    apart: tuple[str, ...] = ()  # what stands beside the model whatever holds it: an encoder and the way from it

    def of(self, name: str) -> list[Spelling]:
        """What a tensor may be called: by the rules its name begins with, the longest first, last by its own name."""
        found = [
            s.after("", name[len(key) :])
            for table in (self.own, self.common)
            for key in _beginnings(name)
            for s in table.get(key, ())
        ]
        return [*found, Spelling((name,))]

    def usual(self, name: str) -> str:
        """What a base model calls a tensor by the first rule that has one name for it; else the name as it is."""
        found = next((s.names[0] for s in self.of(name) if len(s.names) == 1 and not s.transposed), name)
        root, dot, _ = self.stacks("decoder")[0].partition(".")
        return found.removeprefix(root + dot)

    def stacks(self, stack: str) -> list[str]:
        """The prefixes that the layers of a stack may have."""
        return [s.names[0] for table in (self.own, self.common) for s in table.get(stack, ())]


@lru_cache(maxsize=1024)
def rules(family: Family) -> Rules:
    """The spellings of a family; an encoder that its wrapper holds beside it has its layers where that says."""
    held = family.outer.get("source")
    if held is None:
        return Rules(_table(family.names), _table(COMMON_NAMES))
    names = {**family.names, "encoder": held["layers"]}
    return Rules(_table(names), _table(COMMON_NAMES), (held["key"] + ".", "enc_to_dec_proj."))


def _table(table: Mapping[str, str | list[str]]) -> Table:
    return dict(entry for key, value in table.items() for entry in _entries(key, value))


def _entries(key: str, value: str | list[str]) -> Iterator[tuple[str, tuple[Spelling, ...]]]:
    """The keys an entry stands for.

    Where a value has as many choices as the key they go together, else every key has the whole value.
    """
    keys, values = spread(key), [value] if isinstance(value, str) else value
    for n, each in enumerate(keys):
        yield each, tuple(_spelling(v, n, len(keys)) for v in values)


def _spelling(value: str, n: int, keys: int) -> Spelling:
    names = spread(value.removesuffix(TRANSPOSED))
    return Spelling((names[n],) if keys == len(names) else tuple(names), value.endswith(TRANSPOSED))


def _beginnings(name: str) -> Iterator[str]:
    """The name, and what stands before each of its dots, the longest first."""
    end = len(name)
    while end > 0:
        yield name[:end]
        end = name.rfind(".", 0, end)


class Place(NamedTuple):
    """Where the model stands in a checkpoint: the prefixes of its stacks' layers, and its wrapping."""

    stacks: Mapping[str, str]
    root: str
    base: str
    head: str
    apart: tuple[str, ...] = ()

    def layer(self, stack: str) -> str:
        """The prefix of a layer, with `{i}` for its index."""
        return self.wrapped(self.stacks[stack])

    def wrapped(self, name: str) -> str:
        """A name of a row as it stands in this checkpoint."""
        if self.apart and name.startswith(self.apart):
            return name
        return self.base + name[len(self.root) :] if name.startswith(self.root) else self.head + name


def places(made: Rules) -> Iterator[Place]:
    """Every place a model of these rules may stand at, the usual one first."""
    stacks = {s: made.stacks(s) for s in STACKS}
    for n, decoder in enumerate(stacks["decoder"]):
        encoder = stacks["encoder"][min(n, len(stacks["encoder"]) - 1)]
        root = decoder[: decoder.find(".") + 1]
        for base, head in WRAPS:
            yield Place({"decoder": decoder, "encoder": encoder}, root, base.format(root=root), head, made.apart)


def placed(family: Family, model: Model, present: frozenset[str]) -> Place:
    """The place where most of the model's tensors are found; `present` are the patterns of the checkpoint's names."""
    if not present:
        return next(places(rules(family)))
    names = [
        (run.stack, t.name)
        for run in model.runs
        if run.stack in STACKS
        for each in run.layers
        for p in each.parts
        for t in p.tensors
    ]
    ends = tuple(t.name for p in model.ends.parts for t in p.tensors)
    return _fitting(family, tuple(dict.fromkeys(names)), ends, present)


@lru_cache(maxsize=64)
def _fitting(
    family: Family, names: tuple[tuple[str, str], ...], end_names: tuple[str, ...], present: frozenset[str]
) -> Place:
    made = rules(family)
    wanted = [(stack, made.of(n)) for stack, n in names]
    ends = [made.of(n) for n in end_names]

    def hits(place: Place) -> int:
        layers = sum(any(is_present(s.after(place.layer(stack)), present) for s in of) for stack, of in wanted)
        return layers + sum(any(is_present(_ended(place, s), present) for s in of) for of in ends)

    return max(places(made), key=hits)


def is_present(spelling: Spelling, present: frozenset[str]) -> bool:
    """Whether all of a spelling's tensors are in the checkpoint, for any layer and expert."""
    return all(pattern(n) in present for n in spelling.names)


def _ended(place: Place, spelling: Spelling) -> Spelling:
    return Spelling(tuple(place.wrapped(n) for n in spelling.names), spelling.transposed)


class Namer(NamedTuple):
    """How one checkpoint names the tensors of one model."""

    made: Rules
    place: Place
    present: frozenset[str]

    def of_layer(self, stack: str, name: str) -> list[Spelling]:
        """What a layer's tensor may be called here, one name at least; `{i}` and `{e}` for layer and expert."""
        return self._possible([s.after(self.place.layer(stack)) for s in self.made.of(name)])

    def of_end(self, name: str) -> Spelling:
        """What a tensor outside the stack is called."""
        return self._possible([_ended(self.place, s) for s in self.made.of(name)])[0]

    def _possible(self, found: list[Spelling]) -> list[Spelling]:
        return list(dict.fromkeys(s for s in found if is_present(s, self.present))) or found[:1]


def namer(family: Family, model: Model, names: Iterable[str]) -> Namer:
    """How a checkpoint with these tensor names calls the model's weights."""
    made, present = rules(family), frozenset(map(pattern, names))
    return Namer(made, placed(family, model, present), present)
