"""Runs one SELECT on a snapshot in a child process with hard limits, and passes on what it prints.

Safe for mistakes, not for the internet: the child has no environment, writes nothing but what does not fit in memory,
to a folder that goes with it, opens no other file through DuckDB, and is killed when it is over its time.
`pipeline/ask/child.py` is that child.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pipeline.ask.handed import handed_in
from pipeline.errors import AtlasError, QueryRefused

Format = Literal["table", "json", "csv", "md"]

MEMORY_MIB = 1024
SPILL_MIB = 4096
"""What a query may put on disk of what does not fit in memory."""
GRACE_SECONDS = 0.5
"""DuckDB stops a query at its time limit by itself; what does not stop is killed this much later."""

_CHUNK = 1 << 16
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from pipeline.ask.child import main; main(json.loads(sys.argv[2]))"
)


class Given(NamedTuple):
    """What a reader gives beside the query: values of `$name`, and files that become tables."""

    parameters: Mapping[str, Any] = MappingProxyType({})
    tables: Mapping[str, Path] = MappingProxyType({})


def run(
    database: Path,
    sql: str,
    write: Callable[[bytes], object],
    *,
    form: Format = "table",
    timeout: float = 30.0,
    history: Sequence[tuple[str, Path]] = (),
    given: Given | None = None,
) -> str:
    """Run `sql` and pass what it prints (UTF-8) to `write` as it comes; return a note for people.

    With `history`, snapshots by name and the database's own the last, there is a view of that name over all of them.
    Files of `given` are read here and not by the child, which sees them as tables.

    Raises:
        QueryRefused: it is not one SELECT or EXPLAIN, DuckDB does not accept it, or it took too much time or memory.
        Usage, NotFound: a file of `given` cannot become a table.
    """
    given = given or Given()
    with ExitStack() as stack:
        handed = handed_in(given.tables, database, stack) if given.tables else None
        order = {
            "database": str(database.resolve()),
            "history": [(name, str(path.resolve())) for name, path in history],
            "sql": sql,
            "form": form,
            "timeout": timeout,
            "memory_mib": MEMORY_MIB,
            "spill_mib": SPILL_MIB,
            "spill": stack.enter_context(tempfile.TemporaryDirectory(prefix="atlas-")),
            "parameters": dict(given.parameters),
            "handed": handed,
        }
        return _obeyed(order, write, timeout)


def _obeyed(order: dict[str, Any], write: Callable[[bytes], object], timeout: float) -> str:
    arguments = [sys.executable, "-I", "-S", "-c", _START, json.dumps(sys.path), json.dumps(order)]
    with subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        start_new_session=True,
    ) as child:
        try:
            said = _pass_on(child, write, time.monotonic() + timeout + GRACE_SECONDS)
        finally:
            _kill(child)
    return _ending(child.returncode, said, timeout)


def _pass_on(child: subprocess.Popen[bytes], write: Callable[[bytes], object], deadline: float) -> bytes | None:
    """Copy the child's output until it ends; return what it said on stderr, or None where it ran out of time."""
    assert child.stdout is not None  # noqa: S101 - a pipe
    assert child.stderr is not None  # noqa: S101 - a pipe
    out, err = child.stdout.fileno(), child.stderr.fileno()
    said, open_ends = bytearray(), {out, err}
    while open_ends:
        ready, _, _ = select.select(list(open_ends), [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        for end in ready:
            data = os.read(end, _CHUNK)
            if not data:
                open_ends.discard(end)
            elif end == out:
                write(data)
            else:
                said += data
    return bytes(said)


def _kill(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        try:
            child.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            child.kill()
    child.wait()


def _ending(code: int, said: bytes | None, timeout: float) -> str:
    if said is None or code == -signal.SIGXCPU:
        raise QueryRefused(
            f"the query was stopped after {timeout:g} s; narrow it, or allow more with --timeout SECONDS"
        )
    try:
        told = json.loads(said)
    except ValueError as error:
        if code in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS) or b"MemoryError" in said:
            raise QueryRefused(f"the query needed more than {MEMORY_MIB:,} MiB and was stopped; narrow it") from error
        last = said.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise AtlasError(f"the query process ended with {code}: {last[:300]}") from error
    if "refused" in told:
        raise QueryRefused(told["refused"])
    return told["note"]
