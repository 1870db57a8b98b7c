"""What a model has to store: its matrices as modules with names, and all other tensors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from atlas.checkpoint.naming import STACKS, Namer, Spelling, is_present, namer
from atlas.checkpoint.towers import copies, placed
from atlas.families.rules import Family
from atlas.numbers.structure import Layer, Model, Tensor, layer, model, part
from atlas.numbers.towers import Tower
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
    as in x out. `layers` are the layers that have one each, `{i}` in its name.
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
    layers: tuple[int, ...] = ()

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
    def is_conv1d(self) -> bool:
        """Whether it is GPT-2's own kind of layer, which is no linear layer by its class."""
        return self.transposed and self.kind == LINEAR

    @property
    def module(self) -> str:
        """The name without its last word, as settings name modules."""
        return self.name.removesuffix(".weight")

    @property
    def where(self) -> str:
        """The group of table `stored` that it belongs to, scales aside."""
        return _WHERE.get(self.component, "language_model")


_WHERE = {Component.MTP: "drafts", Component.TOWERS: "towers", Component.BUFFERS: "buffers"}


@lru_cache(maxsize=1024)
def units(
    model: Model, family: Family, towers: tuple[Tower, ...] = (), *, drafts: bool, named: frozenset[str] = frozenset()
) -> tuple[Unit, ...]:
    """Everything a checkpoint of this model stores, tied weights once, drafting layers where they are in the files.

    Equal layers share their units. `named` are modules that its settings name: of several spellings a family has,
    those are taken.
    """
    names, listed = names_of(model, family, named), [f"{n}.weight" for n in named]
    found = [*ends_of(model, names), *_of_stacks(model, names), *_of_towers(towers, listed)]
    if drafts:
        found += _of_drafts(model, names, apart=any(n.startswith(_DRAFTS) for n in named))
    return tuple(_with_own_routers(found))


@lru_cache(maxsize=1024)
def names_of(model: Model, family: Family, named: frozenset[str]) -> Namer:
    """How a checkpoint whose settings name these modules calls the model's weights."""
    return namer(family, model, [f"{n}.weight" for n in named])


@lru_cache(maxsize=16384)
def outlined(m: Model) -> Model:
    """The same with axes of no length at its ends: equal for models that differ in their vocabularies alone."""
    weights = tuple(t._replace(shape=(0,) * len(t.shape)) for p in m.ends.parts for t in p.tensors)
    return model(layer((_blank(weights),)), m.runs, m.norm_class, m.norm_placement)


_blank = lru_cache(maxsize=4096)(partial(part, "ends"))


def sized(ends: Iterable[Unit], model: Model, names: Namer) -> Iterator[Unit]:
    """The units of an outline's ends with the shapes of a model that has it."""
    for blank, unit in zip(ends, ends_of(model, names), strict=True):
        yield blank._replace(shape=unit.shape)


def ends_of(model: Model, names: Namer) -> Iterator[Unit]:
    """What stands before and after the layers."""
    return _laid((names.of_end(t.name), t) for p in model.ends.parts for t in p.tensors)


def _of_stacks(model: Model, names: Namer) -> Iterator[Unit]:
    for stack in STACKS:
        for each, layers in _standing(model, stack).items():
            tensors = (t for p in each.parts for t in p.tensors)
            for u in _laid((names.of_layer(stack, t.name)[0], t) for t in tensors):
                yield u._replace(layers=tuple(layers))


def _standing(model: Model, stack: str) -> dict[Layer, list[int]]:
    """Where in a stack each distinct layer stands."""
    found: dict[Layer, list[int]] = {}
    layers = (each for run in model.runs if run.stack == stack for _ in range(run.repeats) for each in run.layers)
    for index, each in enumerate(layers):
        found.setdefault(each, []).append(index)
    return found


def _laid(spelled: Iterable[tuple[Spelling, Tensor]]) -> Iterator[Unit]:
    """One unit per checkpoint tensor; the copies of an expert are one unit."""
    laid: dict[Spelling, list[Tensor]] = {}
    for spelling, tensor in spelled:
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


def _of_towers(towers: Iterable[Tower], listed: Collection[str]) -> Iterator[Unit]:
    """The tensors of towers; the output of torch's own attention is a class that most tools pass by."""
    for tower in towers:
        at = placed(tower, frozenset(listed)) if listed else tower.at[0]
        for run in tower.runs:
            for t in (t for each in run.layers for p in each.parts for t in p.tensors if t.stored):
                for u in _of_tower(at, t, run.repeats):
                    yield u._replace(own_class=True) if u.module.endswith(ATTENTION_OUTPUT) else u


def _of_tower(at: str, tensor: Tensor, repeats: int) -> Iterator[Unit]:
    layers = tuple(range(repeats)) if "{i}" in tensor.name else ()
    for t in copies(tensor):
        yield from (u._replace(layers=layers) for u in units_of(Spelling((at + t.name,)), [t]))


ATTENTION_OUTPUT = "head.attention.out_proj"
_DRAFTS = "mtp."
_AROUND = {
    "eh_proj.weight": "mtp.fc.weight",
    "enorm.weight": "mtp.pre_fc_norm_embedding.weight",
    "hnorm.weight": "mtp.pre_fc_norm_hidden.weight",
    "shared_head.norm.weight": "mtp.norm.weight",
}
"""What Qwen's files call the tensors around their drafting layers."""


def _of_drafts(model: Model, names: Namer, *, apart: bool) -> Iterator[Unit]:
    """The drafting layers, numbered behind the model's own as most files do, or `apart`, as Qwen's do."""
    index = 0
    for run in model.runs:
        for _ in range(run.repeats if run.stack == "mtp" else 0):
            for each in run.layers:
                prefix = f"{_DRAFTS}layers.{index}." if apart else f"model.layers.{model.n_layers + index}."
                yield from _of_draft(each, names, prefix)
                index += 1


def _of_draft(each: Layer, names: Namer, prefix: str) -> Iterator[Unit]:
    found = ((_spelling(t, names, prefix), t) for p in each.parts for t in p.tensors)
    return _laid(found)


def _spelling(tensor: Tensor, names: Namer, prefix: str) -> Spelling:
    around = _AROUND.get(tensor.name) if prefix.startswith(_DRAFTS) else None
    found = [s.after(prefix) for s in names.made.of(tensor.name)]
    used = next((s for s in found if is_present(s, names.present)), found[0])
    return used if around is None else Spelling((around,))


def _with_own_routers(found: Iterable[Unit]) -> Iterator[Unit]:
    """Routers with a correction bias beside them are classes of their own, so no tool takes them for a linear layer."""
    found = list(found)
    corrected = {u.name.rpartition(".")[0] for u in found if u.name.endswith(CORRECTION)}
    above = {c.rpartition(".")[0] for c in corrected}
    for u in found:
        own = u.kind == ROUTER and (u.module in corrected or u.module.rpartition(".")[0] in above)
        yield u._replace(own_class=True) if own else u
