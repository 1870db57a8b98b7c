"""Writes one snapshot file: tables with comments, views, macros, and the manifest last.

The file is in the storage version that DuckDB 1.5 reads. Frames go in through Arrow's C stream, which needs no pyarrow.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from pipeline.durable import failpoint
from pipeline.store import digest, sightings
from schemas import tables, views
from schemas.registry import CONTENT, MODELS, RECORDS, RUNS, SIGHTINGS, SNAPSHOT, Table
from schemas.tables import MAPS, quoted
from schemas.version import SCHEMA_VERSION
from schemas.vocabulary import Outcome

Tables = Mapping[str, pl.DataFrame]
"""Frames by table name; a table that is left out is empty."""

STORAGE_VERSION = "v1.5.0"
MEMORY = "600MB"
WHOLE = "snapshot"
EPOCH = dt.date(1970, 1, 1)
"""The day of a run that nothing dates."""


class Origin(NamedTuple):
    """What a manifest says of the whole, beside its tables. `listed` is how many repositories the refresh listed."""

    snapshot_id: str
    source: str
    listed: int
    code_version: str
    schema_version: str = SCHEMA_VERSION
    previous_id: str | None = None
    previous_digest: str | None = None


class Stream:
    """A frame as DuckDB takes it without pyarrow: by the Arrow C stream alone."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def ordered(content: Tables) -> dict[str, pl.DataFrame]:
    """Every table with the registry's columns and types, in the order of its key; `runs` as in `recorded`."""
    given = {t.name: content.get(t.name, tables.empty(t)) for t in (*CONTENT, *RECORDS)}
    found = {t.name: digest.as_stored(t, given[t.name]).sort(t.key) for t in (*CONTENT, *RECORDS)}
    return found if found[RUNS.name].height else recorded(found)


def recorded(
    content: Mapping[str, pl.DataFrame], day: dt.date | None = None, before: pl.DataFrame | None = None
) -> dict[str, pl.DataFrame]:
    """The content with `models` as it stands and `runs` as it happened on `day` (else the day of each config).

    What is unchanged stands as ok: a day on which nothing changed has the digests of the day before. `before` is the
    table `sightings` of the snapshot before.
    """
    models = content[MODELS.name]
    outcome = pl.col("outcome").cast(pl.String)
    when = pl.lit(day, dtype=pl.Date) if day else pl.col("as_of").fill_null(pl.col("as_of").max()).fill_null(EPOCH)
    runs = models.select("repo_id", outcome, "detail", when.alias("day"))
    standing = models.with_columns(outcome.replace(Outcome.UNCHANGED.value, Outcome.OK.value))
    newest = runs["day"].max()
    seen = sightings.seen(content, day or (newest if isinstance(newest, dt.date) else EPOCH), before)
    return {**content, MODELS.name: standing, RUNS.name: runs, SIGHTINGS.name: seen}


def digests(content: Tables) -> dict[str, tuple[int, str]]:
    """Rows and digest of every table, given as `ordered` makes them."""
    return {
        t.name: (content[t.name].height, digest.table_digest(t, content[t.name].iter_slices(digest.SLICE)))
        for t in CONTENT
    }


def write(path: Path, content: Tables, origin: Origin, digests: Mapping[str, tuple[int, str]]) -> str:
    """Write a new file at `path` from tables as `ordered` makes them; return the digest of its manifest."""
    whole = manifest_digest(origin, digests)
    with duckdb.connect(config={"memory_limit": MEMORY, "threads": 2, "temp_directory": ""}) as con:
        con.execute(f"ATTACH {quoted(str(path))} AS snapshot_file (STORAGE_VERSION '{STORAGE_VERSION}')")
        con.execute("USE snapshot_file")
        _define(con)
        for table in CONTENT:
            _insert(con, table, content[table.name])
            failpoint("snapshot.table")
        for table in RECORDS:
            _insert(con, table, content[table.name])
            failpoint("snapshot.record")
        con.execute("CHECKPOINT snapshot_file")
        failpoint("snapshot.manifest")
        _insert(con, SNAPSHOT, _manifest(origin, digests, whole))
        con.execute("USE memory")
        con.execute("DETACH snapshot_file")
    failpoint("snapshot.complete")
    return whole


def _define(con: duckdb.DuckDBPyConnection) -> None:
    """Create all tables, comments, views and macros, in one transaction: each would wait for the disk by itself."""
    con.execute("BEGIN")
    for statement in [*(tables.ddl(t) for t in (*CONTENT, *RECORDS, SNAPSHOT)), *views.statements()]:
        con.execute(statement)
    con.execute("COMMIT")


def _manifest(origin: Origin, digests: Mapping[str, tuple[int, str]], whole: str) -> pl.DataFrame:
    entries: list[tuple[object, ...]] = [(name, rows, value, *[None] * 6) for name, (rows, value) in digests.items()]
    about = (origin.snapshot_id, origin.source, origin.schema_version, origin.code_version, origin.previous_id)
    entries.append((WHOLE, origin.listed, whole, *about, origin.previous_digest))
    return pl.DataFrame(entries, schema=dict(tables.polars_schema(SNAPSHOT)), orient="row").sort("name")


def manifest_digest(origin: Origin, digests: Mapping[str, tuple[int, str]]) -> str:
    """SHA-256 (hex) over what the manifest says, the previous manifest's digest among it."""
    said = {**origin._asdict(), "tables": {name: list(entry) for name, entry in sorted(digests.items())}}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _insert(con: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame) -> None:
    if rows.is_empty():
        return
    con.register("incoming", Stream(rows))
    values = ", ".join(f'map_from_entries("{f.name}")' if f.kind in MAPS else f'"{f.name}"' for f in table.fields)
    con.execute(f"INSERT INTO {table.name} SELECT {values} FROM incoming")
    con.unregister("incoming")


def stored(con: duckdb.DuckDBPyConnection, table: Table) -> Iterator[pl.DataFrame]:
    """A table of an open snapshot in stored order, in slices that `digest.table_digest` takes; memory stays bounded."""
    rows = con.execute(f"SELECT count(*) FROM {table.name}").fetchall()[0][0]
    values = ", ".join(
        f'map_entries("{f.name}") AS "{f.name}"' if f.kind in MAPS else f'"{f.name}"' for f in table.fields
    )
    for start in range(0, rows, digest.SLICE):
        relation = con.sql(
            f"SELECT {values} FROM {table.name}"
            f" WHERE rowid >= {start} AND rowid < {start + digest.SLICE} ORDER BY rowid"
        )
        yield digest.as_stored(table, pl.DataFrame(relation))
