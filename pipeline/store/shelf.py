"""The folder of snapshots and its index: which exist, which is latest, and whether a file is the one it was.

`index.json` is the authority: a file that is not in it was never published. Every snapshot's size and SHA-256 stand
there, so a damaged, truncated or swapped file is noticed before anything reads it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from pathlib import Path

import msgspec

from pipeline.durable import lock, remove, write_atomically
from pipeline.errors import AtlasError, Corrupt, NotFound, Usage
from pipeline.store.versions import require_readable

FOLDER = "snapshots"
INDEX = "index.json"
_ID = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.([1-9]\d*))?")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One published snapshot. `bytes` and `sha256` are the file's, `manifest` is the digest of what it says."""

    id: str
    bytes: int
    sha256: str
    manifest: str
    previous: str | None
    source: str
    schema_version: str
    code_version: str
    models: int
    configs: int
    designs: int

    @property
    def file(self) -> str:
        """Name of the file in the folder."""
        return f"{self.id}.duckdb"


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """What `index.json` holds. `snapshots` are in order of publication, `retracted` gives the reason by id."""

    latest: str | None = None
    snapshots: tuple[Entry, ...] = ()
    retracted: dict[str, str] = {}

    def entry(self, snapshot_id: str | None) -> Entry:
        """The snapshot of that id, or the latest; raises `NotFound`, naming what exists."""
        wanted = snapshot_id or self.latest
        if wanted is None:
            raise NotFound(
                "there is no snapshot here yet: run 'atlas refresh --source catalogue', or name the place with --home"
            )
        for entry in self.snapshots:
            if entry.id == wanted:
                return entry
        if wanted in self.retracted:
            raise NotFound(f"snapshot {wanted} was retracted and pruned: {self.retracted[wanted]}")
        known = ", ".join(e.id for e in self.snapshots[-5:]) or "none"
        raise NotFound(f"there is no snapshot {wanted}; the last ones are: {known}")


def folder(home: Path) -> Path:
    """Where snapshots are, under the home."""
    return home / FOLDER


def read(place: Path) -> Index:
    """The index of a folder of snapshots, empty where there is none; raises `Corrupt` where it cannot be read."""
    path = place / INDEX
    try:
        return _sound(path, msgspec.json.decode(path.read_bytes(), type=Index))
    except FileNotFoundError:
        return Index()
    except OSError as error:
        raise AtlasError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(
            f"{path} is damaged ({error}); restore it, or move it away and run 'atlas refresh' to adopt the files"
        ) from error


def _sound(path: Path, index: Index) -> Index:
    """An index whose latest is one of its snapshots that still stand; raises `Corrupt`."""
    standing = {e.id for e in index.snapshots} - index.retracted.keys()
    if index.latest is not None and index.latest not in standing:
        raise Corrupt(f"{path} is damaged: its latest, {index.latest!r}, is none of its snapshots; restore it")
    return index


def write(place: Path, index: Index) -> None:
    """Replace the index at once or not at all."""
    data = msgspec.json.format(msgspec.json.encode(index), indent=2) + b"\n"
    write_atomically(place / INDEX, data, point="snapshot.index")


def order(snapshot_id: str) -> tuple[dt.date, int]:
    """Date and number of an id: ids increase in this order. Raises `Usage` for anything that is not an id."""
    found = _ID.fullmatch(snapshot_id)
    try:
        if found:
            return dt.date.fromisoformat(found[1]), int(found[2] or 1)
    except ValueError:
        pass
    raise Usage(f"{snapshot_id!r} is not the date of a snapshot, such as 2026-11-29 or 2026-11-29.2")


def is_id(text: str) -> bool:
    """Whether the text names a snapshot."""
    try:
        order(text)
    except Usage:
        return False
    return True


def next_id(place: Path, index: Index, day: dt.date) -> str:
    """The id after all that were ever used here, on `day` or, where that is past, on the last day used."""
    used = [order(known) for known in (*(e.id for e in index.snapshots), *index.retracted)]
    used += [order(p.stem) for p in place.glob("*.duckdb") if is_id(p.stem)]
    last_day, last_number = max(used, default=(day, 0))
    if day > last_day or not used:
        return day.isoformat()
    return f"{last_day.isoformat()}.{last_number + 1}"


def file_digest(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checked(place: Path, entry: Entry) -> Path:
    """The snapshot's file, once its size and digest are those of the index; raises `Corrupt`."""
    path = place / entry.file
    if not path.is_file():
        raise Corrupt(f"snapshot {entry.id} is in the index but {path} is missing; restore it or run 'atlas refresh'")
    size = path.stat().st_size
    if size != entry.bytes:
        raise Corrupt(
            f"{path} is damaged: it has {size:,} bytes, not {entry.bytes:,}; restore it or run 'atlas refresh'"
        )
    if file_digest(path) != entry.sha256:
        raise Corrupt(
            f"{path} is damaged: its bytes are not those that were published; restore it or run 'atlas refresh'"
        )
    return path


def locate(home: Path, snapshot_id: str | None = None, *, of_any_major: bool = False) -> tuple[Entry, Path]:
    """The snapshot to read and its checked file; of another major version only for who takes its columns as they are.

    Raises:
        NotFound: there is none, or its columns mean something else; the message says how to derive it again.
        Corrupt: the file is damaged; nothing was read from it.
    """
    place = folder(home)
    entry = read(place).entry(snapshot_id)
    if not of_any_major:
        require_readable(entry.id, entry.schema_version)
    return entry, checked(place, entry)


def retract(home: Path, snapshot_id: str, why: str) -> Index:
    """Take a snapshot back, with the reason; `latest` becomes the last that still stands, or none. Return the index.

    The file stays, for those who cite it, until it is pruned; its id is never used again.

    Raises:
        NotFound: there is no such snapshot.
        Usage: no reason is given.
        Busy: another process writes here.
    """
    if not why.strip():
        raise Usage("--why is empty: the reason is all that readers of a retracted snapshot get")
    place = folder(home)
    read(place).entry(snapshot_id)
    with lock(place):
        index = read(place)
        retracted = {**index.retracted, index.entry(snapshot_id).id: why.strip()}
        standing = [e.id for e in index.snapshots if e.id not in retracted]
        changed = msgspec.structs.replace(index, latest=standing[-1] if standing else None, retracted=retracted)
        write(place, changed)
        return changed


def prune(home: Path) -> list[Path]:
    """Delete the files of retracted snapshots, which keep their line and reason in the index; return what was deleted.

    The index is written first: files that a crash leaves behind belong to no entry, and the next call deletes them.

    Raises:
        Busy: another process writes here.
        AtlasError: a file cannot be deleted.
    """
    place = folder(home)
    if not read(place).retracted:
        return []
    with lock(place):
        index = read(place)
        kept = tuple(e for e in index.snapshots if e.id not in index.retracted)
        if kept != index.snapshots:
            write(place, msgspec.structs.replace(index, snapshots=kept))
        gone = [path for path in (place / f"{name}.duckdb" for name in index.retracted) if path.is_file()]
        for path in gone:
            remove(path, point="snapshot.prune")
        return gone
