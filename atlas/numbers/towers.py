"""Encoders, projectors and mergers beside a language model, as runs of layers that are in none of its figures.

A tower is runs of layers like the model's own (stack "tower"), of tensors whose names are relative to where the tower
stands in a checkpoint, with `{i}` for the index of a layer. Two configs of one design may have different towers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Run, Tensor
from schemas.vocabulary import Component

STACK = "tower"


class Tower(NamedTuple):
    """One tower: what it is for, the row it was built by, the prefixes that checkpoints give it, its layers."""

    name: str
    rules: str
    at: tuple[str, ...]
    runs: tuple[Run, ...]

    @property
    def elements(self) -> int:
        """Weights in it."""
        return _elements(self.runs, Component.TOWERS)

    @property
    def buffers(self) -> int:
        """Elements of its persistent buffers, which are no weights."""
        return _elements(self.runs, Component.BUFFERS)

    def tensors(self) -> Iterator[tuple[int, Tensor]]:
        """Every tensor of its layers with how many layers have it."""
        return _tensors(self.runs)


def _tensors(runs: tuple[Run, ...]) -> Iterator[tuple[int, Tensor]]:
    for r in runs:
        yield from ((r.repeats, t) for each in r.layers for p in each.parts for t in p.tensors)


@lru_cache(maxsize=4096)
def _elements(runs: tuple[Run, ...], component: Component) -> int:
    return sum(n * t.stored * t.elements for n, t in _tensors(runs) if t.component is component)
