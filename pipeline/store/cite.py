"""How a snapshot is cited: its date and the digest of what its tables say, whatever file or history they stand in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import duckdb
import msgspec

from pipeline.durable import write_atomically
from pipeline.store import shelf
from schemas.registry import CONTENT, SNAPSHOT

NAME = "LLM architecture atlas"
RECORD = Path(__file__).with_name("published.json")
"""The digests of the catalogue's own snapshot, as committed."""


class Cited(msgspec.Struct, frozen=True):
    """What identifies a snapshot: equal `content` means equal tables, row for row."""

    date: str
    schema_version: str
    code_version: str
    content: str
    tables: dict[str, str]


def content_digest(tables: Mapping[str, str]) -> str:
    """SHA-256 (hex) over the digests of the tables by name."""
    return hashlib.sha256(json.dumps({k: tables[k] for k in sorted(tables)}).encode()).hexdigest()


def cited(path: Path) -> Cited:
    """The identity of a snapshot's file, from its manifest."""
    with duckdb.connect(str(path), read_only=True) as con:
        return of(con)


def of(con: duckdb.DuckDBPyConnection) -> Cited:
    """The same of a snapshot that is open."""
    rows = con.execute("SELECT name, digest, snapshot_id, schema_version, code_version FROM snapshot").fetchall()
    tables = {name: digest for name, digest, *_ in rows if name in {t.name for t in CONTENT}}
    day, schema, code = next(tuple(rest) for name, _, *rest in rows if name == SNAPSHOT.name)
    return Cited(day, schema, code, content_digest(tables), tables)


def line(found: Cited) -> str:
    """The sentence to cite a snapshot by."""
    return (
        f"{NAME}, snapshot {found.date}, schema {found.schema_version}, atlas {found.code_version},"
        f" sha256:{found.content}"
    )


def cff(found: Cited) -> str:
    """CITATION.cff of an exported snapshot."""
    day = found.date.partition(".")[0]
    return "\n".join(
        [
            "cff-version: 1.2.0",
            "message: Cite the snapshot that you used.",
            "type: dataset",
            f"title: {NAME}, snapshot {found.date}",
            "authors:",
            f"  - name: The {NAME}",
            f'version: "{found.date}"',
            f"date-released: {day}",
            "license: Apache-2.0",
            "identifiers:",
            "  - type: other",
            f"    value: sha256:{found.content}",
            "    description: Digest of the tables, row for row.",
            "",
        ]
    )


def against_record(path: Path, record: Path = RECORD) -> str | None:
    """How a catalogue's snapshot compares with the committed digests, in words; None where there are none."""
    if not record.is_file():
        return None
    known, found = msgspec.json.decode(record.read_bytes(), type=Cited), cited(path)
    if known.content == found.content:
        return f"equals the published digests of {known.date} (sha256:{found.content[:16]})"
    names = sorted(n for n in {**known.tables, **found.tables} if known.tables.get(n) != found.tables.get(n))
    return f"differs from the published digests of {known.date} in {', '.join(names)}"


def record(home: Path, at: Path = RECORD) -> None:
    """Write the digests of a home's latest snapshot as those to be committed."""
    _, path = shelf.locate(home)
    text = msgspec.json.format(msgspec.json.encode(cited(path)), indent=2) + b"\n"
    write_atomically(at, text.decode(), point="cite.record")
