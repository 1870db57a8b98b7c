"""Writes a snapshot as Parquet, a file a table, and as a dataset folder of the Hub with its card.

The same snapshot gives the same bytes: rows in stored order, one thread, no clock.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb

from pipeline.durable import lock, replacing, sweep, telling, write_atomically
from pipeline.errors import AtlasError, Usage
from pipeline.export import card
from pipeline.store import cite, shelf
from pipeline.store.cite import Cited
from pipeline.store.shelf import Entry
from schemas import dictionary
from schemas.registry import TABLES
from schemas.tables import quoted

FOLDER = "exports"
DATA = "data"
CARD, DICTIONARY = "README.md", "data_dictionary.md"
CITATION, FILE = "CITATION.cff", "atlas.duckdb"
VIEW = "fingerprints"
VIEWS = (VIEW, "evidence", "layers_expanded")
NAMES = (*VIEWS, *TABLES)
"""What becomes a Parquet file: the views that answer most questions, and every table."""


class Exported(NamedTuple):
    """The snapshot, the folder it was written to, and rows by table."""

    entry: Entry
    folder: Path
    rows: dict[str, int]


def parquet(home: Path, snapshot: str | None, to: Path | None = None) -> Exported:
    """One Parquet file a table in `to`, or under the home's exports.

    Raises:
        NotFound, Corrupt: there is no such snapshot, or it is damaged.
        Usage: the folder holds something else.
        AtlasError: the disk is full, failing or read-only.
    """
    entry, path = shelf.locate(home, snapshot)
    folder = _at(to or home / FOLDER / "parquet" / entry.id)
    with lock(home / FOLDER):
        _make(folder, {f"{name}.parquet" for name in NAMES})
        return Exported(entry, folder, _write(path, folder, flat=False))


def dataset(home: Path, snapshot: str | None, to: Path | None = None) -> Exported:
    """A dataset of the Hub: tables under `data`, the card, the dictionary, the citation, and the snapshot itself.

    Raises as `parquet`.
    Maps become lists of (key, value): the `datasets` library knows no maps.
    """
    entry, path = shelf.locate(home, snapshot)
    folder = _at(to or home / FOLDER / "hf" / entry.id)
    with lock(home / FOLDER):
        _make(folder, {DATA, CARD, DICTIONARY, CITATION, FILE})
        _make(folder / DATA, {f"{name}.parquet" for name in NAMES})
        rows = _write(path, folder / DATA, flat=True)
        write_atomically(folder / DICTIONARY, dictionary.markdown(), point="export.dictionary")
        write_atomically(folder / CITATION, cite.cff(cite.cited(path)), point="export.citation")
        _copy_file(path, folder / FILE)
        write_atomically(folder / CARD, card.card(path, rows, DATA, DICTIONARY), point="export.card")
        return Exported(entry, folder, rows)


def tables(snapshot: Path, folder: Path) -> dict[str, int]:
    """Write the files of a snapshot, by its path, into a folder that is there; rows by table. Raises `AtlasError`."""
    return _write(snapshot, folder, flat=False)


def _at(folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise Usage(f"--to {folder} is a file: name a folder")
    return folder


def _make(folder: Path, ours: set[str]) -> None:
    """Make the folder; what is in it already may only be an earlier export, which is replaced file by file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
        others = sorted(p.name for p in folder.iterdir() if p.name not in ours)
    except OSError as error:
        raise AtlasError(f"{folder} cannot be written: {error.strerror}; name another folder with --to") from error
    foreign = others or [CARD for _ in (1,) if CARD in ours and not _is_card(folder / CARD)]
    if foreign:
        raise Usage(f"{folder} holds {foreign[0]}, which is no export of a snapshot: name a new or empty folder")


def _is_card(path: Path) -> bool:
    return not path.exists() or card.MARK in path.read_text("utf-8", errors="replace")


def _copy_file(snapshot: Path, to: Path) -> None:
    """The snapshot's own bytes."""
    with replacing(to, point="export.file") as temporary, telling(to):
        shutil.copyfile(snapshot, temporary)


def _write(snapshot: Path, folder: Path, *, flat: bool) -> dict[str, int]:
    found = cite.cited(snapshot)
    with duckdb.connect(str(snapshot), read_only=True, config={"threads": 1}) as con:
        return {name: _copy(con, name, folder / f"{name}.parquet", found, flat=flat) for name in NAMES}


def _copy(con: duckdb.DuckDBPyConnection, name: str, path: Path, found: Cited, *, flat: bool) -> int:
    columns = ", ".join(_columns(con, name, flat=flat))
    order = "repo_id" if name == VIEW else "ALL" if name in VIEWS else "rowid"
    told = ", ".join(f"{key}: {quoted(value)}" for key, value in _about(con, name, found).items())
    with replacing(path, point="export.table") as temporary:
        try:
            [(rows,)] = con.execute(
                f"COPY (SELECT {columns} FROM {name} ORDER BY {order}) TO {quoted(str(temporary))}"
                f" (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{told}}})"
            ).fetchall()
        except duckdb.IOException as error:
            raise AtlasError(f"cannot write {path}: {str(error).splitlines()[0]}") from error
    return rows


def _about(con: duckdb.DuckDBPyConnection, name: str, found: Cited) -> dict[str, str]:
    """What travels in a Parquet file's own metadata: which snapshot, its digests, the licence, what columns mean."""
    comments = con.execute("SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ?", [name]).fetchall()
    return {
        "snapshot": found.date,
        "content_digest": found.content,
        "table_digest": found.tables.get(name, ""),
        "schema_version": found.schema_version,
        "license": "Apache-2.0; configs.raw under the licences of their repositories",
        "cite": cite.line(found),
        "columns": json.dumps(dict(comments)),
    }


def _columns(con: duckdb.DuckDBPyConnection, name: str, *, flat: bool) -> Iterator[str]:
    for column, kind, *_ in con.execute(f"DESCRIBE {name}").fetchall():
        is_map = flat and str(kind).startswith("MAP(")
        yield f'map_entries("{column}") AS "{column}"' if is_map else f'"{column}"'
