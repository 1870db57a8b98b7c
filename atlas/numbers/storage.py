"""What the files of a checkpoint hold, as records: rows of table `stored`, and the answer they make up."""

from __future__ import annotations

import msgspec


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """A row of table `stored`."""

    group: str
    scheme: str
    dtype: str
    tensors: int
    elements: int | None
    bytes: int | None
    evidence: str


class Storage(msgspec.Struct, frozen=True):
    """The answer: rows of table `stored`, bytes of all tensors (null with a reason), and what the number rests on."""

    rows: tuple[StoredRow, ...] = ()
    bytes: int | None = None
    evidence: str | None = None
    reason: str | None = None
    note: str | None = None
    against: tuple[StoredRow, ...] = ()  # the rule's rows, where headers differ from them
