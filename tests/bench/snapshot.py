"""Derive, validate and publish 100,000 synthetic models (or --models N), five to a config, beside DuckDB alone.

The configs are the catalogue's, each with another vocabulary (a design of its own) for every second copy and another
rope_theta. Memory is what this process and those that derive hold together (pages shared count once), twice a second.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from multiprocessing import active_children
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any, TypeVar

import duckdb
import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))

from atlas import derive as interpret
from pipeline.ask import query
from pipeline.ask.examples import EXAMPLES
from pipeline.refresh import records, steps
from pipeline.refresh.found import Input
from pipeline.sources import catalogue
from pipeline.store import shelf, snapshot
from pipeline.store.staged import Staged, reading
from schemas.registry import CONTENT

MODELS, OF_A_CONFIG = 100_000, 5
T = TypeVar("T")
DAY = dt.date(2026, 11, 29)

QUERIES = (
    "SELECT count(*) FROM fingerprints",
    "SELECT attention_kind, count(*), count(DISTINCT design_id) FROM fingerprints GROUP BY 1 ORDER BY 2 DESC",
    "SELECT repo_id, params_total FROM fingerprints ORDER BY params_total DESC, repo_id LIMIT 20",
    "SELECT repo_id, kv_bytes_128k FROM fingerprints WHERE is_moe AND params_active < 20e9 ORDER BY 2 DESC LIMIT 20",
    "SELECT * FROM fingerprints WHERE repo_id = 'org-7/model-7777'",
    "SELECT kv_bytes('org-7/model-7777', 100000, 1)",
    "SELECT field, value, origin FROM evidence WHERE repo_id = 'org-7/model-7777'",
    "SELECT feature, count(*) FROM features GROUP BY 1 ORDER BY 2 DESC",
    "SELECT component, sum(repeats * stored * elements) FROM parameters GROUP BY 1 ORDER BY 2 DESC",
    "SELECT origin, count(*) FROM evidence GROUP BY 1 ORDER BY 2 DESC",
)


class Texts:
    """So many distinct config texts, each made when it is asked for."""

    def __init__(self, count: int) -> None:
        self.entries = [e.config for e in catalogue.load() if interpret(e.raw).model is not None]
        self.count = count

    def __getitem__(self, i: int) -> bytes:
        return variant(self.entries[i % len(self.entries)], i // len(self.entries), i)


def variant(config: dict[str, Any], n: int, i: int) -> bytes:
    """A config with another vocabulary for every second copy and another rope_theta."""
    inner = next((k for k in ("text_config", "llm_config") if isinstance(config.get(k), dict)), None)
    target: dict[str, Any] = dict(config[inner] if inner else config)
    size = target.get("vocab_size")
    target["vocab_size"] = (size if isinstance(size, int) else 32_000) + 64 * (n // 2)
    target["rope_theta"] = 10_000.0 + n
    target["_name_or_path"] = f"bench-{i}"
    return msgspec.json.encode({**config, inner: target} if inner else target)


def models(count: int) -> Iterator[Input]:
    """Repositories, five to a config."""
    raws = Texts(count // OF_A_CONFIG)
    listing = {
        "author": "org",
        "downloads": 1_000,
        "likes": 3,
        "tags": ["transformers", "safetensors"],
        "pipeline_tag": "text-generation",
    }
    for i in range(count):
        yield Input(
            f"org-{i % 10}/model-{i}", raws[i % raws.count], "bench", DAY, revision=f"{i:040x}", listing=listing
        )


def timed(what: str, run: Callable[[], T]) -> tuple[T, float]:
    """Run, print wall and CPU seconds (those of ended children included), and return the result."""
    wall, cpu = time.perf_counter(), _used()
    result = run()
    wall, cpu = time.perf_counter() - wall, _used() - cpu
    print(f"  {what:<42} {wall:7.2f} s   {cpu:7.2f} s CPU", flush=True)
    return result, wall


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in both)


class Peak(Thread):
    """The most bytes that this process and its children held together so far."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes, self._left = 0, Event()

    def run(self) -> None:
        """Look until the program ends."""
        while not self._left.wait(0.5):
            held = sum(_held(p) for p in (os.getpid(), *(c.pid for c in active_children())))
            self.bytes = max(self.bytes, held)


def _held(pid: int | None) -> int:
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--models", type=int, default=MODELS)
    options.add_argument("--workers", type=int)
    options.add_argument("--home", type=Path, help="keep the snapshot here")
    asked = options.parse_args()
    home = asked.home or Path(tempfile.mkdtemp(prefix="atlas-bench-"))
    try:
        _run(home, asked.models, asked.workers)
    finally:
        if asked.home is None:
            shutil.rmtree(home)


def _run(home: Path, count: int, workers: int | None) -> None:
    peak = Peak()
    peak.start()
    print(f"snapshot: {count:,} models, {count // OF_A_CONFIG:,} distinct configs, and the catalogue's")
    timed("making the configs, which deriving includes", lambda: sum(1 for _ in models(count)))
    options = records.Options(home, "bench", DAY)
    known = steps.from_catalogue()
    gathered = records.Gathered(chain(known, models(count)), DAY, count + len(known))
    content, deriving = timed("derive into tables", lambda: steps.tabulate(gathered, processes=workers))
    derived = peak.bytes
    made, publishing = timed("build, validate, digest, publish", lambda: steps.publish(options, gathered, content))
    seconds = deriving + publishing
    rows = sum(n for n, _ in made.digests.values())
    print(
        f"  together {seconds:.1f} s: {count / seconds:,.0f} models/s; peak {peak.bytes / 2**30:.2f} GiB"
        f" ({derived / 2**30:.2f} deriving); {rows:,} rows, {made.entry.bytes / 2**20:.0f} MiB,"
        f" {made.entry.designs:,} designs"
    )
    timed("the same rows by DuckDB alone", lambda: _plain(home / "plain.duckdb", content))
    timed("publish again: nothing new", lambda: steps.publish(options, gathered, content))
    timed("snapshots verify", lambda: snapshot.verify(home))
    timed("open (digest of the file)", lambda: shelf.locate(home))
    _examples(made.path)
    for text in QUERIES:
        timed(text[:42], lambda text=text: query.run(made.path, text, lambda _: None))


def _examples(path: Path) -> None:
    """What every example of `atlas sql --examples` takes in the process, the best of three."""
    spent: list[tuple[float, str]] = []
    with reading(path) as con:
        for title, text in EXAMPLES.items():
            walls: list[float] = []
            for _ in range(3):
                begun = time.perf_counter()
                con.execute(text).fetchall()
                walls.append(time.perf_counter() - begun)
            spent.append((min(walls), title))
    spent.sort(reverse=True)
    print(f"  {len(spent)} examples in the process: median {1_000 * median(s for s, _ in spent):.0f} ms; the slowest:")
    for seconds, title in spent[:8]:
        print(f"    {1_000 * seconds:7.0f} ms  {title}", flush=True)


def _plain(path: Path, content: Staged) -> None:
    with duckdb.connect(str(path)) as con:
        for table in CONTENT:
            con.execute(f"CREATE TABLE {table.name} AS SELECT * FROM {content.table(table.name)}")
    path.unlink()


if __name__ == "__main__":
    main()
