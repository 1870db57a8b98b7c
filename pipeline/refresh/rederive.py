"""Derives a snapshot's own raw configs again, offline, with today's rules: what differs is ours, not the Hub's."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb
import msgspec
import polars as pl

import pipeline
from pipeline.refresh import tables
from pipeline.refresh.found import Input
from pipeline.store import build, diff, shelf
from pipeline.store.build import Origin
from pipeline.store.diff import Ours
from pipeline.store.shelf import Entry
from pipeline.store.staged import staged

CHUNK = 1_000


class Rederived(msgspec.Struct, frozen=True):
    """What became of a snapshot's configs; `not_kept` texts were too large for the snapshot to hold."""

    snapshot: str
    code_version_then: str
    code_version_now: str
    not_kept: int
    ours: Ours


def rederive(home: Path, snapshot_id: str, tick: Callable[[], object] | None = None) -> Rederived:
    """Derive every text of a snapshot again and compare; nothing under the home is written.

    `tick` is called once per text.

    Raises:
        NotFound, Corrupt: there is no such snapshot, or it is damaged.
    """
    entry, path = shelf.locate(home, snapshot_id, of_any_major=True)
    return compared(entry, path, tables.tables(texts(path), tick=tick))


def texts(path: Path) -> Iterator[Input]:
    """The distinct raw configs a snapshot carries, each under its config_id."""
    with duckdb.connect(str(path), read_only=True) as con:
        kept = con.execute(
            "SELECT config_id, coalesce(encode(raw), raw_bytes) AS kept FROM configs WHERE kept IS NOT NULL"
            " ORDER BY config_id"
        )
        while rows := kept.fetchmany(CHUNK):
            for config_id, raw in rows:
                yield Input(config_id, raw, "snapshot", None)


def compared(entry: Entry, path: Path, made: Mapping[str, pl.DataFrame]) -> Rederived:
    """Hold tables made from `texts` against the snapshot they came from, in a file that is gone afterwards."""
    now = Origin(entry.id, entry.source, entry.configs, pipeline.__version__)
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        again = Path(folder) / f"{entry.id}.duckdb"
        build.write(again, staged(made))
        build.complete(again, now, {})
        with diff.both(path, again) as con:
            ours = diff.ours(con)
    return Rederived(entry.id, entry.code_version, pipeline.__version__, entry.configs - ours.configs, ours)
