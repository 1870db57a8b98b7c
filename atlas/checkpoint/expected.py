"""The tensors a checkpoint of a model should hold: canonical weights under the names and in the shapes it uses."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from atlas.checkpoint.naming import STACKS, Namer, Spelling
from atlas.checkpoint.packing import Listing, Shape, Stored
from atlas.numbers.structure import Model, Tensor
from schemas.vocabulary import Component


class Group(msgspec.Struct):
    """One checkpoint tensor (or the several one weight is split into) and the canonical weights in it."""

    names: tuple[str, ...]
    transposed: bool
    members: list[Tensor]
    stack: int = 1  # experts kept in one tensor

    @property
    def wanted(self) -> Shape:
        """The shape the checkpoint should have, split parts laid together."""
        first = self.members[0].shape
        plain = (sum(m.shape[0] for m in self.members), *first[1:])
        plain = plain[::-1] if self.transposed and len(plain) == 2 else plain
        return (self.stack, *plain) if self.stack > 1 else plain

    @property
    def elements(self) -> int:
        """Weights in it."""
        return self.stack * sum(m.elements for m in self.members)

    @property
    def component(self) -> Component:
        """What its weights belong to."""
        return self.members[0].component


def expected(model: Model, names: Namer, listing: Listing) -> tuple[list[Group], dict[str, Tensor]]:
    """The checkpoint tensors that the model needs, and those it may store again (a tied head)."""
    groups: dict[tuple[str, ...], Group] = {}
    tied: dict[str, Tensor] = {}
    for spelling, tensor in spelled(model, names, listing):
        if not tensor.stored:
            tied |= dict.fromkeys(spelling.names, tensor)
            continue
        each = len(spelling.names) == 1 and "{e}" in spelling.names[0]
        copies = (
            [Spelling((spelling.names[0].replace("{e}", str(e)),), spelling.transposed) for e in range(tensor.stored)]
            if each
            else [spelling]
        )
        for s in copies:
            group = groups.setdefault(s.names, Group(s.names, s.transposed, [], 1 if each else tensor.stored))
            group.members.append(tensor)
    return list(groups.values()), tied


def spelled(model: Model, names: Namer, listing: Listing) -> Iterator[tuple[Spelling, Tensor]]:
    """Every tensor of the model (drafting layers apart) with what the checkpoint calls it, one layer after another."""
    for p in model.ends.parts:
        yield from ((names.of_end(t.name), t) for t in p.tensors)
    possible: dict[tuple[str, str], list[Spelling]] = {}
    for stack, index, tensor in _layered(model):
        key = (stack, tensor.name)
        if key not in possible:
            possible[key] = names.of_layer(stack, tensor.name)
        found = possible[key]
        yield found[0].at(index) if len(found) == 1 else _in(listing, [s.at(index) for s in found]), tensor


def _in(listing: Listing, found: list[Spelling]) -> Spelling:
    """The spelling that this layer uses: layers of one checkpoint may differ (experts: by the first of them)."""
    return next((s for s in found if all(n.replace("{e}", "0") in listing for n in s.names)), found[0])


def _layered(model: Model) -> Iterator[tuple[str, int, Tensor]]:
    """Every tensor of every layer, with its stack and the layer's index there."""
    for stack in STACKS:
        layers = (each for run in model.runs if run.stack == stack for _ in range(run.repeats) for each in run.layers)
        for index, each in enumerate(layers):
            yield from ((stack, index, t) for p in each.parts for t in p.tensors)


def agrees(group: Group, found: list[Stored]) -> bool:
    """Whether the tensors found hold the group's weights: axes of length 1 aside, and a vector in whatever shape."""
    known = [f.elements for f in found if f.elements is not None]
    if len(known) < len(found):
        return True
    laid, wanted = laid_together(found), group.wanted
    if laid is None or len(_tight(group.members[0].shape)) == 1:
        return sum(known) == group.elements
    if _tight(laid) == _tight(wanted):
        return True
    packed = found[0].packing is not None and group.transposed
    return packed and _tight(laid) == _tight(
        (*wanted[:-2], wanted[-1], wanted[-2]) if group.stack == 1 else _stacked(group)
    )


def _stacked(group: Group) -> Shape:
    return (group.stack, sum(m.shape[0] for m in group.members), *group.members[0].shape[1:])


def laid_together(found: list[Stored]) -> Shape | None:
    """The shape of the tensors laid together along their first axis; None where one is not known or they do not fit."""
    shapes = [f.shape for f in found]
    first = shapes[0]
    if first is None or any(s is None or s[1:] != first[1:] for s in shapes):
        return None
    return first if len(shapes) == 1 else (sum(s[0] for s in shapes if s), *first[1:])


def _tight(shape: Shape) -> Shape:
    return tuple(n for n in shape if n != 1)
