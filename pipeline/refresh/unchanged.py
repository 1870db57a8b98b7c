"""A day on which nothing changed: known from the archive and the code alone, without deriving anything again."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import msgspec

import atlas
import pipeline
import schemas
from pipeline.errors import Corrupt
from pipeline.refresh import reporting
from pipeline.refresh.records import Gathered, Options, Report
from pipeline.sources import measured
from pipeline.store import shelf

if TYPE_CHECKING:
    from pipeline.hub.crawl import CrawlResult

GUIDE = Path("reports") / "guide"


def key(options: Options, crawled: CrawlResult) -> str | None:
    """A digest of what was crawled, of the code and of the home's measurements; None where headers are read besides."""
    if options.headers:
        return None
    return hashlib.sha256(f"{crawled.content()} {code()} {measured.digest(options.home)}".encode()).hexdigest()


@cache
def code() -> str:
    """A digest of every file of the packages: rules, rows and catalogue are among them."""
    digest = hashlib.sha256()
    for package in (atlas, pipeline, schemas):
        root = Path(package.__file__ or "").parent
        for path in sorted(p for p in root.rglob("*") if p.is_file() and p.suffix != ".pyc"):
            digest.update(f"{package.__name__} {path.relative_to(root)}".encode() + path.read_bytes())
    return digest.hexdigest()


def since(options: Options, gathered: Gathered) -> Report | None:
    """What to report where the latest snapshot was made of exactly this; None where it has to be derived.

    The guide is built only where there is none.
    """
    crawl, place = gathered.crawl, shelf.folder(options.home)
    index = shelf.read(place)
    if crawl is None or gathered.key is None or index.latest is None:
        return None
    entry = index.entry(None)
    if crawl.before() != (gathered.key, entry.manifest) or gathered.day < shelf.order(entry.id)[0]:
        return None
    try:
        path = shelf.checked(place, entry)
    except Corrupt:
        return None
    crawl.finish(gathered.key, entry.manifest)
    return _report(options, crawl, entry, path)


def _report(options: Options, crawl: CrawlResult, entry: shelf.Entry, path: Path) -> Report:
    pages, failed = [p.stem for p in sorted((options.home / GUIDE).glob("*.md"))], {}
    if not pages:
        pages, failed = reporting.build_guide(options.home, path)
    with duckdb.connect(str(path), read_only=True) as con:
        verdicts = dict(con.execute("SELECT verdict::VARCHAR, count(*) FROM configs GROUP BY ALL").fetchall())
        stands = dict(con.execute("SELECT outcome::VARCHAR, count(*) FROM models GROUP BY ALL").fetchall())
    outcomes = _outcomes(Counter(stands), Counter(crawl.summary.outcomes))
    told = msgspec.to_builtins(crawl.summary)
    return Report(
        snapshot=entry.id, path=path, is_new=False, models=entry.models, designs=entry.designs,
        outcomes=dict(outcomes), verdicts=verdicts, pages=pages, failed_pages=failed, crawl=told,
    )  # fmt: skip


def _outcomes(stands: Counter[str], crawled: Counter[str]) -> Counter[str]:
    """How the day ended: what stands, with those told apart that the crawl found unchanged.

    Some configs that came unchanged are known to be unreadable only since they were derived.
    """
    good = ("ok", "unchanged")
    bad, found_bad = (sum(n for outcome, n in of.items() if outcome not in good) for of in (stands, crawled))
    unchanged = crawled["unchanged"] - max(0, bad - found_bad)
    return stands - Counter({"ok": unchanged}) + Counter({"unchanged": unchanged})
