"""Encoders, projectors and mergers beside a language model: their weights, and nothing that a token of text costs.

A tower is runs of layers like the model's own (stack "tower"), of tensors whose names are relative to where the tower
stands in a checkpoint, with `{i}` for the index of a layer. It is in no figure of the language model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Layer, Run, Tensor, layer, part
from schemas.vocabulary import Component, Role

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
        return self._of(Component.TOWERS)

    @property
    def buffers(self) -> int:
        """Elements of its persistent buffers, which are no weights."""
        return self._of(Component.BUFFERS)

    def tensors(self) -> Iterator[tuple[int, Tensor]]:
        """Every tensor of its layers with how many layers have it."""
        for r in self.runs:
            yield from ((r.repeats, t) for each in r.layers for p in each.parts for t in p.tensors)

    def _of(self, component: Component) -> int:
        return sum(n * t.stored * t.elements for n, t in self.tensors() if t.component is component)


class Weights(NamedTuple):
    """Scalars of one module: its name, its shape, `copies` of it (0: the class has it not), its bias.

    `kind` is affine (a weight and a bias as long as its first axis), weight, table (a weight that is looked up), tensor
    (a parameter under the name alone) or buffer (the same, saved with the model and no weight).
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    copies: int = 1
    bias: int = 1


@lru_cache(maxsize=4096)
def tensors(w: Weights) -> tuple[Tensor, ...]:
    """The tensors of a module: none where there is no copy of it."""
    if not w.copies:
        return ()
    role = Role.LOOKUP if w.kind == "table" else Role.MATMUL if len(w.shape) > 1 else Role.VECTOR
    own = w.name if w.kind in ("tensor", "buffer") else f"{w.name}.weight"
    component = Component.BUFFERS if w.kind == "buffer" else Component.TOWERS
    made = (Tensor(own, w.shape, component, role, w.copies),)
    if w.kind != "affine" or not w.bias:
        return made
    return (*made, Tensor(f"{w.name}.bias", w.shape[:1], Component.TOWERS, Role.VECTOR, w.copies))


@lru_cache(maxsize=4096)
def run(name: str, repeats: int, modules: tuple[Weights, ...]) -> Run:
    """Equal layers of these modules, `repeats` of them."""
    return Run(repeats, (_layer(name, modules),), STACK)


@lru_cache(maxsize=4096)
def _layer(name: str, modules: tuple[Weights, ...]) -> Layer:
    return layer((part(f"{STACK}.{name}", tuple(t for w in modules for t in tensors(w))),))
