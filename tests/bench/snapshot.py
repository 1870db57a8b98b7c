"""Derive, validate and publish 100,000 synthetic models of 20,000 configs, beside what DuckDB alone takes.

The configs are the catalogue's, each with another vocabulary (a design of its own) for every second copy and another
rope_theta.
"""

from __future__ import annotations

import datetime as dt
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import msgspec
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))

from atlas import derive as interpret
from pipeline.ask import query
from pipeline.refresh.tables import Input, tables
from pipeline.sources import catalogue
from pipeline.store import build, shelf, snapshot
from schemas.registry import CONTENT

MODELS, CONFIGS = 100_000, 20_000
T = TypeVar("T")
DAY = dt.date(2026, 11, 29)

QUERIES = (
    "SELECT count(*) FROM fingerprints",
    "SELECT attention_kind, count(*), count(DISTINCT design_id) FROM fingerprints GROUP BY 1 ORDER BY 2 DESC",
    "SELECT repo_id, params_total FROM fingerprints ORDER BY params_total DESC, repo_id LIMIT 20",
    "SELECT repo_id, kv_bytes_128k FROM fingerprints WHERE is_moe AND params_active < 20e9 ORDER BY 2 DESC LIMIT 20",
    "SELECT * FROM fingerprints WHERE repo_id = 'org-7/model-77777'",
    "SELECT kv_bytes('org-7/model-77777', 100000, 1)",
    "SELECT field, value, origin FROM evidence WHERE repo_id = 'org-7/model-77777'",
    "SELECT feature, count(*) FROM features GROUP BY 1 ORDER BY 2 DESC",
    "SELECT component, sum(repeats * stored * elements) FROM parameters GROUP BY 1 ORDER BY 2 DESC",
    "SELECT origin, count(*) FROM evidence GROUP BY 1 ORDER BY 2 DESC",
)


def texts() -> list[bytes]:
    """Distinct config texts."""
    entries = [e.config for e in catalogue.load() if interpret(e.raw).model is not None]
    return [variant(entries[i % len(entries)], i // len(entries), i) for i in range(CONFIGS)]


def variant(config: dict[str, Any], n: int, i: int) -> bytes:
    """A config with another vocabulary for every second copy and another rope_theta."""
    inner = next((k for k in ("text_config", "llm_config") if isinstance(config.get(k), dict)), None)
    target: dict[str, Any] = dict(config[inner] if inner else config)
    size = target.get("vocab_size")
    target["vocab_size"] = (size if isinstance(size, int) else 32_000) + 64 * (n // 2)
    target["rope_theta"] = 10_000.0 + n
    target["_name_or_path"] = f"bench-{i}"
    return msgspec.json.encode({**config, inner: target} if inner else target)


def models(raws: list[bytes]) -> Iterator[Input]:
    """Repositories, five to a config."""
    listing = {
        "author": "org",
        "downloads": 1_000,
        "likes": 3,
        "tags": ["transformers", "safetensors"],
        "pipeline_tag": "text-generation",
    }
    for i in range(MODELS):
        yield Input(f"org-{i % 10}/model-{i}", raws[i % len(raws)], "bench", DAY, revision=f"{i:040x}", listing=listing)


def timed(what: str, run: Callable[[], T]) -> tuple[T, float]:
    """Run, print wall and CPU seconds, and return the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"  {what:<42} {wall:7.2f} s   {cpu:7.2f} s CPU", flush=True)
    return result, wall


def main() -> None:
    """Print the table."""
    home = Path(tempfile.mkdtemp(prefix="atlas-bench-"))
    try:
        _run(home)
    finally:
        shutil.rmtree(home)


def _run(home: Path) -> None:
    raws = texts()
    print(f"snapshot: {MODELS:,} models, {len(set(raws)):,} distinct configs")
    content, deriving = timed("derive into tables", lambda: tables(models(raws)))
    made, publishing = timed("build, validate, digest, publish", lambda: _publish(home, content))
    seconds = deriving + publishing
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = sum(n for n, _ in made.digests.values())
    print(
        f"  together {seconds:.1f} s: {MODELS / seconds:,.0f} models/s; peak {peak:.2f} GiB; {rows:,} rows,"
        f" {made.entry.bytes / 2**20:.0f} MiB, {made.entry.designs:,} designs"
    )
    timed("the same rows by DuckDB alone", lambda: _plain(home / "plain.duckdb", content))
    timed("publish again: nothing new", lambda: _publish(home, content))
    timed("snapshots verify", lambda: snapshot.verify(home))
    timed("open (digest of the file)", lambda: shelf.locate(home))
    for text in QUERIES:
        timed(text[:42], lambda text=text: query.run(made.path, text, lambda _: None))


def _publish(home: Path, content: dict[str, pl.DataFrame]) -> snapshot.Published:
    return snapshot.publish(
        home, content, snapshot.Publication(day=DAY, source="bench", listed=MODELS, code_version="bench")
    )


def _plain(path: Path, content: dict[str, pl.DataFrame]) -> None:
    with duckdb.connect(str(path)) as con:
        for table in CONTENT:
            con.register("incoming", build.Stream(content[table.name]))
            con.execute(f"CREATE TABLE {table.name} AS SELECT * FROM incoming")


if __name__ == "__main__":
    main()
