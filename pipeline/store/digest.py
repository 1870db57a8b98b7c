"""Digests of what tables say, not of how a file stores it: two builds of equal rows agree, whatever library wrote them.

A table's digest is SHA-256 over its name, its columns and its rows in stored order, in slices of fixed length. Within
a slice each column gives its lengths or values as little-endian bytes, and which of them are null. Nothing depends on
a library's own format.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from schemas.registry import Table
from schemas.tables import polars_schema

if TYPE_CHECKING:
    from hashlib import _Hash

    from polars._typing import PolarsDataType

SLICE = 65_536
"""Rows per slice; part of the definition of a digest."""


def table_digest(table: Table, frames: Iterable[pl.DataFrame]) -> str:
    """SHA-256 (hex) of a table given in frames of whatever length: they are cut and laid together to slices."""
    digest = hashlib.sha256(json.dumps([table.name, [[f.name, f.kind] for f in table.fields]]).encode())
    held, kept = 0, _empty(table)
    for frame in frames:
        for part in _cut(frame, held):
            for name in table.columns:
                kept[name].add(part[name])
            held += part.height
            if held == SLICE:
                _told(digest, held, kept)
                held, kept = 0, _empty(table)
    if held:
        _told(digest, held, kept)
    return digest.hexdigest()


def _empty(table: Table) -> dict[str, _Column]:
    return {name: _column(kind) for name, kind in polars_schema(table).items()}


def _cut(frame: pl.DataFrame, held: int) -> Iterator[pl.DataFrame]:
    """The frame in parts of which none reaches beyond the end of a slice."""
    start = 0
    while start < frame.height:
        part = frame.slice(start, SLICE - (held + start) % SLICE)
        start += part.height
        yield part


def _told(digest: _Hash, rows: int, kept: Mapping[str, _Column]) -> None:
    digest.update(rows.to_bytes(8, "little"))
    for column in kept.values():
        column.tell(digest)


def as_stored(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the registry's columns and types, maps as lists of (key, value)."""
    return frame.select(table.columns).cast(dict(polars_schema(table)))  # pyright: ignore[reportArgumentType]


class _Column:
    """One column of a slice, gathered part by part: which are null, lengths, values, and what is nested in it."""

    def __init__(self, inner: Sequence[_Column] = ()) -> None:
        self.is_null, self.has_nulls = bytearray(), False
        self.lengths, self.values, self.inner = bytearray(), bytearray(), inner

    def tell(self, digest: _Hash) -> None:
        """Give the column to a digest."""
        digest.update(bytes([self.has_nulls]))
        if self.has_nulls:
            digest.update(self.is_null)
        digest.update(self.lengths)
        digest.update(self.values)
        for each in self.inner:
            each.tell(digest)

    def add(self, column: pl.Series) -> None:
        """Add the column of the next rows."""
        if column.has_nulls():
            self.has_nulls = True
            self.is_null += bytes(column.is_null().to_list())
            column = column.drop_nulls()
        else:
            self.is_null += bytes(column.len())
        self._add(column)

    def _add(self, column: pl.Series) -> None:
        match column.dtype:
            case pl.String():
                self.lengths += _integers(column.str.len_bytes())
                self.values += column.str.join().item().encode()
            case pl.Binary():
                self.lengths += _integers(column.bin.size())
                self.values += b"".join(column.to_list())
            case pl.List():
                self.lengths += _integers(column.list.len())
                self.inner[0].add(column.filter(column.list.len() > 0).list.explode())
            case pl.Struct():
                for field, each in zip(column.struct.fields, self.inner, strict=True):
                    each.add(column.struct.field(field))
            case pl.Float64():
                self.values += _little(array("d", column.to_list()))
            case _:
                self.values += _integers(column)


def _column(kind: PolarsDataType) -> _Column:
    match kind:
        case pl.List():
            return _Column((_column(kind.inner),))
        case pl.Struct():
            return _Column(tuple(_column(f.dtype) for f in kind.fields))
        case _:
            return _Column()


def _integers(column: pl.Series) -> bytes:
    return _little(array("q", column.cast(pl.Int64).to_list()))


def _little(values: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
