"""Writes that survive a crash: complete under the final name, or not there at all.

Every write of the project goes through this file and carries a point, a name under which tests make it fail:
`ATLAS_FAILPOINT=archive.commit.torn:kill` in the environment ends the process there, `:enospc` and `:eio` raise
the system's error. A trailing number (`:kill:3`) waits for the third passage. Child processes inherit it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import signal
import sqlite3
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import filelock

from pipeline.errors import AtlasError, Busy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

STAGES = ("before", "torn", "written", "renamed")
"""The passages of an atomic write: nothing done, half of it on disk, all of it on disk, under its final name.
A transaction has the first three."""

LOCK_PATIENCE_SECONDS = 1.0
_MARK = ".tmp-"
_FORM = re.compile(r"(?P<name>[\w.]+):(?P<action>kill|enospc|eio)(?::(?P<passage>\d+))?")
_passages: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Fail here if the environment says so.

    Raises:
        OSError: with ENOSPC or EIO, where `ATLAS_FAILPOINT` asks for it.
        AtlasError: where `ATLAS_FAILPOINT` cannot be read.
    """
    wanted = os.environ.get("ATLAS_FAILPOINT")
    if wanted is None:
        return
    form = _FORM.fullmatch(wanted)
    if form is None:
        raise AtlasError(f"ATLAS_FAILPOINT={wanted!r} is not NAME:kill|enospc|eio[:PASSAGE]")
    if form["name"] == name:
        _passages[name] += 1
        if _passages[name] == int(form["passage"] or 1):
            _fail(form["action"])


def _fail(action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    code = errno.ENOSPC if action == "enospc" else errno.EIO
    raise OSError(code, os.strerror(code))


@contextmanager
def replacing(path: Path, *, point: str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on leaving, sync it and rename it over `path`.

    The caller writes the file (and closes it) inside the block. If the block or the write fails, `path` is as it was
    and the temporary is gone; after a crash `sweep` finds it.

    Raises:
        AtlasError: the disk is full, read-only or failing; the sentence names the file.
    """
    temporary = path.with_name(f"{path.name}{_MARK}{secrets.token_hex(6)}")
    try:
        with telling(path):
            failpoint(f"{point}.before")
        yield temporary
        with telling(path):
            _settle(temporary, path, point)
    finally:
        for leftover in path.parent.glob(f"{temporary.name}*"):
            leftover.unlink()


def _settle(temporary: Path, path: Path, point: str) -> None:
    failpoint(f"{point}.written")
    sync(temporary)
    temporary.replace(path)
    failpoint(f"{point}.renamed")
    sync(path.parent)


def write_atomically(path: Path, data: bytes | str, *, point: str) -> None:
    """Put `data` (text as UTF-8) at `path`, all of it or nothing. The folder must exist. Raises as `replacing`."""
    content = data.encode() if isinstance(data, str) else data
    half = len(content) // 2
    with replacing(path, point=point) as temporary, telling(path), temporary.open("wb") as file:
        file.write(content[:half])
        file.flush()
        failpoint(f"{point}.torn")
        file.write(content[half:])


def write_derived(path: Path, data: bytes, *, point: str) -> None:
    """Put `data` at `path`, all of it or nothing for whoever reads, without waiting until it is on the disk.

    For what a next run compares and makes again. The folder must exist.

    Raises:
        AtlasError: the disk is full, read-only or failing; the sentence names the file.
    """
    temporary = path.with_name(f"{path.name}{_MARK}{secrets.token_hex(6)}")
    try:
        with telling(path):
            failpoint(f"{point}.before")
            temporary.write_bytes(data)
            failpoint(f"{point}.written")
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_streamed(path: Path, chunks: Iterable[bytes], *, point: str) -> None:
    """Put what comes in chunks at `path`, all of it or nothing. The folder must exist. Raises as `replacing`."""
    with replacing(path, point=point) as temporary, telling(path), temporary.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)


def remove(path: Path, *, point: str) -> None:
    """Delete a file for good. Raises AtlasError where the system does not let us."""
    with telling(path):
        failpoint(f"{point}.before")
        path.unlink()
        failpoint(f"{point}.removed")
        sync(path.parent)


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path, *, point: str) -> Iterator[None]:
    """Do the block's statements on the database at `path` all or none.

    Raises:
        AtlasError: the disk is full, read-only or failing; the sentence names the file.
    """
    with telling(path):
        try:
            failpoint(f"{point}.before")
            connection.execute("BEGIN IMMEDIATE")
            yield
            failpoint(f"{point}.torn")
            connection.execute("COMMIT")
            failpoint(f"{point}.written")
        except sqlite3.OperationalError as error:
            raise OSError(errno.EIO, str(error)) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def sync(path: Path) -> None:
    """Wait until the file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn the system's error about a write into a sentence about `path`."""
    try:
        yield
    except OSError as error:
        said = f"cannot write {path}: {error.strerror}; run again when that is mended"
        raise AtlasError(said) from error


def sweep(folder: Path) -> list[Path]:
    """Remove temporaries that a crash left in `folder` (not below it); return them. Call it under the folder's lock."""
    orphans = sorted(folder.glob(f"*{_MARK}*"))
    for orphan in orphans:
        orphan.unlink()
    return orphans


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold the only right to write in `folder`, creating it if need be. A crash of the holder frees it.

    Raises:
        Busy: another process holds it; known within two seconds.
        AtlasError: the folder cannot be written.
    """
    with telling(folder):
        folder.mkdir(parents=True, exist_ok=True)
        held = filelock.FileLock(folder / ".lock", timeout=LOCK_PATIENCE_SECONDS)
        try:
            held.acquire()
        except filelock.Timeout as error:
            raise Busy(f"another run is writing in {folder}; wait until it ends and run again") from error
    try:
        yield
    finally:
        held.release()
