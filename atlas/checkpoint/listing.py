"""What a header or an index says of tensors, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

Shape = tuple[int, ...]


class Stored(NamedTuple):
    """A tensor as a header lists it. An index of files knows names alone; a packing may know a count and no shape."""

    shape: Shape | None = None
    dtype: str | None = None
    counted: int | None = None
    packing: str | None = None

    @property
    def elements(self) -> int | None:
        """How many parameters it holds, where that is known."""
        return self.counted if self.shape is None else prod(self.shape)


Listing = Mapping[str, Stored]
