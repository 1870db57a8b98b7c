"""Gathers rows of a table in columns and turns them into polars frames, a few thousand rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from schemas.fields import Field
from schemas.registry import Table
from schemas.tables import POLARS, empty

FLUSH = {"configs": 1_024, "layers": 16_384, "parameters": 16_384, "states": 16_384}
OTHERS = 8_192
"""Rows that become a frame together: few where a row holds a text and its evidence."""


class Columns:
    """The growing columns of one table; its frames are kept, or go where `give` takes them."""

    def __init__(self, table: Table, give: Callable[[pl.DataFrame], object] | None = None) -> None:
        self.table = table
        self._rows: list[tuple[Any, ...]] = []
        self._frames: list[pl.DataFrame] = []
        self._give = give or self._frames.append
        self._many = FLUSH.get(table.name, OTHERS)

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row, values in the order of the table's columns; maps are dicts, evidence tuples of four texts."""
        self._rows.append(row)
        if len(self._rows) >= self._many:
            self.flush()

    def extend(self, frame: pl.DataFrame) -> None:
        """Add the rows of a frame with the table's columns and types."""
        self.flush()
        self._give(frame)

    def frame(self) -> pl.DataFrame:
        """Everything kept so far as one frame."""
        self.flush()
        return pl.concat(self._frames) if self._frames else empty(self.table)

    def flush(self) -> None:
        """Make a frame of the rows that are waiting."""
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        self._give(pl.DataFrame([series(f, c) for f, c in zip(self.table.fields, columns, strict=True)]))
        self._rows = []


def series(field: Field, values: Sequence[Any]) -> pl.Series:
    """One column. A text that UTF-8 cannot hold (a lone surrogate) is written with a visible escape instead."""
    if isinstance(inner := POLARS[field.kind], pl.List):
        return _gathered(field.name, values, inner)
    return _flat(field.name, values, inner)


def _flat(name: str, values: Sequence[Any], kind: Any) -> pl.Series:
    try:
        return pl.Series(name, values, dtype=kind)
    except UnicodeEncodeError:
        return pl.Series(name, [utf8(v) for v in values], dtype=kind)


def _gathered(name: str, values: Sequence[Any], kind: pl.List) -> pl.Series:
    """Lists built flat and then gathered: a twentieth of the time that nested Python lists take. Maps come as dicts."""
    lists = [None if v is None else list(v.items()) if isinstance(v, dict) else v for v in values]
    owners = [i for i, items in enumerate(lists) if items for _ in items]
    items = [item for items in lists if items for item in items]
    gathered = _items(items, kind.inner).to_frame().with_columns(pl.Series("owner", owners, dtype=pl.Int64))
    gathered = gathered.group_by("owner", maintain_order=True).agg("item")
    every = pl.DataFrame(
        {
            "owner": pl.Series(range(len(lists)), dtype=pl.Int64),
            "is_known": pl.Series([v is not None for v in lists], dtype=pl.Boolean),
        }
    )
    joined = every.join(gathered, on="owner", how="left", maintain_order="left")
    blank = pl.lit(pl.Series([[]], dtype=kind))
    return joined.select(pl.when("is_known").then(pl.col("item").fill_null(blank)).alias(name)).to_series()


def _items(items: list[Any], kind: Any) -> pl.Series:
    """The flat items of all lists; those of a struct are tuples in the order of its fields."""
    if not isinstance(kind, pl.Struct):
        return _flat("item", items, kind)
    columns = list(zip(*items, strict=True)) or [()] * len(kind.fields)
    fields = [_flat(f.name, c, f.dtype) for f, c in zip(kind.fields, columns, strict=True)]
    return pl.DataFrame(fields).to_struct("item")


def utf8(value: Any) -> Any:
    r"""The value with every lone surrogate written as an escape such as \ud800."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {utf8(k): utf8(v) for k, v in value.items()}
        case list() | tuple():
            return [utf8(v) for v in value]
        case _:
            return value
