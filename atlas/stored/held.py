"""What files hold, folded: groups of equal tensors, bytes, elements by type, bits per weight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from atlas.numbers.storage import StoredRow
from atlas.numbers.structure import Model
from atlas.stored.form import BITS
from schemas.vocabulary import Component, Role


class Held(NamedTuple):
    """Tensors of one group, scheme and type: how many, and their elements (None where their length is data)."""

    group: str  # language_model, towers, drafts, buffers, tied_head or scales
    scheme: str
    dtype: str
    tensors: int
    elements: int | None

    def times(self, n: int) -> Held:
        """As many of it."""
        elements = None if self.elements is None else n * self.elements
        return self if n == 1 else self._replace(tensors=n * self.tensors, elements=elements)


def merged(held: Iterable[Held]) -> tuple[Held, ...]:
    """Equal groups as one, in the order they come up."""
    found: dict[tuple[str, str, str, bool], tuple[int, int]] = {}
    for h in held:
        key = (h.group, h.scheme, h.dtype, h.elements is None)
        tensors, elements = found.get(key, (0, 0))
        found[key] = (tensors + h.tensors, elements + (0 if h.elements is None else h.elements))
    return tuple(
        Held(group, scheme, dtype, tensors, None if open_ else n)
        for (group, scheme, dtype, open_), (tensors, n) in found.items()
    )


def plain_tied(model: Model, dtype: str) -> tuple[Held, ...]:
    """A tied head that is stored a second time, as it was; nothing where the head is not tied."""
    tables = [t for p in model.ends.parts for t in p.tensors if t.component is Component.UNEMBEDDING and not t.stored]
    return tuple(Held("tied_head", "unquantized", dtype, 1, t.elements) for t in tables if t.role is Role.MATMUL)


def rows(held: Iterable[Held], evidence: str) -> tuple[StoredRow, ...]:
    """The rows of table `stored`, equal groups as one, in the order they come up."""
    return tuple(
        StoredRow(
            h.group, h.scheme, h.dtype, h.tensors, h.elements,
            None if h.elements is None else bytes_of(h.dtype, h.elements), evidence,
        )
        for h in merged(held)
    )  # fmt: skip


def bytes_of(dtype: str, elements: int) -> int | None:
    """Bytes of so many elements of a type; None for a type of unknown width."""
    bits = BITS.get(dtype)
    return None if bits is None else -(-bits * elements // 8)


def total_bytes(found: Iterable[StoredRow]) -> int | None:
    """Bytes of all rows; None where those of one are not known."""
    each = [r.bytes for r in found]
    return None if not each or None in each else sum(b for b in each if b is not None)


def by_dtype(found: Iterable[StoredRow]) -> dict[str, int]:
    """Elements by type, those of known length."""
    out: dict[str, int] = {}
    for r in found:
        if r.elements is not None:
            out[r.dtype] = out.get(r.dtype, 0) + r.elements
    return out
