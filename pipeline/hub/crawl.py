"""A crawl: list what is selected, fetch the configs that changed, and say of every repository what it came to.

    with crawl.run(Wanted(home, endpoint, selection)) as result:   # the only writer of the home's archive until the end
        for record in result.records(): ...
        publish(...)
        result.finish()                                       # from here on the next crawl is held against this one

A crawl that is killed, or ends for lack of quota, goes on from where it was when it is simply run again.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from pipeline.errors import AtlasError, Corrupt, Upstream
from pipeline.hub import listing, losses
from pipeline.hub.archive import Archive
from pipeline.hub.attempts import Attempt, Job, Run
from pipeline.hub.entry import Entry, is_repo_id
from pipeline.hub.fetch import fetch
from pipeline.hub.limits import BudgetSpent, GaveUp, Limits
from pipeline.hub.records import Crawled, CrawlSummary, Progress, crawled
from pipeline.hub.session import Hub
from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from pipeline.hub.listing import Selection

T = TypeVar("T")
BATCH = 256
BATCH_SECONDS = 1.0
"""A crash loses at most so many fetched configs, or so much time."""
LOOK_UPS = 200
"""Vanished repositories that are asked about one by one; where more vanished they are taken as missing."""
FAILED_SHARE = 0.05
"""Configs without an answer, beyond which the Hub counts as unavailable."""


@dataclass(frozen=True)
class Wanted:
    """What a crawl is asked for. `budget` is a number of requests, `token` None is anonymous, `today` is UTC's."""

    home: Path
    endpoint: str
    selection: Selection
    budget: int | None = None
    token: str | None = field(default=None, repr=False)
    allow_shrink: bool = False
    limits: Limits | None = None
    today: date | None = None
    progress: Callable[[Progress], None] | None = None


class CrawlResult:
    """A crawl brought to its end, holding the archive until it is closed."""

    def __init__(self, archive: Archive, run: Run, summary: CrawlSummary) -> None:
        self.summary = summary
        self._archive = archive
        self._run = run

    def records(self) -> Iterator[Crawled]:
        """Every repository, by name; configs are read from the archive as they are asked for. Raises Corrupt."""
        return (crawled(judged) for judged in self._archive.judged(self._run))

    def content(self) -> str:
        """A digest of everything that tables made of the records follow from; the day itself is not in it."""
        return self._archive.content(self._run)

    def before(self) -> tuple[str | None, str | None]:
        """The key and the manifest that the last finished crawl of this selection was finished with."""
        summary = self._archive.last_summary(self._run) or {}
        return summary.get("key"), summary.get("manifest")

    def finish(self, key: str | None = None, manifest: str | None = None) -> None:
        """Call it once the snapshot made of this crawl is published: the next crawl builds on it.

        `key` stands for what it was made of, `manifest` for the snapshot.
        """
        self._archive.finish(self._run, {**msgspec.to_builtins(self.summary), "key": key, "manifest": manifest})

    def close(self) -> None:
        """Let the next crawl in."""
        self._archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Staged:
    """A crawl in its stages, for who wants to see each: list, fetch what is due in parts, take the result.

    Each stage may be run again after it failed; what came is kept. Close it, or use it as a context manager.
    """

    def __init__(self, archive: Archive, crawl: Crawl, *, allow_shrink: bool) -> None:
        self.archive, self.allow_shrink = archive, allow_shrink
        self._crawl = crawl

    def list(self) -> list[Job]:
        """List what is selected; give what is to fetch, in the order of its worth. Raises as `run`."""
        return self._tell(self._crawl.listing(allow_shrink=self.allow_shrink))

    def fetch(self, jobs: list[Job], *, again: bool = False) -> dict[str, int]:
        """Fetch some of these; give how many came to what. `again` leaves out what came already. Raises as `run`."""
        due = set(self.archive.jobs(self._crawl.run)) if again else None
        before = Counter(self._crawl.came)
        self._tell(self._crawl.fetching([job for job in jobs if due is None or job in due]))
        return dict(self._crawl.came - before)

    def result(self) -> CrawlResult:
        """What came of it, held against the last crawl. Raises Invalid where too much was lost."""
        return CrawlResult(self.archive, self._crawl.run, self._crawl.summed(allow_shrink=self.allow_shrink))

    def _tell(self, stage: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run(stage)
        except sqlite3.DatabaseError as error:
            raise self.archive.damaged(error) from error

    def close(self) -> None:
        """Let the next crawl in."""
        self.archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def staged(wanted: Wanted) -> Staged:
    """Open a crawl into the archive of the home; nothing is asked of the Hub yet. Errors as of `run`."""
    day = wanted.today or datetime.now(UTC).date()
    hub = Hub(wanted.endpoint, token=wanted.token, limits=wanted.limits or Limits(), budget=wanted.budget)
    archive = Archive(wanted.home)
    try:
        started = archive.begin(wanted.selection.key(wanted.endpoint), day=day.isoformat())
    except sqlite3.DatabaseError as error:
        archive.close()
        raise archive.damaged(error) from error
    except BaseException:
        archive.close()
        raise
    crawl = Crawl(archive, started, hub, wanted.selection, wanted.progress or _quiet)
    return Staged(archive, crawl, allow_shrink=wanted.allow_shrink)


def run(wanted: Wanted) -> CrawlResult:
    """Crawl into the archive of the home.

    Raises:
        Busy: another crawl of this home is running.
        Invalid: far less was found than by the last finished crawl of this selection, and `allow_shrink` is False.
        Upstream: the Hub is unavailable or a quota stays spent; running again goes on from here.
        Corrupt: the archive is damaged.
        AtlasError: the archive cannot be written.
    """
    crawl = staged(wanted)
    try:
        crawl.fetch(crawl.list())
        return crawl.result()
    except BaseException:
        crawl.close()
        raise


def _quiet(_: Progress) -> None:
    """Nobody watches."""


class Crawl:
    """One crawl under way."""

    def __init__(
        self, archive: Archive, run: Run, hub: Hub, selection: Selection, progress: Callable[[Progress], None]
    ) -> None:
        self.archive, self.run, self.hub, self.selection, self.progress = archive, run, hub, selection, progress
        self.anomalies = listing.Anomalies()
        self.left_selection = 0
        self.gave_up: Counter[str] = Counter()
        self.silent = 0
        self.done = 0
        self.out_of_budget = False
        self.pending: list[Attempt] = []
        self.flushed = time.monotonic()
        self.writing = asyncio.Lock()
        self.started = time.monotonic()
        self.total = 0
        self.lost: list[str] = []
        self.came: Counter[str] = Counter()
        self.told = Progress("listing", 0, None, 0, 0.0)
        hub.quota.notice = self._rest
        hub.notice = self._struggle

    async def listing(self, *, allow_shrink: bool) -> list[Job]:
        """List and guard; what is to fetch."""
        before = self.archive.last_summary(self.run)
        async with self.hub:
            await self._list()
            self.lost = losses.shrunk(before, self.archive.listed(self.run))
            self._believe(self.lost, allow_shrink=allow_shrink)
            if self.selection.whole:
                await self._look_for_the_absent()
        jobs = self.archive.jobs(self.run)
        self.total = len(jobs)
        return jobs

    async def fetching(self, jobs: list[Job]) -> None:
        """Fetch these."""
        if not jobs:
            return
        self.writing, self.silent = asyncio.Lock(), 0
        async with self.hub:
            await self._fetch_all(jobs)

    def summed(self, *, allow_shrink: bool) -> CrawlSummary:
        """Guard, and sum up."""
        before = self.archive.last_summary(self.run)
        lost = losses.shifted(before, self.archive.outcomes(self.run), self.archive.model_types(self.run))
        self.lost += lost
        self._believe(lost, allow_shrink=allow_shrink)
        return self._summary(time.monotonic() - self.started, self.lost)

    def _believe(self, lost: list[str], *, allow_shrink: bool) -> None:
        """Raises Invalid where too much was lost; then nothing that was found counts, and all of it is asked again."""
        if lost and not allow_shrink:
            self.archive.refuse(self.run)
            losses.stop(lost)

    async def _list(self) -> None:
        done = 0
        async for page in listing.entries(self.hub, self.selection, self.anomalies):
            await asyncio.to_thread(self.archive.list_page, self.run, page)
            done += len(page)
            self._tell("listing", done, None)
        if done != self.archive.listed(self.run):
            raise Corrupt(f"{self.archive.path} is damaged: it lost listed repositories; move it away to crawl anew")

    def _tell(self, stage: str, done: int, total: int | None) -> None:
        self.told = Progress(stage, done, total, self.hub.spent.requests, self.hub.quota.waited_seconds)
        self.progress(self.told)

    def _rest(self, seconds: float) -> None:
        self.progress(msgspec.structs.replace(self.told, pause_seconds=seconds))

    def _struggle(self, why: str, seconds: float) -> None:
        self.progress(msgspec.structs.replace(self.told, trouble=why, pause_seconds=seconds))

    async def _look_for_the_absent(self) -> None:
        """What the last run listed and this one does not is missing, unless the Hub says it merely moved elsewhere."""
        absent = self.archive.absent(self.run)
        # Asked again after 1, 2, 4, ... runs without it.
        due = {repo_id for repo_id, times, _ in absent if times & (times - 1) == 0}
        gone: list[Entry] = []
        for repo_id, _, facts in absent:
            ask = repo_id in due and len(due) <= LOOK_UPS
            detail = await self._why_absent(repo_id) if ask else "no longer listed"
            if detail is not None:
                gone.append(Entry(repo_id, None, facts, "", Outcome.MISSING, detail))
        self.left_selection = len(absent) - len(gone)
        self.archive.list_page(self.run, gone, vanished={repo_id: times + 1 for repo_id, times, _ in absent})

    async def _why_absent(self, repo_id: str) -> str | None:
        if not is_repo_id(repo_id):
            return "no longer listed"
        found = await listing.look_up(self.hub, repo_id)
        if found.repo_id != repo_id:
            self.anomalies.renamed[repo_id] = found.repo_id
            return f"renamed to {found.repo_id}"
        return found.detail if found.verdict is Outcome.MISSING else None

    async def _fetch_all(self, jobs: list[Job]) -> None:
        queue, earlier = iter(jobs), self.gave_up.total()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.hub.limits.workers, len(jobs))):
                    group.create_task(self._work(queue))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            self._write(self._taken())
        failed = self.gave_up.total() - earlier
        if failed > 1 and failed > FAILED_SHARE * len(jobs):
            raise Upstream(_unavailable(failed, len(jobs), self.gave_up))

    async def _work(self, queue: Iterator[Job]) -> None:
        for job in queue:
            if self.out_of_budget:
                return
            attempt = await self._attempt(job)
            if attempt is not None:
                self.pending.append(attempt)
                await self._flush()
                self.came[attempt.outcome.value] += 1
            self.done += 1
            self._tell("configs", self.done, self.total)

    async def _attempt(self, job: Job) -> Attempt | None:
        try:
            found = await fetch(self.hub, job)
        except BudgetSpent:
            self.out_of_budget = True
            return None
        except GaveUp as error:
            self.gave_up[str(error)] += 1
            self.silent += 1
            if self.silent >= self.hub.limits.workers:
                raise Upstream(_unavailable(self.silent, self.total, self.gave_up)) from error
            return None
        except AtlasError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever one repository sends, the others go on
            found = Attempt(job, Outcome.MALFORMED, None, f"it cannot be read: {type(error).__name__}")
        self.silent = 0
        return found

    async def _flush(self) -> None:
        if len(self.pending) >= BATCH or time.monotonic() - self.flushed >= BATCH_SECONDS:
            batch = self._taken()
            async with self.writing:
                await asyncio.to_thread(self._write, batch)

    def _taken(self) -> list[Attempt]:
        batch, self.pending, self.flushed = self.pending, [], time.monotonic()
        return batch

    def _write(self, batch: list[Attempt]) -> None:
        if batch:
            self.archive.record(self.run, batch)

    def _summary(self, seconds: float, lost: list[str]) -> CrawlSummary:
        outcomes = self.archive.outcomes(self.run)
        listed = self.archive.listed(self.run)
        return CrawlSummary(
            listed=listed,
            vanished=sum(outcomes.values()) - listed,
            left_selection=self.left_selection,
            outcomes=outcomes,
            model_types=self.archive.model_types(self.run),
            new_model_types=self.archive.new_model_types(self.run),
            requests=self.hub.spent.requests,
            bytes=self.hub.spent.bytes,
            retries=self.hub.spent.reasons,
            quota_refusals=self.hub.quota.refused,
            waited_seconds=self.hub.quota.waited_seconds,
            seconds=seconds,
            duplicates=self.anomalies.duplicates,
            empty_pages=self.anomalies.empty_pages,
            unreadable_entries=self.anomalies.unreadable_entries,
            renamed=self.anomalies.renamed,
            gave_up=dict(self.gave_up),
            losses=lost,
        )


def _unavailable(failed: int, total: int, reasons: Counter[str]) -> str:
    return (
        f"the Hub gave no answer for {failed:,} of {total:,} configs ({reasons.most_common(1)[0][0]}); "
        "what came is kept, run again later to go on from here"
    )
