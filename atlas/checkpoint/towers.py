"""What a checkpoint calls the tensors of its towers: the prefixes its rows know, every layer and stage written out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from atlas.checkpoint.expected import Group
from atlas.numbers.structure import Tensor
from atlas.numbers.towers import Tower


def stored(tower: Tower) -> Iterator[Tensor]:
    """Every tensor the tower stores, layer by layer, under its whole name from the tower's root."""
    for run in tower.runs:
        for index in range(run.repeats):
            for t in (t for each in run.layers for p in each.parts for t in p.tensors if t.stored):
                yield from copies(t._replace(name=t.name.replace("{i}", str(index))))


def copies(t: Tensor) -> Iterator[Tensor]:
    """The tensor, or each of its copies where the name counts them."""
    if "{e}" not in t.name:
        yield t
        return
    yield from (t._replace(name=t.name.replace("{e}", str(e)), stored=1) for e in range(t.stored))


def placed(tower: Tower, names: Collection[str]) -> str:
    """The prefix under which most of its tensors are among these names; the first one where none are."""
    wanted = [t.name for t in stored(tower)]
    return max(tower.at, key=lambda at: sum(at + n in names for n in wanted))


def expected(towers: Iterable[Tower], names: Collection[str]) -> list[Group]:
    """The tensors that a checkpoint with these names should hold of the towers, one group each."""
    groups: list[Group] = []
    for tower in towers:
        at = placed(tower, names)
        groups += [Group((at + t.name,), transposed=False, members=[t], stack=t.stored) for t in stored(tower)]
    return groups
