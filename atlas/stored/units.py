"""What a model has to store: its matrices as modules with names, and all other tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from atlas.checkpoint.expected import spelled
from atlas.checkpoint.naming import Namer, Spelling, namer
from atlas.families import Family
from atlas.numbers.structure import Model, Tensor
from atlas.stored.form import Shape
from schemas.vocabulary import Component, Role

LINEAR, TABLE, HEAD, ROUTER, GATE, EXPERT, REST = "linear", "table", "head", "router", "gate", "expert", "rest"
CORRECTION = "correction_bias"
_SHARED_GATE = "shared_expert_gate"
_ROUTERS = (".gate.weight", ".router.weight", ".router.proj.weight", ".router.layer.weight")


class Unit(NamedTuple):
    """A tensor to store: a module (a matrix, out x in) or any other tensor.

    `copies` are equal modules side by side (experts), `stacked` where the family keeps them in one tensor, `fused` the
    matrices laid together in it. `own_class` marks a router that is no plain linear layer, `transposed` a matrix kept
    as in x out.
    """

    name: str
    shape: Shape
    kind: str
    component: Component
    copies: int = 1
    stacked: bool = False
    fused: int = 1
    own_class: bool = False
    transposed: bool = False

    @property
    def out(self) -> int:
        """Rows of the matrix."""
        return self.shape[0]

    @property
    def into(self) -> int:
        """Columns of the matrix."""
        return self.shape[-1]

    @property
    def is_module(self) -> bool:
        """Whether it is a matrix that a scheme may take."""
        return self.kind != REST

    @property
    def module(self) -> str:
        """The name without its last word, as settings name modules."""
        return self.name.removesuffix(".weight")

    @property
    def where(self) -> str:
        """The group of table `stored` that it belongs to, scales aside."""
        return _WHERE.get(self.component, "language_model")


_WHERE = {Component.MTP: "drafts", Component.TOWERS: "towers", Component.BUFFERS: "buffers"}


def units(model: Model, family: Family, *, drafts: bool) -> tuple[Unit, ...]:
    """Everything a checkpoint of this model stores, tied weights once, drafting layers where they are in the files."""
    found = [*_of_model(model, namer(family, model, ()))]
    if drafts:
        found += _of_drafts(model)
    return tuple(_with_own_routers(found))


def _of_model(model: Model, names: Namer) -> Iterator[Unit]:
    """One unit per checkpoint tensor; the copies of an expert are one unit."""
    laid: dict[Spelling, list[Tensor]] = {}
    for spelling, tensor in spelled(model, names, {}):
        if tensor.stored:
            laid.setdefault(spelling, []).append(tensor)
    for spelling, members in laid.items():
        yield from units_of(spelling, members)


def units_of(spelling: Spelling, members: list[Tensor]) -> Iterator[Unit]:
    """The units of one spelling, with the canonical weights laid together in it; split ones share them evenly."""
    first, n = members[0], len(spelling.names)
    shape = (sum(m.shape[0] for m in members) // n, *first.shape[1:])
    for name in spelling.names:
        stacked = first.stored > 1 and "{e}" not in name
        yield Unit(
            name, shape, _kind(name, first), first.component, first.stored, stacked, len(members),
            transposed=spelling.transposed,
        )  # fmt: skip


def _kind(name: str, tensor: Tensor) -> str:
    if tensor.role is not Role.MATMUL or len(tensor.shape) != 2:
        return TABLE if tensor.role is Role.LOOKUP and len(tensor.shape) == 2 else REST
    if tensor.component is Component.UNEMBEDDING or name.endswith("shared_head.head.weight"):
        return HEAD
    if _SHARED_GATE in name:
        return GATE
    if tensor.component is Component.ROUTER or (tensor.component is Component.MTP and name.endswith(_ROUTERS)):
        return ROUTER
    if tensor.stored > 1:
        return EXPERT
    return LINEAR if name.endswith(".weight") else REST


def _of_drafts(model: Model) -> Iterator[Unit]:
    """The drafting layers, numbered behind the model's own as their files do."""
    index = model.n_layers
    for run in model.runs:
        if run.stack != "mtp":
            continue
        for _ in range(run.repeats):
            for each in run.layers:
                yield from (
                    u for p in each.parts for t in p.tensors if t.stored for u in units_of(_drafted(index, t), [t])
                )
                index += 1


def _drafted(index: int, tensor: Tensor) -> Spelling:
    return Spelling((f"model.layers.{index}.{tensor.name}",))


def _with_own_routers(found: Iterable[Unit]) -> Iterator[Unit]:
    """Routers with a correction bias beside them are classes of their own, so no tool takes them for a linear layer."""
    found = list(found)
    corrected = {u.name.rpartition(".")[0] for u in found if u.name.endswith(CORRECTION)}
    above = {c.rpartition(".")[0] for c in corrected}
    for u in found:
        own = u.kind == ROUTER and (u.module in corrected or u.module.rpartition(".")[0] in above)
        yield u._replace(own_class=True) if own else u
