"""Publishes snapshots and vouches for them: built beside, judged from the finished file, renamed, entered in the index.

A crash at any point leaves `latest` as it was. A file that was renamed but not entered is adopted by the next
publication, after the same checks. A published file is never written again.
"""

from __future__ import annotations

import datetime as dt
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb
import msgspec
import polars as pl

from pipeline.durable import lock, replacing, sweep
from pipeline.errors import AtlasError, Corrupt, Usage
from pipeline.store import build, shelf, shrink, sightings, validate
from pipeline.store.build import Origin, Tables
from pipeline.store.shelf import Entry, Index
from pipeline.store.staged import Staged, reading, staged
from pipeline.store.validate import Judged

Digests = Mapping[str, tuple[int, str]]
FARTHEST = dt.timedelta(days=731)
"""How far ahead of the clock a snapshot may be dated: snapshots only go forward, so a slip of the pen would last."""


_DISK = ("no space", "could not write", "read-only", "disk", "i/o", "file system", "has been invalidated")


class Published(NamedTuple):
    """What came of a publication: the snapshot, whether it is new, and rows and digest by table."""

    entry: Entry
    path: Path
    is_new: bool
    digests: Digests


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """What a publication is told beside its tables.

    `listed` is the number of repositories the refresh listed: every one must be a row of `models`. A day before the
    latest snapshot's becomes that day (the clock may go back), or is an error where the user named it. Without
    `allow_shrink` few of the repositories that the latest snapshot holds may be gone, whatever the source.
    """

    day: dt.date
    source: str
    listed: int
    code_version: str
    day_was_asked_for: bool = False
    allow_shrink: bool = True


class Prepared:
    """A publication under way: its digests, and, once it is left, what came of it."""

    def __init__(self, digests: Digests, published: Published | None = None) -> None:
        self.digests = digests
        self._published = published

    def done(self, published: Published) -> None:
        """It is published."""
        self._published = published

    @property
    def published(self) -> Published:
        """What came of it; raises `AtlasError` where it was given up."""
        if self._published is None:
            raise AtlasError("nothing was published: the publication was given up; run again")
        return self._published


def publish(home: Path, content: Tables, about: Publication) -> Published:
    """Publish these tables as the latest snapshot of its day, unless the latest says exactly the same.

    Raises:
        Usage: the day asked for is before the latest snapshot's, or years ahead of the clock.
        Invalid: a rule is broken, or too much would be dropped; nothing was published.
        Busy: another process publishes.
        AtlasError: the disk is full, failing or read-only; nothing was published.
    """
    with prepared(home, content, about) as ready:
        pass
    return ready.published


@contextmanager
def prepared(home: Path, content: Tables, about: Publication) -> Iterator[Prepared]:
    """What `publish` does, in two: on entering the snapshot is written and judged, on leaving it is published."""
    place = shelf.folder(home)
    with lock(place):
        sweep(place)
        index = _adopt(place, shelf.read(place))
        _refuse_the_past(index, about)
        latest = index.entry(None) if index.latest else None
        held = staged(content)
        if latest and not about.allow_shrink:
            shrink.guard(place, latest, held)
        origin = Origin(
            shelf.next_id(place, index, about.day), about.source, about.listed, about.code_version,
            previous_id=latest.id if latest else None, previous_digest=latest.manifest if latest else None,
        )  # fmt: skip
        try:
            with _made(place, index, held, origin, about.day) as ready:
                yield ready
        except _NothingNew as same:
            yield Prepared(same.standing.digests, same.standing)


class _NothingNew(Exception):
    """The latest snapshot says the same: leaves a publication before anything got its name."""

    def __init__(self, standing: Published) -> None:
        super().__init__()
        self.standing = standing


@contextmanager
def _made(place: Path, index: Index, content: Staged, origin: Origin, day: dt.date) -> Iterator[Prepared]:
    path = place / f"{origin.snapshot_id}.duckdb"
    with replacing(path, point="snapshot.file") as temporary:
        with _telling(place):
            latest = index.entry(None) if index.latest else None
            sums = build.write(temporary, content, day, _seen(place, latest))
            judged = _values(place, latest, temporary)
            manifest = build.complete(temporary, origin, judged.digests)
            _judge(temporary, judged, sums)
            temporary.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        digests = judged.digests
        ready = Prepared(digests)
        yield ready
    entry = _entry(path, origin, manifest, digests)
    shelf.write(place, msgspec.structs.replace(index, latest=entry.id, snapshots=(*index.snapshots, entry)))
    ready.done(Published(entry, path, is_new=True, digests=digests))


def _values(place: Path, latest: Entry | None, temporary: Path) -> Judged:
    """The tables as written, each value held against its rule, and their digests; raises where there is nothing new."""
    with reading(temporary) as con:
        judged = validate.values(con)
    if latest and _says_the_same(place, latest, judged.digests):
        raise _NothingNew(Published(latest, place / latest.file, is_new=False, digests=judged.digests))
    return judged


@contextmanager
def _telling(place: Path) -> Iterator[None]:
    """Turn an error of the disk, the system's own or DuckDB's, into a sentence."""
    try:
        yield
    except (OSError, duckdb.Error) as error:
        if not isinstance(error, OSError) and not _of_the_disk(error, place):
            raise
        why = str(error).splitlines()[0]
        raise AtlasError(
            f"cannot write in {place}: {why}; nothing was published, run again when that is mended"
        ) from error


def _of_the_disk(error: duckdb.Error, place: Path) -> bool:
    """Whether DuckDB failed for the disk's sake: within a statement it has other names than IOException for that."""
    said = str(error).lower()
    is_told = isinstance(error, duckdb.IOException) or any(word in said for word in _DISK)
    return is_told or shutil.disk_usage(place).free < 2**20


def _judge(temporary: Path, judged: Judged, sums: Mapping[str, tuple[int, int]]) -> None:
    with reading(temporary) as con:
        across, read = validate.across(con), build.sums(con)
    validate.require(judged._replace(failures=(*judged.failures, *across)), "the new snapshot")
    if read != dict(sums):
        raise AtlasError(f"{temporary.parent}: the disk gave back other rows than were written; nothing was published")


def _says_the_same(place: Path, latest: Entry, digests: Digests) -> bool:
    """Whether an undamaged latest snapshot has these digests; a damaged one is replaced, not trusted."""
    try:
        return dict(_opened(shelf.checked(place, latest))[1]) == dict(digests)
    except Corrupt:
        return False


def _seen(place: Path, latest: Entry | None) -> pl.DataFrame | None:
    """What the latest snapshot had seen; nothing where there is none, or where it is damaged and will be replaced."""
    try:
        return None if latest is None else sightings.of_snapshot(shelf.checked(place, latest))
    except Corrupt:
        return None


def _refuse_the_past(index: Index, about: Publication) -> None:
    if not about.day_was_asked_for:
        return
    if about.day > dt.datetime.now(dt.UTC).date() + FARTHEST:
        raise Usage(f"--date {about.day} is more than two years ahead: no later snapshot could be dated before it")
    if index.latest and about.day < shelf.order(index.latest)[0]:
        raise Usage(f"--date {about.day} is before the latest snapshot, {index.latest}; snapshots only go forward")


def _entry(path: Path, origin: Origin, manifest: str, digests: Digests) -> Entry:
    return Entry(
        id=origin.snapshot_id,
        bytes=path.stat().st_size,
        sha256=shelf.file_digest(path),
        manifest=manifest,
        previous=origin.previous_id,
        source=origin.source,
        schema_version=origin.schema_version,
        code_version=origin.code_version,
        models=digests["models"][0],
        configs=digests["configs"][0],
        designs=digests["designs"][0],
    )


def _opened(path: Path) -> tuple[Origin, dict[str, tuple[int, str]], str]:
    """What the manifest inside a file says: the whole, the tables, and its digest; raises `Corrupt`."""
    try:
        with duckdb.connect(str(path), read_only=True) as con:
            rows = con.execute("SELECT * FROM snapshot").fetchall()
    except duckdb.Error as error:
        raise Corrupt(f"{path} is not a readable snapshot: {str(error).splitlines()[0]}") from error
    tables = {name: (count, digest) for name, count, digest, *_ in rows if name != build.WHOLE}
    whole = [row for row in rows if row[0] == build.WHOLE]
    if len(whole) != 1:
        raise Corrupt(f"{path} is incomplete: its manifest has no row for the whole")
    _, listed, digest, snapshot_id, source, schema_version, code_version, previous_id, previous_digest = whole[0]
    origin = Origin(snapshot_id, source, listed, code_version, schema_version, previous_id, previous_digest)
    return origin, tables, digest


def proven(path: Path) -> Entry:
    """The entry of a file that proves itself: complete, named as it says, its rows unchanged. Raises `Corrupt`."""
    return _proven(path)[0]


def _proven(path: Path) -> tuple[Entry, Origin]:
    origin, tables, manifest = _opened(path)
    if origin.snapshot_id != path.stem:
        raise Corrupt(f"{path} says it is {origin.snapshot_id}: it was swapped or renamed")
    if build.manifest_digest(origin, tables) != manifest:
        raise Corrupt(f"{path}: the manifest does not have its own digest")
    for name, found in _read_back(path).items():
        if tables.get(name) != found:
            raise Corrupt(f"{path}: the rows of {name} do not have the digest of the manifest")
    return _entry(path, origin, manifest, tables), origin


def _read_back(path: Path) -> Digests:
    try:
        with reading(path) as con:
            return validate.digests(con)
    except duckdb.Error as error:
        raise Corrupt(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def verify(home: Path, snapshot_id: str | None = None) -> list[Entry]:
    """Prove one snapshot, or all in the index, byte by byte and row by row; return what was proven.

    Raises:
        NotFound: there is no such snapshot.
        Corrupt: at least one is damaged; the message names every one that is.
    """
    place = shelf.folder(home)
    index = shelf.read(place)
    entries = [index.entry(snapshot_id)] if snapshot_id or not index.snapshots else list(index.snapshots)
    damage = [d for d in (_damage(place, index, e) for e in entries) if d]
    if damage:
        raise Corrupt("\n".join(damage))
    return entries


def _damage(place: Path, index: Index, entry: Entry) -> str | None:
    try:
        found, origin = _proven(shelf.checked(place, entry))
        if found != entry:
            return f"{place / entry.file}: the index says otherwise than the file about its contents"
        before = {e.id: e.manifest for e in index.snapshots} | {i: p.manifest for i, p in index.pruned.items()}
        if entry.previous in before and origin.previous_digest != before[entry.previous]:
            return f"{place / entry.file}: it follows another {entry.previous} than the one here"
    except Corrupt as error:
        return str(error)
    return None


def _adopt(place: Path, index: Index) -> Index:
    """Enter whole snapshots that a crash left out of the index, oldest first; others are left alone and never read."""
    known = {e.id for e in index.snapshots} | index.retracted.keys() | index.pruned.keys()
    files = sorted(
        (p for p in place.glob("*.duckdb") if shelf.is_id(p.stem) and p.stem not in known),
        key=lambda p: shelf.order(p.stem),
    )
    for path in files:
        entry = _adoptable(path, index)
        if entry:
            index = msgspec.structs.replace(index, latest=entry.id, snapshots=(*index.snapshots, entry))
            shelf.write(place, index)
    return index


def _adoptable(path: Path, index: Index) -> Entry | None:
    try:
        entry = proven(path)
    except Corrupt:
        return None
    return entry if entry.previous == index.latest else None
