"""Which files were read whole already: an old snapshot is digested once, and again whenever anybody touched it.

`snapshots/.checked.json` says of each file what the system said of it (size, inode, times of the last write and of the
last change of any kind) when its bytes had the digest of the index. Every write moves the last of these, whatever is
done to the others. Rot of the disk itself moves none: `atlas snapshots verify` always reads every byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from pipeline.durable import write_atomically
from pipeline.errors import AtlasError
from pipeline.store import shelf
from pipeline.store.shelf import Entry

RECORD = ".checked.json"


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it was when its bytes had this digest; times in nanoseconds."""

    sha256: str
    bytes: int
    inode: int
    written: int
    changed: int


def checked(place: Path, entries: Iterable[Entry]) -> list[Path]:
    """The files of these snapshots, each as published; those touched since are read. Raises `Corrupt`."""
    known = _read(place)
    now = dict(known)
    paths: list[Path] = []
    for entry in entries:
        path = place / entry.file
        seen = _seen(path, entry)  # before the bytes are read: who writes meanwhile moves it
        if seen is None or known.get(entry.id) != seen:
            shelf.checked(place, entry)
        if seen is not None:
            now[entry.id] = seen
        paths.append(path)
    if now != known:
        _remember(place, {name: seen for name, seen in now.items() if (place / f"{name}.duckdb").exists()})
    return paths


def all_of(home: Path, last: str | None = None) -> list[tuple[Entry, Path]]:
    """Every snapshot that stands, each as published, in order of publication; `last` (the latest) comes last.

    Raises as `shelf.locate`.
    """
    place = shelf.folder(home)
    index = shelf.read(place)
    end = index.entry(last)
    entries = [*(e for e in index.standing if e.id != end.id), end]
    return list(zip(entries, checked(place, entries), strict=True))


def _seen(path: Path, entry: Entry) -> Seen | None:
    """What the system says of a file; None where it is no file of that size."""
    try:
        said = path.stat()
    except OSError:
        return None
    if said.st_size != entry.bytes:
        return None
    return Seen(entry.sha256, said.st_size, said.st_ino, said.st_mtime_ns, said.st_ctime_ns)


def _read(place: Path) -> dict[str, Seen]:
    """What is remembered; nothing where that cannot be read: the files are then read again."""
    try:
        return msgspec.json.decode((place / RECORD).read_bytes(), type=dict[str, Seen])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _remember(place: Path, now: dict[str, Seen]) -> None:
    try:
        write_atomically(place / RECORD, msgspec.json.encode(now), point="snapshot.checked")
    except AtlasError:  # a home that may only be read is read again every time
        return
