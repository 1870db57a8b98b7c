"""Table models made from the registry: polars types, pandera models, and the DDL that carries the comments.

Pandera sees collected frames only (of a LazyFrame it checks nothing but the schema), and is told what it would let
pass: NaN, infinity, values outside a closed set. Rules that span rows of several tables are in `schemas/checks.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

os.environ.setdefault("PANDERA_VALIDATION_DEPTH", "SCHEMA_AND_DATA")

import pandera.polars as pa
import polars as pl

from schemas.fields import Field, Kind
from schemas.registry import TABLES, Table

_ENTRY = ("field", "value", "origin", "source")
_STATE = ("repeats", "elements", "width_bytes", "kind", "stride", "bound")
_COUNTS = pl.List(pl.Struct({"key": pl.String(), "value": pl.Int64()}))
_WORDS = pl.List(pl.Struct({"key": pl.String(), "value": pl.String()}))

POLARS: dict[Kind, pl.DataType] = {
    "text": pl.String(),
    "int": pl.Int64(),
    "real": pl.Float64(),
    "flag": pl.Boolean(),
    "date": pl.Date(),
    "time": pl.Datetime("us"),
    "blob": pl.Binary(),
    "texts": pl.List(pl.String()),
    "ints": pl.List(pl.Int64()),
    "counts": _COUNTS,
    "words": _WORDS,
    "evidence": pl.List(pl.Struct({name: pl.String() for name in _ENTRY})),
    "states": pl.List(pl.Struct({name: pl.Int64() for name in _STATE} | {"kind": pl.String()})),
}
"""Type of a column in a frame; a map is a list of (key, value) there."""

DUCKDB: dict[Kind, str] = {
    "text": "VARCHAR",
    "int": "BIGINT",
    "real": "DOUBLE",
    "flag": "BOOLEAN",
    "date": "DATE",
    "time": "TIMESTAMP",
    "blob": "BLOB",
    "texts": "VARCHAR[]",
    "ints": "BIGINT[]",
    "counts": "MAP(VARCHAR, BIGINT)",
    "words": "MAP(VARCHAR, VARCHAR)",
    "evidence": "STRUCT(field VARCHAR, value VARCHAR, origin VARCHAR, source VARCHAR)[]",
    "states": (
        "STRUCT(repeats BIGINT, elements BIGINT, width_bytes BIGINT, kind VARCHAR, stride BIGINT, bound BIGINT)[]"
    ),
}
"""Type of a column in the file."""

MAPS: frozenset[Kind] = frozenset({"counts", "words"})


def polars_schema(table: Table) -> dict[str, pl.DataType]:
    """Column types of a table's frame, in order."""
    return {f.name: POLARS[f.kind] for f in table.fields}


def empty(table: Table) -> pl.DataFrame:
    """The table without rows."""
    return pl.DataFrame(schema=polars_schema(table))


@cache
def model(name: str) -> pa.DataFrameSchema:
    """The pandera model of a table: exactly these columns, in this order, with these types and checks."""
    table = TABLES[name]
    return pa.DataFrameSchema(
        {f.name: _column(f) for f in table.fields}, name=name, strict=True, ordered=True, coerce=False
    )


def is_sound(name: str, frame: pl.DataFrame) -> bool:
    """Whether a collected frame is what `model` demands, asked in one pass; what is wrong with it pandera tells.

    The same rules: pandera asks one after another, some milliseconds for each column of however few rows.
    """
    if list(frame.schema.items()) != list(polars_schema(TABLES[name]).items()):
        return False
    return frame.select(_sound(name)).item()  # pyright: ignore[reportUnknownMemberType] - polars names numpy


@cache
def _sound(name: str) -> pl.Expr:
    fields = TABLES[name].fields
    filled = [pl.col(f.name).null_count() == 0 for f in fields if not f.nullable]
    held = [holds(pl.col(f.name)).all() for f in fields for _, holds in _rules(f)]
    return pl.all_horizontal(*filled, *held)  # pyright: ignore[reportUnknownMemberType] - polars names numpy


def _column(field: Field) -> pa.Column:
    return pa.Column(POLARS[field.kind], checks(field), nullable=field.nullable, description=field.meaning)


def checks(field: Field) -> list[pa.Check]:
    """The checks of one column beyond its type: finite, bounded, of its closed set. Each name is the rule in words."""
    return [_check(says, holds) for says, holds in _rules(field)]


def _rules(field: Field) -> list[tuple[str, Callable[[pl.Expr], pl.Expr]]]:
    found: list[tuple[str, Callable[[pl.Expr], pl.Expr]]] = []
    if field.kind == "real":
        found.append(("is a finite number", lambda column: column.is_finite()))
    if (least := field.least) is not None:
        found.append((f"is at least {least:g}", lambda column: column >= least))
    if (among := field.among) is not None:
        words = [str(w) for w in among]
        found.append((f"is one of {', '.join(words)}", lambda column: column.is_in(words)))
    return found


def _check(says: str, holds: Callable[[pl.Expr], pl.Expr]) -> pa.Check:
    """A check under its own words: pandera's ready-made ones name themselves in code."""

    def check(data: pa.PolarsData) -> pl.LazyFrame:
        column = holds(pl.col(data.key or "*"))
        return data.lazyframe.select(column)  # pyright: ignore[reportUnknownMemberType] - polars names numpy

    return pa.Check(check, name=says)


def ddl(table: Table) -> str:
    """CREATE TABLE with types and NOT NULL, then the comments."""
    lines = [f'"{f.name}" {DUCKDB[f.kind]}{"" if f.nullable else " NOT NULL"}' for f in table.fields]
    body = ",\n  ".join(lines)
    comments = [f"COMMENT ON TABLE {table.name} IS {quoted(table.meaning)};"]
    comments += [f'COMMENT ON COLUMN {table.name}."{f.name}" IS {quoted(comment(f))};' for f in table.fields]
    return f"CREATE TABLE {table.name} (\n  {body}\n);\n" + "\n".join(comments)


def comment(field: Field) -> str:
    """What a column's comment says: meaning, unit, closed set."""
    among = f" One of: {', '.join(field.among)}." if field.among else ""
    unit = f" [{field.unit}]" if field.unit else ""
    return f"{field.meaning}{among}{unit}"


def quoted(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
