"""Build the site of 20,000 synthetic models of 3,000 designs: seconds, memory, and how much it is on disk.

The designs are the catalogue's, each with other vocabularies. The guide is built before, as a refresh leaves it.
"""

from __future__ import annotations

import datetime as dt
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from snapshot import timed, variant

from atlas import derive as interpret
from pipeline.guide import render
from pipeline.refresh.tables import Input, tables
from pipeline.site import build
from pipeline.sources import catalogue
from pipeline.store import snapshot

MODELS, DESIGNS = 20_000, 3_000
DAY = dt.date(2026, 11, 29)


def models() -> Iterator[Input]:
    """The catalogue's models under their names, then others of the same configs with other vocabularies."""
    known = [e for e in catalogue.load() if interpret(e.raw).model is not None]
    raws = [variant(known[i % len(known)].config, 2 * (i // len(known)), i) for i in range(DESIGNS)]
    listing = {"author": "org", "downloads": 1_000, "likes": 3, "tags": ["transformers"]}
    for entry in known:
        yield Input(entry.repo, entry.raw, "bench", DAY, listing=listing)
    for i in range(MODELS - len(known)):
        yield Input(f"org-{i % 10}/model-{i}", raws[i % len(raws)], "bench", DAY, listing=listing)


def main() -> None:
    """Print the figures."""
    home = Path(tempfile.mkdtemp(prefix="atlas-bench-"))
    try:
        about = snapshot.Publication(day=DAY, source="bench", listed=MODELS, code_version="bench")
        path = snapshot.publish(home, tables(models()), about).path
        render.build(home, path)
        before = _peak()
        made, _ = timed("site", lambda: build.build(home, path))
        print(f"  {made.files:,} files, {made.size / 2**20:.0f} MiB; peak {_peak():.0f} MiB, {before:.0f} before")
        made, _ = timed("the same again", lambda: build.build(home, path))
        print(f"  {made.changed:,} files changed")
    finally:
        shutil.rmtree(home)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


if __name__ == "__main__":
    main()
