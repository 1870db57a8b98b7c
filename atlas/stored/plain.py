"""What an unquantized checkpoint may hold: its parts, alone and with what some files keep beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from atlas.numbers.shape import shape_of
from atlas.numbers.structure import Model
from atlas.stored.form import BITS, Unsaid
from atlas.stored.held import Held, merged, plain_tied
from atlas.stored.kept import RECURRENT
from atlas.stored.subject import Subject, stated_dtype
from atlas.stored.units import CORRECTION, REST, Unit, units

_WIDTHS = ("BF16", "F32", "F64")


def possible(of: Subject) -> Iterator[tuple[Held, ...]]:
    """Every sum of a checkpoint that is stored as it was trained, the likeliest first. Raises `Unsaid`."""
    dtype = stated_dtype(of.config) or "BF16"
    if of.towers is None:
        raise Unsaid("the towers are not described, and their weights are in the files")
    found = units(of.model, of.family, of.towers, drafts=True)
    own, drafts = [u for u in found if u.where != "drafts"], [u for u in found if u.where == "drafts"]
    extra = {"tied_head": _tied(of.model), "buffers": _rotary(of.model)}
    types = (dtype, *(t for t in _WIDTHS if BITS[t] != BITS[dtype]))
    for dtype, kept, with_drafts, *beside in product(
        types, _KEPT, (True, False) if drafts else (False,), (False, True), (False, True)
    ):
        held = merged(_held(u, dtype, kept) for u in (*own, *(drafts if with_drafts else ())))
        added = tuple(x for on, name in zip(beside, extra, strict=True) if on for x in extra[name](dtype))
        if all(not on or extra[name](dtype) for on, name in zip(beside, extra, strict=True)):
            yield held + added


_KEPT: tuple[tuple[str, ...], ...] = ((), (CORRECTION,), RECURRENT)
"""Tensors that some publishers keep in F32, by the end of their names."""


def _held(u: Unit, dtype: str, kept: tuple[str, ...]) -> Held:
    tensors = 1 if u.stacked else u.copies
    of = "F32" if kept and u.kind == REST and u.name.endswith(kept) else dtype
    elements = u.copies
    for n in u.shape:
        elements *= n
    return Held(u.where, "unquantized", of, tensors, elements).times(max(1, len(u.layers)))


Added = Callable[[str], tuple[Held, ...]]


def _tied(model: Model) -> Added:
    """A tied head that is stored a second time."""
    return partial(plain_tied, model)


def _rotary(model: Model) -> Added:
    """Rotary frequencies that old files keep, half the rotated width of every layer, in F32."""
    each = [(m.rotary_dim // 2, n) for m, n in shape_of(model).mixers if m.rotary_dim]
    kept = tuple(Held("buffers", "unquantized", "F32", n, n * half) for half, n in each)

    def added(dtype: str) -> tuple[Held, ...]:
        del dtype
        return kept

    return added
