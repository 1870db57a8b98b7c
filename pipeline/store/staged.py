"""Tables on their way to a snapshot: parts on disk, put together by queries; nothing holds all rows.

A part is a Parquet file in a temporary folder that goes with the object. What a table comes to is a query over parts,
so that any connection can run it, and orders and joins spill to the same folder.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import duckdb
import polars as pl

from pipeline.durable import failpoint, telling
from pipeline.store import digest
from schemas.registry import CONFIGS, CONTENT, RECORDS, TABLES, Table
from schemas.tables import empty, quoted

MEMORY = "256MB"
"""What DuckDB holds while it orders and writes; the rest spills."""
GROUP = 64
"""Configs that are read together where a range of them is asked for."""
NAMES = tuple(t.name for t in (*CONTENT, *RECORDS))


class Staged(Mapping[str, pl.DataFrame]):
    """The tables of a snapshot that is being made; as a mapping, frames in the order of their keys."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="atlas-"))
        self._engine = ExitStack()
        self._con: duckdb.DuckDBPyConnection | None = None
        weakref.finalize(self, _gone, self._engine, self.folder)
        self._parts: Counter[str] = Counter()
        self._queries: dict[str, str] = {}

    def add(self, name: str, frame: pl.DataFrame) -> None:
        """Put rows aside; raises AtlasError where the disk of temporary files is full."""
        if frame.height or not self._parts[name]:
            self._parts[name] += 1
            path = self.folder / f"{name}-{self._parts[name]:06}.parquet"
            with telling(path):
                failpoint("staged.part")
                _write(path, name, frame)

    def put(self, name: str, frame: pl.DataFrame) -> None:
        """Put rows aside instead of those that are there."""
        for part in self.folder.glob(f"{name}-*.parquet"):
            part.unlink()
        self._parts[name] = 0
        self.add(name, frame)

    def run(self, name: str, query: str) -> None:
        """Put what a query gives aside, without holding it."""
        self._parts[name] += 1
        path = self.folder / f"{name}-{self._parts[name]:06}.parquet"
        with self.open() as con:
            con.execute(f"COPY ({query}) TO {quoted(str(path))} (FORMAT parquet, COMPRESSION lz4)")

    def given(self, name: str) -> str:
        """The rows put aside under a name, as a relation."""
        if not self._parts[name]:
            self.add(name, empty(TABLES[name]))
        return f"(FROM read_parquet({quoted(str(self.folder / f'{name}-*.parquet'))}))"

    def has(self, name: str) -> bool:
        """Whether anything was put aside under a name."""
        return self._parts[name] > 0

    def decide(self, name: str, query: str) -> None:
        """Let a table be what this query gives, instead of what was put aside under its name."""
        self._queries[name] = query

    def table(self, name: str) -> str:
        """What a table comes to, as a relation."""
        return f"({self._queries[name]})" if name in self._queries else self.given(name)

    @contextmanager
    def open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection that can run the queries; it is bounded, and spills beside the parts.

        All of them are of one database: to open one takes longer than most queries.
        """
        if self._con is None:
            self._con = self._engine.enter_context(self.apart())
        with self._con.cursor() as con:
            yield con

    def apart(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """The same of a database of its own, which takes what is attached to it along."""
        return _bounded(str(self.folder / "spill"))

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query with a small answer."""
        with self.open() as con:
            return con.execute(query).fetchall()

    def count(self, name: str) -> int:
        """Rows of a table."""
        return int(str(self.ask(f"SELECT count(*) FROM {self.table(name)}")[0][0]))

    def counts(self, name: str, column: str) -> dict[str, int]:
        """How many rows of a table have each word of a column."""
        rows = self.ask(f"SELECT {column}::VARCHAR, count(*) FROM {self.table(name)} GROUP BY ALL ORDER BY ALL")
        return {str(word): int(str(n)) for word, n in rows}

    def frame(self, query: str, name: str) -> pl.DataFrame:
        """What a query over a table gives, with the table's columns and types."""
        with self.open() as con:
            return digest.as_stored(TABLES[name], pl.DataFrame(con.sql(query)))

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in NAMES:
            raise KeyError(name)
        return self.frame(f"SELECT * FROM {self.table(name)} {in_order(TABLES[name])}", name)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A snapshot's file to be read whole: in bounded memory, orders and joins spill to a folder that goes."""
    with tempfile.TemporaryDirectory(prefix="atlas-") as spill, _bounded(spill) as con:
        con.execute(f"ATTACH {quoted(str(path))} AS held (READ_ONLY)")  # who holds it open has it with other settings
        con.execute("USE held")
        yield con


@contextmanager
def _bounded(spill: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own that holds at most `MEMORY` and spills to this folder."""
    config: dict[str, str | bool | int | float | list[str]]
    config = {"memory_limit": MEMORY, "threads": 2, "temp_directory": spill}
    with duckdb.connect(config=config) as con:
        yield con


def _write(path: Path, name: str, frame: pl.DataFrame) -> None:
    """Configs are written in order and in small groups: who wants a range of them reads little else."""
    if name != CONFIGS.name:
        frame.write_parquet(path, compression="lz4", statistics=False)
        return
    frame.sort(CONFIGS.key).write_parquet(path, compression="lz4", statistics=True, row_group_size=GROUP)


def in_order(table: Table) -> str:
    """The clause that orders a table by its key."""
    return "ORDER BY " + ", ".join(f'"{k}"' for k in table.key)


def _gone(engine: ExitStack, folder: Path) -> None:
    """Close the database, then take the folder away that it spills to."""
    engine.close()
    shutil.rmtree(folder, ignore_errors=True)


def staged(content: Mapping[str, pl.DataFrame]) -> Staged:
    """These tables as they are, or frames put aside; a table that is left out is empty."""
    if isinstance(content, Staged):
        return content
    made = Staged()
    for name in NAMES:
        if name in content:
            made.add(name, digest.as_stored(TABLES[name], content[name]))
    return made
