"""Which sum of what files hold is a stated count of elements, by name.

The Hub counts a quantized checkpoint in several ways: packed elements once or as the weights they stand for, with the
scales or without them; scalars without a shape never. Beside the form, drafting layers, towers, correction biases and
a tied head may be in a count or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from atlas.numbers.storage import StoredRow
from atlas.stored.form import BITS

SCALES = "scales"
_INT = re.compile(r"int(\d)(?:_|$)")
_PACKED = ("I32", "U32")


def named_sum(rows: Iterable[StoredRow], total: int, extras: Iterable[tuple[str, int]] = ()) -> str | None:
    """The name of the sum that is `total`; None where none is. `extras` may be in it, or left out (negative)."""
    found, beside = tuple(rows), [e for e in extras if e[1]]
    sums = [*_sums(found)] if found and all(r.elements is not None for r in found) else []
    for n in range(min(len(beside), 3) + 1):
        for chosen in combinations(beside, n):
            for words, elements in sums:
                if elements + sum(e for _, e in chosen) == total:
                    return "; ".join((words, *(f"{w}: {e:+,}" for w, e in chosen)))
    return None


def _sums(rows: tuple[StoredRow, ...]) -> Iterator[tuple[str, int]]:
    """Every way of counting the elements, the plainest first."""
    once = _counted(r for r in rows if r.group != SCALES)
    scales = _counted(r for r in rows if r.group == SCALES and not _shapeless(r))
    unpacked = sum(_unpacked(r) for r in rows if r.group != SCALES)
    yield "stored elements with scales", once + scales
    yield "stored elements without scales", once
    if unpacked != once:
        yield "packed weights unpacked, with scales", unpacked + scales
        yield "packed weights unpacked, without scales", unpacked
    scalars = _counted(r for r in rows if _shapeless(r))
    if scalars:
        yield "stored elements with scales and scalars", once + scales + scalars


def _counted(rows: Iterable[StoredRow]) -> int:
    return sum(r.elements for r in rows if r.elements is not None)


def _shapeless(r: StoredRow) -> bool:
    """Whether these are scalars, one a tensor."""
    return r.group == SCALES and r.elements == r.tensors


def _unpacked(r: StoredRow) -> int:
    """The weights that packed integers of a row stand for; of any other row its elements."""
    elements = r.elements if r.elements is not None else 0
    bits = _INT.search(r.scheme)
    if bits is None or r.dtype not in _PACKED:
        return elements
    return elements * BITS[r.dtype] // int(bits[1])
