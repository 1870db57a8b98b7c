"""Writes one snapshot file: tables with comments, views, macros, and the manifest last.

The file is in the storage version that DuckDB 1.5 reads. Frames go in through Arrow's C stream, which needs no pyarrow.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from pipeline.durable import failpoint
from pipeline.store import digest, sightings
from pipeline.store.staged import Staged, in_order, staged
from schemas import tables, views
from schemas.registry import CONFIGS, CONTENT, MODELS, RECORDS, RUNS, SIGHTINGS, SNAPSHOT, TABLES, Table
from schemas.tables import MAPS, quoted
from schemas.version import SCHEMA_VERSION
from schemas.vocabulary import Outcome

Tables = Mapping[str, pl.DataFrame]
"""Frames by table name; a table that is left out is empty."""

STORAGE_VERSION = "v1.5.0"
SORTED, EVIDENCE = 1 << 27, 1 << 13
"""Bytes of configs that are put in order at a time, and those that one's evidence takes, roughly."""
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


def ordered(content: Tables, day: dt.date | None = None) -> dict[str, pl.DataFrame]:
    """Every table as `write` writes it, as frames: the registry's columns and types, in the order of its key."""
    held = staged(content)
    with held.open() as con:
        selects = recorded(con, held, day)
    return {n: held.frame(f"SELECT * FROM {q} {in_order(TABLES[n])}", n) for n, q in selects.items()}


def recorded(
    con: duckdb.DuckDBPyConnection, content: Staged, day: dt.date | None = None, before: pl.DataFrame | None = None
) -> dict[str, str]:
    """Relations of all tables: `models` as it stands and `runs` as it happened on `day` (else the day of each config).

    What is unchanged stands as ok: a day on which nothing changed has the digests of the day before. `before` is the
    table `sightings` of the snapshot before. Where `runs` is given, all are taken as they are.
    """
    found = {t.name: content.table(t.name) for t in (*CONTENT, *RECORDS)}
    if content.has(RUNS.name) and _one(con, f"SELECT count(*) FROM {found[RUNS.name]}"):
        return found
    models = found[MODELS.name]
    stands = f"if(outcome = '{Outcome.UNCHANGED}', '{Outcome.OK}', outcome)"
    newest = str(day or _one(con, f"SELECT coalesce(max(as_of), DATE '{EPOCH}') FROM {models}"))
    when = f"DATE '{newest}'" if day else f"coalesce(as_of, DATE '{newest}')"
    content.put(_SEEN, sightings.seen(con, models, found[CONFIGS.name], dt.date.fromisoformat(newest), before))
    return found | {
        MODELS.name: f"(SELECT * REPLACE ({stands} AS outcome) FROM {models})",
        RUNS.name: f"(SELECT repo_id, outcome, detail, {when} AS day FROM {models})",
        SIGHTINGS.name: content.given(_SEEN),
    }


_SEEN = "seen"


def _one(con: duckdb.DuckDBPyConnection, query: str) -> object:
    return con.execute(query).fetchall()[0][0]


def digests(content: Tables) -> dict[str, tuple[int, str]]:
    """Rows and digest of every table, given as `ordered` makes them."""
    return {
        t.name: (content[t.name].height, digest.table_digest(t, content[t.name].iter_slices(digest.SLICE)))
        for t in CONTENT
    }


def write(
    path: Path, content: Staged, day: dt.date | None = None, before: pl.DataFrame | None = None
) -> dict[str, tuple[int, int]]:
    """Write a new file at `path`, everything but the manifest; return what `sums` must find in it.

    `day` and `before` as in `recorded`.
    """
    with content.apart() as con:
        selects = recorded(con, content, day, before)
        con.execute(f"ATTACH {quoted(str(path))} AS snapshot_file (STORAGE_VERSION '{STORAGE_VERSION}')")
        con.execute("USE snapshot_file")
        _define(con)
        for table in CONTENT:
            _fill(con, table, selects[table.name])
            failpoint("snapshot.table")
        for table in RECORDS:
            _fill(con, table, selects[table.name])
            failpoint("snapshot.record")
        con.execute("CHECKPOINT snapshot_file")
        con.execute("USE memory")
        con.execute("DETACH snapshot_file")
        return {t.name: _sum(con, t, f"(SELECT {_values(t)} FROM {selects[t.name]})") for t in (*CONTENT, *RECORDS)}


def complete(path: Path, origin: Origin, digests: Mapping[str, tuple[int, str]]) -> str:
    """Write the manifest into a file that `write` made; return the manifest's digest."""
    whole = manifest_digest(origin, digests)
    with duckdb.connect(str(path)) as con:
        failpoint("snapshot.manifest")
        _insert(con, SNAPSHOT, _manifest(origin, digests, whole))
    failpoint("snapshot.complete")
    return whole


def _fill(con: duckdb.DuckDBPyConnection, table: Table, rows: str) -> None:
    con.execute("BEGIN")  # one transaction: each would go through the log by itself
    for part in _in_parts(con, rows) if table is CONFIGS else [rows]:
        con.execute(f"INSERT INTO {table.name} SELECT {_values(table)} FROM {part} {in_order(table)}")
    con.execute("COMMIT")


def _in_parts(con: duckdb.DuckDBPyConnection, configs: str) -> list[str]:
    """The configs as relations of about `SORTED` bytes, one after the other in the order of their key.

    DuckDB cannot sort texts and lists beyond its memory, although it spills: the lists of a sort stay pinned.
    """
    key = CONFIGS.key[0]
    sizes = f"SELECT {key}, sum(size_bytes + {EVIDENCE}) OVER (ORDER BY {key}) // {SORTED} AS part FROM {configs}"
    firsts = [row[0] for row in con.execute(f"SELECT min({key}) FROM ({sizes}) GROUP BY part ORDER BY 1").fetchall()]
    starts = [f"{key} >= {quoted(first)}" for first in firsts]
    ends = [f" AND {key} < {quoted(first)}" for first in firsts[1:]]
    return [f"(SELECT * FROM {configs} WHERE {start}{end})" for start, end in zip_longest(starts, ends, fillvalue="")]


def sums(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, int]]:
    """Rows of every table of an open file, and a sum over them that knows no order, as `write` took them."""
    return {t.name: _sum(con, t, t.name) for t in (*CONTENT, *RECORDS)}


def _sum(con: duckdb.DuckDBPyConnection, table: Table, rows: str) -> tuple[int, int]:
    columns = ", ".join(f'"{c}"' for c in table.columns)
    return con.execute(f"SELECT count(*), coalesce(sum(hash({columns})), 0) FROM {rows}").fetchall()[0]


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


def _values(table: Table) -> str:
    """The columns of a table as its file has them, from those of a frame."""
    return ", ".join(
        f'map_from_entries("{f.name}") AS "{f.name}"' if f.kind in MAPS else f'"{f.name}"' for f in table.fields
    )


def _insert(con: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame) -> None:
    if rows.is_empty():
        return
    con.register("incoming", Stream(rows))
    con.execute(f"INSERT INTO {table.name} SELECT {_values(table)} FROM incoming")
    con.unregister("incoming")


WIDE = {"configs": 2_048}
"""Rows that are read at a time where one holds a text and its evidence; a slice elsewhere."""


def stored(con: duckdb.DuckDBPyConnection, table: Table) -> Iterator[pl.DataFrame]:
    """A table of an open snapshot in stored order, some thousand rows at a time; memory stays bounded."""
    rows = con.execute(f"SELECT count(*) FROM {table.name}").fetchall()[0][0]
    values = ", ".join(
        f'map_entries("{f.name}") AS "{f.name}"' if f.kind in MAPS else f'"{f.name}"' for f in table.fields
    )
    step = WIDE.get(table.name, digest.SLICE)
    for start in range(0, rows, step):
        relation = con.sql(
            f"SELECT {values} FROM {table.name} WHERE rowid >= {start} AND rowid < {start + step} ORDER BY rowid"
        )
        yield digest.as_stored(table, pl.DataFrame(relation))
