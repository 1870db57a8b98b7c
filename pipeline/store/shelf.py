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

from pipeline.durable import lock, write_atomically
from pipeline.errors import AtlasError, Corrupt, NotFound, Usage
from pipeline.store.versions import require_readable

FOLDER = "snapshots"
INDEX = "index.json"
LATEST, PREVIOUS = "latest", "previous"
_MEND = "restore it, or move it away and run 'atlas refresh' to adopt the files"
_ID = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.([1-9]\d*))?")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class Pruned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A snapshot whose file a policy let go: what the chain and those who cite it still need."""

    manifest: str
    previous: str | None
    sha256: str


class Index(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `index.json` holds. `snapshots` are in order of publication, `retracted` gives the reason by id.

    `digest` is that of all the rest; an index written before there was one has none.
    """

    latest: str | None = None
    snapshots: tuple[Entry, ...] = ()
    retracted: dict[str, str] = {}
    pruned: dict[str, Pruned] = {}
    digest: str | None = None

    @property
    def standing(self) -> list[Entry]:
        """The snapshots that were not taken back, oldest first."""
        return [e for e in self.snapshots if e.id not in self.retracted]

    def _named(self, snapshot_id: str | None) -> str | None:
        """The id meant: `latest` and `previous` are names, and none is the latest."""
        if snapshot_id in {None, "", LATEST}:
            return self.latest
        if snapshot_id != PREVIOUS:
            return snapshot_id
        if len(self.standing) < 2:
            raise NotFound(f"there is no snapshot before the latest, {self.latest or 'of which there is none either'}")
        return self.standing[-2].id

    def entry(self, snapshot_id: str | None) -> Entry:
        """The snapshot of that id or name, or the latest; raises `NotFound`, naming what exists."""
        wanted = self._named(snapshot_id)
        if wanted is None:
            raise NotFound(
                "there is no snapshot here yet: run 'atlas refresh --source catalogue', or name the place with --home"
            )
        for entry in self.snapshots:
            if entry.id == wanted:
                return entry
        if wanted in self.retracted:
            raise NotFound(f"snapshot {wanted} was retracted and pruned: {self.retracted[wanted]}")
        if wanted in self.pruned:
            raise NotFound(f"snapshot {wanted} was pruned; its manifest had the digest {self.pruned[wanted].manifest}")
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
        raise Corrupt(f"{path} is damaged ({error}); {_MEND}") from error


def _sound(path: Path, index: Index) -> Index:
    """An index with its own digest whose latest is one of its snapshots that still stand; raises `Corrupt`."""
    if index.digest is not None and index.digest != _digest(index):
        raise Corrupt(f"{path} is damaged: it does not have its own digest; {_MEND}")
    standing = {e.id for e in index.snapshots} - index.retracted.keys()
    if index.latest is not None and index.latest not in standing:
        raise Corrupt(f"{path} is damaged: its latest, {index.latest!r}, is none of its snapshots; restore it")
    return index


def write(place: Path, index: Index) -> None:
    """Replace the index at once or not at all."""
    data = msgspec.json.format(msgspec.json.encode(_sealed(index)), indent=2) + b"\n"
    write_atomically(place / INDEX, data, point="snapshot.index")


def _digest(index: Index) -> str:
    """SHA-256 (hex) over everything the index says but its digest."""
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(index, digest=None))).hexdigest()


def _sealed(index: Index) -> Index:
    return msgspec.structs.replace(index, digest=_digest(index))


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
    """The id after all that were ever used here, on `day` or, where that is past, on the last day used.

    No id is used twice. A day that has not come yet is free again once what was dated so is retracted.
    """
    standing = [order(e.id) for e in index.standing] + [order(i) for i in index.pruned]
    left = [order(p.stem) for p in place.glob("*.duckdb") if is_id(p.stem) and p.stem not in index.retracted]
    last_day = max([day, *(d for d, _ in (*standing, *left))])
    taken = [order(i) for i in index.retracted]
    last_day = max([last_day, *(d for d, _ in taken if d <= dt.datetime.now(dt.UTC).date())])
    used = [*standing, *left, *taken]
    number = max((n for d, n in used if d == last_day), default=0)
    return last_day.isoformat() if number == 0 else f"{last_day.isoformat()}.{number + 1}"


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
        return read(place)
