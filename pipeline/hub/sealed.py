"""The archive's tables, and the seal of every row: a digest of what it says, so that a changed bit is noticed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

FORMAT = 3
OLD_FORMATS = (1, 2)
"""What is taken over as it stands: rows of the first had no seals, the second no settings files."""

TABLES: dict[str, tuple[str, ...]] = {
    "runs": ("run INTEGER PRIMARY KEY AUTOINCREMENT", "selection TEXT NOT NULL", "day TEXT NOT NULL"),
    "finishes": ("run INTEGER PRIMARY KEY", "summary TEXT NOT NULL"),
    "refused": ("run INTEGER PRIMARY KEY",),
    "attempts": (
        "attempt INTEGER PRIMARY KEY AUTOINCREMENT", "run INTEGER NOT NULL", "repo_id TEXT NOT NULL",
        "revision TEXT NOT NULL", "outcome TEXT NOT NULL", "digest TEXT", "detail TEXT", "access TEXT NOT NULL",
        "day TEXT NOT NULL",
    ),
    "beside": ("attempt INTEGER NOT NULL", "name TEXT NOT NULL", "digest TEXT NOT NULL"),
    "state": (
        "repo_id TEXT PRIMARY KEY", "last INTEGER NOT NULL", "good INTEGER", "tries INTEGER NOT NULL DEFAULT 0",
        "due TEXT",
    ),
    "model_types": ("model_type TEXT PRIMARY KEY", "run INTEGER NOT NULL"),
    "listing": (
        "selection TEXT NOT NULL", "repo_id TEXT NOT NULL", "run INTEGER NOT NULL", "vanished INTEGER NOT NULL",
        "revision TEXT", "model_type TEXT", "downloads INTEGER", "access TEXT NOT NULL", "verdict TEXT", "detail TEXT",
        "facts BLOB NOT NULL",
    ),
}  # fmt: skip
"""Columns of every table but `blobs`, whose key is the digest of the rest; a seal follows them."""

_KEYED = {
    "beside": ", PRIMARY KEY (attempt, name)",
    "state": "",
    "model_types": "",
    "listing": ", PRIMARY KEY (selection, repo_id)",
}
_ADDED = {"state": ("tries INTEGER NOT NULL DEFAULT 0", "due TEXT")}
SMALL = 256 * 2**20
"""Bytes of a file whose pages are all looked at whenever it is opened."""


def names(table: str) -> list[str]:
    """The columns of a table, in order, without the seal."""
    return [column.split(" ", 1)[0] for column in TABLES[table]]


def creation() -> list[str]:
    """The statements that make an empty archive."""
    made = ["CREATE TABLE blobs (digest TEXT PRIMARY KEY, raw BLOB NOT NULL)"]
    for table, columns in TABLES.items():
        made.append(_made(table, columns))
    return made


def _made(table: str, columns: Iterable[str]) -> str:
    end = f"{_KEYED[table]}) WITHOUT ROWID" if table in _KEYED else ")"
    return f"CREATE TABLE {table} ({', '.join(columns)}, seal TEXT{end}"


def upgrade(version: int) -> list[str]:
    """The statements that make one of an old format into one of this."""
    beside = _made("beside", TABLES["beside"])
    if version > OLD_FORMATS[0]:
        return [beside]
    made = [beside, "CREATE TABLE refused (run INTEGER PRIMARY KEY, seal TEXT)"]
    for table in TABLES:
        if table not in ("refused", "beside"):
            made += [f"ALTER TABLE {table} ADD COLUMN {column}" for column in (*_ADDED.get(table, ()), "seal TEXT")]
            made.append(f"UPDATE {table} SET seal = {_of(table)}")
    return made


def _of(table: str) -> str:
    return f"seal_of('{table}', {', '.join(names(table))})"


def teach(connection: sqlite3.Connection) -> None:
    """Let SQL make seals."""
    connection.create_function("seal_of", -1, seal, deterministic=True)


def seal(*values: str | bytes | float | None) -> str:
    """A digest of a row: each value with its kind and length."""
    digest = hashlib.blake2b(digest_size=12)
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        digest.update(f"{type(value).__name__} {len(data)} ".encode() + data)
    return digest.hexdigest()


def put(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[object]], how: str = "REPLACE") -> None:
    """Add rows, values in the order of the columns, each with its seal; `how` is for one that is there already."""
    names = [f"v{i}" for i in range(len(TABLES[table]))]
    places = ", ".join(f":{name}" for name in names)
    named = (dict(zip(names, row, strict=True)) for row in rows)
    connection.executemany(f"INSERT OR {how} INTO {table} VALUES ({places}, seal_of('{table}', {places}))", named)


def reseal(connection: sqlite3.Connection, table: str, where: str, *values: object) -> None:
    """Seal rows that SQL changed."""
    connection.execute(f"UPDATE {table} SET seal = {_of(table)} WHERE {where}", values)


def damage(connection: sqlite3.Connection, *, every: bool = False) -> str | None:
    """What is wrong, or None. Of attempts those that anything points at, unless `every` row is to be looked at."""
    size = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
    if every or size <= SMALL:
        (said,) = connection.execute(f"PRAGMA {'integrity' if every else 'quick'}_check(1)").fetchone()
        if said != "ok":
            return str(said).splitlines()[0]
    used = "" if every else " AND attempt IN (SELECT last FROM state UNION ALL SELECT good FROM state)"
    for table in TABLES:
        wrong = f"SELECT count(*) FROM {table} WHERE seal IS NOT {_of(table)}{used if table == 'attempts' else ''}"
        (rows,) = connection.execute(wrong).fetchone()
        if rows:
            return f"{rows} rows of {table} do not have their own digest"
    (lost,) = connection.execute(
        "SELECT count(*) FROM state s LEFT JOIN attempts a ON a.attempt = s.last LEFT JOIN attempts g"
        " ON g.attempt = s.good WHERE a.repo_id IS NOT s.repo_id OR (s.good IS NOT NULL AND g.repo_id IS NOT s.repo_id)"
    ).fetchone()
    return f"{lost} repositories have lost what was tried of them" if lost else None


def wrong_blob(connection: sqlite3.Connection) -> str | None:
    """A stored config that does not have its own digest, or None."""
    for digest, raw in connection.execute("SELECT digest, raw FROM blobs"):
        if hashlib.sha256(raw).hexdigest() != digest:
            return digest
    return None
