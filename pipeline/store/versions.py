"""Which snapshots of other versions may be read.

Within a major version columns are only added, so every reader can read. An older major is listed, proven, derived
again, and asked in plain SQL, where whoever asks knows the columns; everything else would take a column for what it
means today.
"""

from __future__ import annotations

from pipeline.errors import NotFound
from schemas.version import SCHEMA_VERSION


def major(version: str) -> int:
    """The first number of a version such as 2.0.0."""
    return int(version.partition(".")[0])


def require_readable(snapshot_id: str, version: str) -> None:
    """Raise `NotFound`, with what to do instead, where a snapshot's columns do not mean what they mean here."""
    theirs, ours = major(version), major(SCHEMA_VERSION)
    said = f"snapshot {snapshot_id} has schema {version}, and this atlas reads {ours}"
    if theirs > ours:
        raise NotFound(f"{said}: a newer atlas wrote it, install that one")
    if theirs < ours:
        raise NotFound(
            f"{said}: derive it again with 'atlas snapshots rederive {snapshot_id}', or publish a new one with"
            " 'atlas refresh'; 'atlas sql' still asks it as it is"
        )
