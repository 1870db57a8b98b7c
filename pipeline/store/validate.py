"""Judges a finished snapshot from the file itself: table models, rules across tables, digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import duckdb
import pandera.errors
import polars as pl

from pipeline.errors import Invalid
from pipeline.store.build import stored
from pipeline.store.digest import table_digest
from pipeline.store.found import own_tables
from schemas import checks, tables
from schemas.checks import EXAMPLES, Failure
from schemas.registry import CONTENT, RECORDS, SNAPSHOT, Table

_TOLD = {"not_nullable": "is never null"}


class Judged(NamedTuple):
    """What is wrong with a snapshot, and rows and digest of each table as read."""

    failures: tuple[Failure, ...]
    digests: Mapping[str, tuple[int, str]]


class Broken(Invalid):
    """A snapshot that breaks rules, with what is wrong with it."""

    def __init__(self, message: str, judged: Judged) -> None:
        super().__init__(message)
        self.failures, self.digests = judged


def digests(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
    """Rows and digest of every table as the file holds it, with the columns of the version that wrote it."""
    return {t.name: (_rows(con, t), table_digest(t, stored(con, t))) for t in own_tables(con)}


def _rows(con: duckdb.DuckDBPyConnection, table: Table) -> int:
    return con.execute(f"SELECT count(*) FROM {table.name}").fetchall()[0][0]


def values(con: duckdb.DuckDBPyConnection) -> Judged:
    """Every value of the content against its column's rule, and the digests on the way; nothing holds a table."""
    found: list[Failure] = []
    read = {t.name: (_rows(con, t), table_digest(t, _watched(con, t, found))) for t in CONTENT}
    return Judged(_together(found), read)


def across(con: duckdb.DuckDBPyConnection) -> tuple[Failure, ...]:
    """The columns of what is outside the content, and the rules across rows and tables, of a complete file."""
    found = [f for t in (*RECORDS, SNAPSHOT) for frame in stored(con, t) for f in column_failures(t, frame)]
    return (*_together(found), *checks.failures(con))


def _together(found: list[Failure]) -> tuple[Failure, ...]:
    """One failure a rule, whatever parts of a table break it."""
    kept: dict[tuple[str, str], Failure] = {}
    for f in found:
        old = kept.get((f.table, f.says))
        more = (
            f if old is None else f._replace(rows=old.rows + f.rows, examples=(*old.examples, *f.examples)[:EXAMPLES])
        )
        kept[f.table, f.says] = more
    return tuple(kept.values())


def _watched(con: duckdb.DuckDBPyConnection, table: Table, found: list[Failure]) -> Iterator[pl.DataFrame]:
    for frame in stored(con, table):
        found += column_failures(table, frame)
        yield frame


def column_failures(table: Table, frame: pl.DataFrame) -> list[Failure]:
    """What pandera finds in a collected frame, as failures for people; not asked where all is sound."""
    if tables.is_sound(table.name, frame):
        return []
    try:
        tables.model(table.name).validate(frame, lazy=True)
    except pandera.errors.SchemaErrors as error:
        return [_told(table, frame, rule) for rule in error.failure_cases.partition_by("column", "check")]
    return []


def _told(table: Table, frame: pl.DataFrame, cases: pl.DataFrame) -> Failure:
    column, rule = cases["column"][0], str(cases["check"][0])
    says = f"{column or 'it'} {_TOLD.get(rule, rule)}"
    return Failure(
        table.name,
        says,
        cases.height,
        tuple(_example(table, frame, case) for case in cases.head(EXAMPLES).iter_rows(named=True)),
    )


def _example(table: Table, frame: pl.DataFrame, case: dict[str, object]) -> str:
    value, index = case["failure_case"], case["index"]
    if not isinstance(index, int) or not set(table.key) <= set(frame.columns):
        return str(value)
    key = " ".join(str(frame[k][index]) for k in table.key)
    return f"{key}: {value}"


def require(judged: Judged, what: str) -> None:
    """Raise `Broken` with every broken rule, in words."""
    if judged.failures:
        told = "\n  ".join(str(f) for f in judged.failures)
        raise Broken(
            f"{what} is not valid, nothing was published; {len(judged.failures)} rule(s) are broken:\n  {told}", judged
        )


def overview(digests: Mapping[str, tuple[int, str]], failures: Iterable[Failure]) -> list[dict[str, str]]:
    """The validation as a table: per table its rows, digest, columns and rules checked, and what is broken."""
    found = list(failures)
    rules = Counter(rule.table for rule in checks.rules())
    return [
        {
            "table": t.name,
            "rows": f"{digests[t.name][0]:,}",
            "columns checked": str(len(t.fields)),
            "rules checked": str(rules[t.name]),
            "broken": "; ".join(str(f) for f in found if f.table == t.name) or "none",
            "digest": digests[t.name][1][:16],
        }
        for t in CONTENT
    ]
