"""Which snapshots go and which stay: retracted ones at once, others by a policy of days, weeks and months.

Every snapshot that stays is one complete plain file. What a policy lets go keeps its line in the index: the chain of
manifests still says what stood between two files.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from pipeline.durable import lock, remove
from pipeline.store import shelf
from pipeline.store.shelf import Entry, Index, Pruned

ALL = 2**31


class Keep(NamedTuple):
    """How many of the last days, ISO weeks and months keep their last snapshot. The latest always stays."""

    daily: int = 0
    weekly: int = 0
    monthly: int = 0


class Plan(NamedTuple):
    """What a policy keeps and lets go, oldest first."""

    kept: list[Entry]
    gone: list[Entry]

    @property
    def freed(self) -> int:
        """Bytes of the files that go."""
        return sum(e.bytes for e in self.gone)


def prune(home: Path) -> list[Path]:
    """Delete the files of retracted snapshots, and those that a killed call left; return what was deleted.

    The index is written first: files that a crash leaves behind belong to no entry, and the next call deletes them.

    Raises:
        Busy: another process writes here.
        AtlasError: a file cannot be deleted.
    """
    place = shelf.folder(home)
    index = shelf.read(place)
    if not index.retracted and not index.pruned:
        return []
    with lock(place):
        index = shelf.read(place)
        if len(index.standing) != len(index.snapshots):
            index = msgspec.structs.replace(index, snapshots=tuple(index.standing))
            shelf.write(place, index)
        return _delete(place, [*index.retracted, *index.pruned])


def plan(index: Index, keep: Keep) -> Plan:
    """What the policy means for these snapshots; retracted ones are not looked at."""
    standing = index.standing
    kept = {e.id for e in standing if e.id == index.latest}
    rules: tuple[tuple[int, Callable[[dt.date], object]], ...] = (
        (keep.daily, lambda day: day),
        (keep.weekly, lambda day: day.isocalendar()[:2]),
        (keep.monthly, lambda day: (day.year, day.month)),
    )
    for many, period in rules:
        last = {period(shelf.order(e.id)[0]): e.id for e in standing}
        kept |= set(list(last.values())[max(0, len(last) - many) :] if many else ())
    return Plan([e for e in standing if e.id in kept], [e for e in standing if e.id not in kept])


def thin(home: Path, keep: Keep) -> Plan:
    """Delete what the policy lets go; each stays in the index by its manifest. Raises as `prune`."""
    place = shelf.folder(home)
    with lock(place):
        index = shelf.read(place)
        made = plan(index, keep)
        ids = {e.id for e in made.gone}
        lines = {e.id: Pruned(manifest=e.manifest, previous=e.previous, sha256=e.sha256) for e in made.gone}
        rest = tuple(e for e in index.snapshots if e.id not in ids)
        if ids:
            shelf.write(place, msgspec.structs.replace(index, snapshots=rest, pruned=index.pruned | lines))
        _delete(place, index.pruned | lines)
        return made


def _delete(place: Path, ids: Iterable[str]) -> list[Path]:
    gone = [path for path in (place / f"{name}.duckdb" for name in ids) if path.is_file()]
    for path in gone:
        remove(path, point="snapshot.prune")
    return gone
