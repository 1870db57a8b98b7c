"""Build the site of 20,000 synthetic models of some 3,000 designs: seconds, memory, and how much it is on disk.

The designs are the catalogue's, each with other vocabularies. The guide is built before, as a refresh leaves it; the
site is built by the command, in a process of its own.
"""

from __future__ import annotations

import datetime as dt
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from snapshot import variant

from atlas import derive as interpret
from pipeline.guide import render
from pipeline.refresh.found import Input
from pipeline.refresh.tables import tables
from pipeline.sources import catalogue
from pipeline.store import snapshot

MODELS, CONFIGS = 20_000, 6_000
DAY = dt.date(2026, 11, 29)


def models() -> Iterator[Input]:
    """The catalogue's models under their names, then others of the same configs with other vocabularies."""
    known = [e for e in catalogue.load() if interpret(e.raw).model is not None]
    raws = [variant(known[i % len(known)].config, 2 * (i // len(known)), i) for i in range(CONFIGS)]
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
        for what in ("the site", "the same again"):
            _built(what, home)
    finally:
        shutil.rmtree(home)


def _built(what: str, home: Path) -> None:
    """Wall and CPU seconds with those of its processes, and the memory of the largest of them."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [str(Path(sys.executable).with_name("atlas")), "site", "build", "--home", str(home)]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"  {what}: {took:.1f} s, {cpu:.1f} s CPU, peak {after.ru_maxrss / 2**10:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
