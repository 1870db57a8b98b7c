"""The tables of a snapshot as the file itself has them, whatever version wrote it."""

from __future__ import annotations

import duckdb

from pipeline.errors import Corrupt
from schemas.fields import Field, Kind
from schemas.registry import SNAPSHOT, Table
from schemas.tables import DUCKDB

_KINDS: dict[str, Kind] = {sql: kind for kind, sql in DUCKDB.items()}


def own_tables(con: duckdb.DuckDBPyConnection) -> tuple[Table, ...]:
    """The tables that an open file's manifest names, with its own columns; raises `Corrupt` for a strange type."""
    names = con.execute("SELECT name FROM snapshot WHERE name <> ? ORDER BY name", [SNAPSHOT.name]).fetchall()
    return tuple(Table(name, "", (), _fields(con, name)) for (name,) in names)


def _fields(con: duckdb.DuckDBPyConnection, table: str) -> tuple[Field, ...]:
    found = con.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]
    ).fetchall()
    columns = [(name, sql.replace('"', "")) for name, sql in found]
    strange = [f"{name} {sql}" for name, sql in columns if sql not in _KINDS]
    if strange:
        raise Corrupt(f"table {table} has columns of types that no version writes: {', '.join(strange)}")
    return tuple(Field(name, _KINDS[sql], "") for name, sql in columns)
