"""Whether a new snapshot holds far less than the latest one: that takes somebody who says so, whatever the source."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import Corrupt, Invalid
from pipeline.store import shelf
from pipeline.store.shelf import Entry
from pipeline.store.staged import Staged
from schemas.registry import MODELS
from schemas.tables import quoted

SHARE = 0.02
FEW = 2
"""A repository that goes is everyday life, however few there are."""
SHOWN = 5


def guard(place: Path, latest: Entry, content: Staged) -> None:
    """Hold the names of a new snapshot's models against the latest; where its file is damaged, their number.

    Raises:
        Invalid: too many would be dropped; the message names the first of them.
    """
    try:
        dropped, lost = missing(shelf.checked(place, latest), content)
    except Corrupt:
        dropped, lost = [], latest.models - content.count(MODELS.name)
    if lost < FEW or lost < SHARE * latest.models:
        return
    shown = ", ".join(dropped[:SHOWN]) + (f" and {lost - SHOWN:,} more" if lost > SHOWN and dropped else "")
    raise Invalid(
        f"{lost:,} of the {latest.models:,} models of snapshot {latest.id} (source {latest.source}) would be dropped"
        f"{': ' if shown else ''}{shown}; nothing was published. If that is as it should be, run again with"
        " --allow-shrink; or give this source a --home of its own"
    )


def missing(path: Path, content: Staged) -> tuple[list[str], int]:
    """The first names of a snapshot's models that are not among these, and how many there are."""
    with content.apart() as con:
        con.execute(f"ATTACH {quoted(str(path))} AS latest (READ_ONLY)")
        gone = f"FROM latest.models ANTI JOIN {content.table(MODELS.name)} USING (repo_id)"
        first = con.execute(f"SELECT repo_id {gone} ORDER BY repo_id LIMIT {SHOWN}").fetchall()
        return [name for (name,) in first], con.execute(f"SELECT count(*) {gone}").fetchall()[0][0]
