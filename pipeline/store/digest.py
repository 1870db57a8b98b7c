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
from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from schemas.registry import Table
from schemas.tables import polars_schema

if TYPE_CHECKING:
    from hashlib import _Hash

SLICE = 65_536
"""Rows per slice; part of the definition of a digest."""


def table_digest(table: Table, slices: Iterable[pl.DataFrame]) -> str:
    """SHA-256 (hex) of a table given in slices of `SLICE` rows, the last perhaps shorter."""
    digest = hashlib.sha256(json.dumps([table.name, [[f.name, f.kind] for f in table.fields]]).encode())
    for frame in slices:
        digest.update(frame.height.to_bytes(8, "little"))
        for name in table.columns:
            _add(digest, frame[name])
    return digest.hexdigest()


def as_stored(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the registry's columns and types, maps as lists of (key, value)."""
    return frame.select(table.columns).cast(dict(polars_schema(table)))  # pyright: ignore[reportArgumentType]


def _add(digest: _Hash, column: pl.Series) -> None:
    digest.update(bytes([column.has_nulls()]))
    if column.has_nulls():
        digest.update(bytes(column.is_null().to_list()))
        column = column.drop_nulls()
    match column.dtype:
        case pl.String():
            digest.update(_integers(column.str.len_bytes()))
            digest.update(column.str.join().item().encode())
        case pl.Binary():
            digest.update(_integers(column.bin.size()))
            digest.update(b"".join(column.to_list()))
        case pl.List():
            digest.update(_integers(column.list.len()))
            _add(digest, column.filter(column.list.len() > 0).list.explode())
        case pl.Struct():
            for field in column.struct.fields:
                _add(digest, column.struct.field(field))
        case pl.Float64():
            digest.update(_little(array("d", column.to_list())))
        case _:
            digest.update(_integers(column))


def _integers(column: pl.Series) -> bytes:
    return _little(array("q", column.cast(pl.Int64).to_list()))


def _little(values: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
