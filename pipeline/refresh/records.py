"""The records of a refresh: what it is asked for, what a source holds, what was done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from pipeline.hub.crawl import CrawlResult
from pipeline.hub.listing import Selection
from pipeline.refresh.found import Found
from pipeline.store.sightings import News

CATALOGUE = "catalogue"
HUB = "hub"


class Options(msgspec.Struct, frozen=True):
    """What a refresh is asked for. `source` is "catalogue", "hub" or a folder; `budget` a number of requests.

    `processes` derive (None: one per core).
    """

    home: Path
    source: str = CATALOGUE
    day: dt.date | None = None
    selection: Selection = Selection()
    endpoint: str | None = None
    token: str | None = None
    budget: int | None = None
    allow_shrink: bool = False
    headers: int = 0
    processes: int | None = None


class Report(msgspec.Struct, frozen=True):
    """What a refresh did: the snapshot, how its models ended, the guide's pages, and what the crawl cost."""

    snapshot: str
    path: Path
    is_new: bool
    models: int
    designs: int
    outcomes: dict[str, int]
    verdicts: dict[str, int]
    pages: list[str]
    failed_pages: dict[str, str]
    crawl: dict[str, Any] | None = None
    news: list[News] = []
    """What no earlier snapshot had, the most downloaded first; none where this is the first."""


class Gathered(msgspec.Struct):
    """What a source holds, ready to be derived: the catalogue's models first.

    `listed` repositories in all, final once `found` is spent.
    """

    found: Iterator[Found]
    day: dt.date
    listed: int
    crawl: CrawlResult | None = None
    key: str | None = None
    """A digest of everything the tables will follow from, where that is known beforehand."""

    def whole(self) -> AbstractContextManager[object]:
        """Holds the archive, where there is one, until the refresh ends."""
        return self.crawl or nullcontext()
