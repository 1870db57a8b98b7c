"""Whether a new snapshot holds far less than the latest one: that takes somebody who says so, whatever the source."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

from pipeline.errors import Corrupt, Invalid
from pipeline.store import shelf
from pipeline.store.shelf import Entry

SHARE = 0.02
FEW = 2
"""A repository that goes is everyday life, however few there are."""
SHOWN = 5


def guard(place: Path, latest: Entry, names: pl.Series) -> None:
    """Hold the names of a new snapshot's models against the latest; where its file is damaged, their number.

    Raises:
        Invalid: too many would be dropped; the message names the first of them.
    """
    try:
        dropped = sorted(held(shelf.checked(place, latest)) - set(names))
        lost = len(dropped)
    except Corrupt:
        dropped, lost = [], latest.models - names.len()
    if lost < FEW or lost < SHARE * latest.models:
        return
    shown = ", ".join(dropped[:SHOWN]) + (f" and {lost - SHOWN:,} more" if lost > SHOWN and dropped else "")
    raise Invalid(
        f"{lost:,} of the {latest.models:,} models of snapshot {latest.id} (source {latest.source}) would be dropped"
        f"{': ' if shown else ''}{shown}; nothing was published. If that is as it should be, run again with"
        " --allow-shrink; or give this source a --home of its own"
    )


def held(path: Path) -> set[str]:
    """The names of a snapshot's models."""
    with duckdb.connect(str(path), read_only=True) as con:
        return {name for (name,) in con.execute("SELECT repo_id FROM models").fetchall()}
