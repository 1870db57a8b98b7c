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
    """A snapshot that breaks rules, with what `judge` found."""

    def __init__(self, message: str, judged: Judged) -> None:
        super().__init__(message)
        self.failures, self.digests = judged


def digests(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
    """Rows and digest of every table as the file holds it, with the columns of the version that wrote it."""
    return {t.name: (_rows(con, t), table_digest(t, stored(con, t))) for t in own_tables(con)}


def _rows(con: duckdb.DuckDBPyConnection, table: Table) -> int:
    return con.execute(f"SELECT count(*) FROM {table.name}").fetchall()[0][0]


def judge(con: duckdb.DuckDBPyConnection) -> Judged:
    """Read the whole file once: every value against its column's rule, then the rules across rows and tables."""
    found: list[Failure] = []
    read: dict[str, tuple[int, str]] = {}
    for table in CONTENT:
        read[table.name] = (_rows(con, table), table_digest(table, _watched(con, table, found)))
    for table in (*RECORDS, SNAPSHOT):
        found += [f for frame in stored(con, table) for f in column_failures(table, frame)]
    found += checks.failures(con)
    return Judged(tuple(found), read)


def _watched(con: duckdb.DuckDBPyConnection, table: Table, found: list[Failure]) -> Iterator[pl.DataFrame]:
    for frame in stored(con, table):
        found += column_failures(table, frame)
        yield frame


def column_failures(table: Table, frame: pl.DataFrame) -> list[Failure]:
    """What pandera finds in a collected frame, as failures for people."""
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
