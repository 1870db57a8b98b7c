"""Builders of towers: modules of given shapes, laid into layers; nothing in them costs a token of text anything."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Layer, Run, Tensor, layer, part
from atlas.numbers.towers import STACK
from schemas.vocabulary import Component, Role


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
