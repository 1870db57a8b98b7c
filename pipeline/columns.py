"""Gathers rows of a table in columns and turns them into polars frames, a few thousand rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from schemas.fields import Field
from schemas.registry import EVIDENCE, Table
from schemas.tables import MAPS, POLARS, empty

FLUSH = 8_192


class Columns:
    """The growing columns of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._rows: list[tuple[Any, ...]] = []
        self._frames: list[pl.DataFrame] = []

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row, values in the order of the table's columns; maps are dicts, evidence tuples of four texts."""
        self._rows.append(row)
        if len(self._rows) >= FLUSH:
            self._flush()

    def frame(self) -> pl.DataFrame:
        """Everything added so far as one frame."""
        self._flush()
        return pl.concat(self._frames) if self._frames else empty(self.table)

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        self._frames.append(pl.DataFrame([series(f, c) for f, c in zip(self.table.fields, columns, strict=True)]))
        self._rows = []


def series(field: Field, values: Sequence[Any]) -> pl.Series:
    """One column. A text that UTF-8 cannot hold (a lone surrogate) is written with a visible escape instead."""
    if field.kind == "evidence":
        return _evidence(field.name, values)
    if field.kind in MAPS:
        values = [None if m is None else [{"key": k, "value": v} for k, v in _entries(m)] for m in values]
    try:
        return pl.Series(field.name, values, dtype=POLARS[field.kind])
    except UnicodeEncodeError:
        return pl.Series(field.name, [utf8(v) for v in values], dtype=POLARS[field.kind])


def _entries(m: Any) -> Any:  # noqa: ANN401 - a dict, or entries already
    return m.items() if isinstance(m, dict) else ((e["key"], e["value"]) for e in m)


def _evidence(name: str, values: Sequence[Sequence[tuple[str, ...]]]) -> pl.Series:
    """Lists of entries, built flat and then gathered: a twentieth of the time that nested Python lists take."""
    flat = list(zip(*(entry for entries in values for entry in entries), strict=True)) or [()] * len(EVIDENCE)
    owners = [i for i, entries in enumerate(values) for _ in entries]
    columns = [series(f, c) for f, c in zip(EVIDENCE, flat, strict=True)]
    gathered = (
        pl.DataFrame([pl.Series("owner", owners, dtype=pl.Int64), *columns])
        .group_by("owner", maintain_order=True)
        .agg(pl.struct(f.name for f in EVIDENCE).alias(name))
    )
    every = pl.DataFrame({"owner": pl.Series(range(len(values)), dtype=pl.Int64)})
    joined = every.join(gathered, on="owner", how="left", maintain_order="left")
    return joined[name].fill_null(pl.Series([[]], dtype=POLARS["evidence"])) if owners else pl.Series(name, values, dtype=POLARS["evidence"])


def utf8(value: Any) -> Any:  # noqa: ANN401 - texts anywhere inside
    """The value with every lone surrogate written as an escape such as \\ud800."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {utf8(k): utf8(v) for k, v in value.items()}
        case list() | tuple():
            return [utf8(v) for v in value]
        case _:
            return value
