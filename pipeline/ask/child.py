"""The process in which a user's SQL runs: limits first, then DuckDB locked down, then one statement.

Started by `pipeline/ask/query.py` alone. It says how it ended as one JSON object on stderr.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import sys
from typing import Any

try:  # start-up is most of a query's time, and the package around the engine takes most of that
    import _duckdb as duckdb
except ImportError:
    import duckdb

from pipeline.ask.formats import FORMATS

_HEADROOM_MIB = 1536
"""Address space of the interpreter, DuckDB's code and its threads, beside what the query may use."""

_ROWS = 500

_EXPLAIN = re.compile(r"(?is)(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*explain\b(?:\s+analyze\b)?")


def main(order: dict[str, Any]) -> None:
    """Obey one order, as `pipeline/ask/query.py` writes it; raises nothing, and never returns."""
    _limit(order)
    assert isinstance(sys.stdout, io.TextIOWrapper)  # noqa: S101 - a pipe
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="")
    try:
        told = {"note": _run(order)}
    except (duckdb.Error, _Refused, MemoryError, RecursionError) as error:
        told = {"refused": _sentence(error, order)}
    except BrokenPipeError:
        os._exit(0)
    sys.stderr.write(json.dumps(told))
    sys.stderr.flush()
    os._exit(0)  # nothing to tidy up: interpreter and DuckDB shut down slowly


class _Refused(Exception):
    """Not a statement that may run here."""


def _limit(order: dict[str, Any]) -> None:
    seconds = int(order["timeout"]) * 2 + 2  # two threads
    for what, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, (order["memory_mib"] + _HEADROOM_MIB) << 20),
        (resource.RLIMIT_FSIZE, order["spill_mib"] << 20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64 + len(order["history"])),
    ):
        hard = resource.getrlimit(what)[1]
        ceiling = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (ceiling, ceiling))


def _run(order: dict[str, Any]) -> str:
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "memory_limit": f"{order['memory_mib'] // 2}MB",
        "threads": "2",
        "temp_directory": order["spill"],
        "max_temp_directory_size": f"{order['spill_mib']}MiB",
        "max_execution_time": str(int(order["timeout"] * 1000)),
    }
    if order["history"]:
        con = _with_history(order["history"], settings)
    else:
        con = duckdb.connect(order["database"], read_only=True, config=settings)
    if order.get("handed"):
        _take_in(con, order["handed"])
    con.execute("SET enable_external_access = false")
    con.execute("SET enable_progress_bar = false")  # it would be drawn among the rows
    con.execute("SET lock_configuration = true")
    _require_one_select(con, order["sql"])
    cursor = con.execute(order["sql"], order.get("parameters") or None)
    columns = [(name, str(kind)) for name, kind, *_ in cursor.description]
    rows = FORMATS[order["form"]](columns, iter(lambda: cursor.fetchmany(_ROWS), []), sys.stdout.write)
    sys.stdout.flush()
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def _take_in(con: Any, handed: dict[str, Any]) -> None:
    """Open the file of a reader's own tables for reading and name them, before the door is shut."""
    con.execute(f"ATTACH {_quoted(handed['database'])} AS handed (READ_ONLY)")
    for name in handed["tables"]:
        con.execute(f'CREATE TEMP VIEW "{name}" AS SELECT * FROM handed.main."{name}"')


def _with_history(history: list[list[str]], settings: dict[str, Any]) -> Any:
    """Every snapshot attached, the last in use, and view `history`: all their fingerprints, by snapshot.

    It has the columns that all of them have.
    """
    con = duckdb.connect(":memory:", config=settings)
    parts: list[str] = []
    common: list[str] | None = None
    for number, (name, path) in enumerate(history):
        con.execute(f"ATTACH {_quoted(path)} AS snapshot_{number} (READ_ONLY)")
        there = [row[0] for row in con.execute(f"DESCRIBE snapshot_{number}.fingerprints").fetchall()]
        common = there if common is None else [c for c in common if c in there]
        day = name.partition(".")[0]
        parts.append(f"SELECT {_quoted(name)} AS snapshot, {_quoted(day)}::DATE AS day, %s FROM snapshot_{number}")
    columns = ", ".join(f'"{c}"' for c in common or [])
    union = " UNION ALL ".join(f"{part % columns}.fingerprints" for part in parts)
    con.execute(f"CREATE TEMP VIEW history AS {union}")
    con.execute(f"USE snapshot_{len(history) - 1}")
    return con


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _require_one_select(con: Any, sql: str) -> None:
    found = con.extract_statements(sql)
    if len(found) != 1:
        raise _Refused(
            f"one SELECT is wanted, but this is {len(found)} statements" if found else "there is no statement here"
        )
    kinds, kind = duckdb.StatementType, found[0].type
    if kind == kinds.EXPLAIN:
        inner = _EXPLAIN.sub("", found[0].query, count=1)
        kind = next((s.type for s in con.extract_statements(inner)), kind)
    if kind == kinds.MULTI:
        raise _Refused(
            "this becomes several statements; a PIVOT is one where its values are listed: ON x IN ('a', 'b')"
        )
    if kind != kinds.SELECT:
        raise _Refused(f"only SELECT and EXPLAIN SELECT may run here, and this is {kind.name}")


def _sentence(error: BaseException, order: dict[str, Any]) -> str:
    if isinstance(error, duckdb.InterruptException):
        return f"the query was stopped after {order['timeout']:g} s; narrow it, or allow more with --timeout SECONDS"
    if isinstance(error, (duckdb.OutOfMemoryException, MemoryError)):
        beside = f" and {order['spill_mib']:,} MiB of disk" if "max_temp_directory_size" in str(error) else ""
        return f"the query needed more than {order['memory_mib']:,} MiB{beside} and was stopped; narrow it"
    if isinstance(error, RecursionError):
        return "the result is nested too deeply to print"
    return _two_lines(str(error).strip())


_OWN = re.compile(r"Could not convert string '(there is no model .* in this snapshot)' to INT64")


def _two_lines(said: str) -> str:
    """DuckDB's sentence, and below it the query from the place on that its caret points at."""
    sentence, _, place = said.partition("\n\nLINE ")
    sentence = " ".join(line.strip() for line in sentence.splitlines() if line.strip())
    own = _OWN.search(sentence)
    sentence = sentence if own is None else own[1]  # the macro's own words, which reach here as a failed conversion
    lines = place.splitlines()
    if len(lines) < 2 or "^" not in lines[1]:
        return sentence
    column = lines[1].index("^") - len("LINE ")
    return f"{sentence}\nline {lines[0].partition(':')[0]}, here: {lines[0][column:]}"
