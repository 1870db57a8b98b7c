"""What the tests of the crawl share: short limits, a way to crawl a loopback Hub, and child processes that do."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer

from pipeline.errors import AtlasError
from pipeline.hub import crawl
from pipeline.hub.limits import Limits
from pipeline.hub.listing import Selection
from pipeline.hub.records import Crawled, CrawlSummary

FAST = Limits(
    deadline=3.0, attempt=1.0, silence=0.4, contact=1.0, backoff=0.01, longest_wait=0.15, refusals=3, workers=8
)
UNHURRIED = {"deadline": 60.0, "attempt": 20.0, "silence": 20.0, "contact": 20.0}
"""Limits of a crawl whose requests are counted: a busy machine gives no second try."""
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["crawling"])


def crawled(
    home: Path, hub: HubServer | str, selection: Selection | None = None, *, finish: bool = True, **options: Any
) -> tuple[dict[str, Crawled], CrawlSummary]:
    """Crawl to the end and return the records by name, with the summary."""
    endpoint = hub if isinstance(hub, str) else hub.endpoint
    limits = replace(FAST, **options.pop("limits", {}))
    with crawl.run(crawl.Wanted(home, endpoint, selection or Selection(), limits=limits, **options)) as result:
        records = {record.repo_id: record for record in result.records()}
        if finish:
            result.finish()
    assert sum(result.summary.outcomes.values()) == result.summary.listed + result.summary.vanished == len(records)
    return records, result.summary


def facts(records: dict[str, Crawled]) -> list[tuple[Any, ...]]:
    """The records as rows, for comparing two crawls."""
    return [(r.repo_id, r.outcome, r.revision, r.raw, r.listing, r.as_of) for r in records.values()]


def _child(home: Path, endpoint: str, failpoint: str | None, options: dict[str, Any]) -> None:
    if failpoint is not None:
        os.environ["ATLAS_FAILPOINT"] = failpoint
    try:
        crawled(home, endpoint, **options)
    except KeyboardInterrupt:
        os._exit(130)


def start_crawl(home: Path, hub: HubServer, failpoint: str | None = None, **options: Any) -> Any:
    """A crawl in a process of its own, to be killed or interrupted (exit code 130)."""
    process = CHILDREN.Process(target=_child, args=(home, hub.endpoint, failpoint, options))
    process.start()
    return process


def kill_at_random(home: Path, hub: HubServer, times: int, longest: float) -> int:
    """Kill crawls at random moments, none of which finishes for good; return how many were still running then."""
    draw, killed = random.Random(6), 0
    for _ in range(times):
        process = start_crawl(home, hub, finish=False)
        process.join(draw.uniform(0.1, longest))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.join()
    return killed


def stored(home: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of the archive's own file."""
    with closing(sqlite3.connect(home / "archive/hub.sqlite")) as database:
        return database.execute(query).fetchall()


def crawl_on_a_small_disk(home: Path, endpoint: str, words: str) -> None:
    """In a child: no file may grow beyond 100 kB, so that SQLite itself meets a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    with pytest.raises(AtlasError, match=words):
        crawled(home, endpoint)
    os._exit(77)
