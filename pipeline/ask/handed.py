"""A reader's own files as tables beside those of a snapshot: read here, so that the query's process opens none."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pipeline.errors import NotFound, Usage

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
MOST_BYTES = 1 << 30
_READERS = {".csv": "read_csv", ".tsv": "read_csv", ".parquet": "read_parquet"}


def named(texts: list[str] | None) -> dict[str, Path]:
    """`NAME=FILE` words as names and files; raises `Usage`."""
    found: dict[str, Path] = {}
    for text in texts or []:
        name, equals, file = text.partition("=")
        if not equals or not file or not _NAME.fullmatch(name):
            raise Usage(f"--with takes NAME=FILE, such as mine=prices.csv, not {text!r}")
        if name.lower() in map(str.lower, found):
            raise Usage(f"--with names {name} twice")
        found[name] = Path(file)
    return found


def handed_in(tables: Mapping[str, Path], database: Path, stack: ExitStack) -> dict[str, Any]:
    """A database file of the tables, which `stack` removes, and their names. Raises `Usage` and `NotFound`."""
    import duckdb

    with duckdb.connect(str(database), read_only=True) as con:
        known = {n.lower() for (n,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        known |= {n.lower() for (n,) in con.execute("SELECT view_name FROM duckdb_views()").fetchall()}
    place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="atlas-with-"))) / "handed.duckdb"
    with duckdb.connect(str(place)) as con:
        for name, file in tables.items():
            if name.lower() in known:
                raise Usage(f"--with {name}: the snapshot has a table of that name; choose another")
            _read(con, name, file)
    return {"database": str(place), "tables": list(tables)}


def _read(con: Any, name: str, file: Path) -> None:
    import duckdb

    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise Usage(f"--with {name}={file}: a .csv, .tsv or .parquet file is wanted")
    if not file.is_file():
        raise NotFound(f"--with {name}={file}: there is no such file")
    if file.stat().st_size > MOST_BYTES:
        raise Usage(f"--with {name}={file}: larger than {MOST_BYTES >> 30} GiB; open the snapshot with duckdb itself")
    place = str(file.resolve()).replace("'", "''")
    try:
        con.execute(f"CREATE TABLE \"{name}\" AS SELECT * FROM {reader}('{place}')")
    except duckdb.Error as error:
        raise Usage(f"--with {name}={file} cannot be read: {str(error).partition(chr(10))[0]}") from error


def parameters(texts: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` words as values of `$name`: a number, true, false or null where it reads as one, else text."""
    import orjson

    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise Usage(f"--param takes NAME=VALUE, such as model=Qwen/Qwen3-8B, not {text!r}")
        try:
            read = orjson.loads(value)
        except orjson.JSONDecodeError:
            read = value
        found[name] = value if isinstance(read, list | dict) else read
    return found


_LITERAL = re.compile(r"'((?:[^']|'')*)'")
_LOOKS = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def misnamed(database: Path, sql: str, values: Mapping[str, Any]) -> list[str]:
    """Texts of a query that look like a repository and are none of the snapshot, each with the names close to it."""
    import duckdb

    from pipeline.ask.names import near

    said = [*_LITERAL.findall(sql), *(v for v in values.values() if isinstance(v, str))]
    looking = [t for t in dict.fromkeys(said) if _LOOKS.fullmatch(t)]
    if not looking:
        return []
    with duckdb.connect(str(database), read_only=True) as con:
        known = [n for (n,) in con.execute("SELECT repo_id FROM models").fetchall()]
    return [f"no model here is named '{t}'{near(t, known)}" for t in looking if t not in known]
