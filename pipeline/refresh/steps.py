"""A refresh, step by step: what a source holds, its tables, a published snapshot, the guide made from it.

The steps are plain functions; `pipeline/scheduled/flows.py` composes the same ones as a Prefect flow.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import pipeline
from atlas.refusal import Refused
from pipeline.errors import Invalid, NotFound, Upstream
from pipeline.hub.crawl import CrawlResult, Progress
from pipeline.hub.crawl import Staged as Stages
from pipeline.refresh import batches, holding, reporting, tables, unchanged, workers
from pipeline.refresh.cited import reported
from pipeline.refresh.found import Found, Input
from pipeline.refresh.headers import with_headers
from pipeline.refresh.records import CATALOGUE, HUB, Gathered, Options, Report
from pipeline.sources import beside, catalogue, disk
from pipeline.store import snapshot
from pipeline.store.snapshot import Prepared, Published
from pipeline.store.staged import Staged
from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    pass


def refresh(options: Options, watch: Callable[[Progress], None] | None = None) -> Report:
    """Run every step. `watch` is told of progress, in stages listing, configs and derive.

    Raises:
        Usage, Invalid, Upstream, Busy, Corrupt, NotFound: see `pipeline.errors`; nothing is published then.
    """
    gathered = gather(options, watch)
    with gathered.whole():
        if (nothing_new := unchanged.since(options, gathered)) is not None:
            return nothing_new
        content = with_headers(options, tabulate(gathered, watch, options.processes, options.home), watch)
        published = publish(options, gathered, content)
        finish(gathered, published)
    return reporting.report(options, gathered, content, published)


def finish(gathered: Gathered, published: Published) -> None:
    """Let the next crawl build on this one, once its snapshot is published."""
    if gathered.crawl:
        gathered.crawl.finish(gathered.key, published.entry.manifest)


def gather(options: Options, watch: Callable[[Progress], None] | None = None) -> Gathered:
    """What the source holds. Every source has the catalogue's models; its own replace those of the same name."""
    if options.source == CATALOGUE:
        known = from_catalogue()
        return Gathered(iter(known), options.day or catalogue.dated(), len(known))
    day = today(options)
    if options.source != HUB:
        known = from_catalogue()
        files = from_folder(Path(options.source), day)
        return Gathered(iter([*known, *files]), day, len({f.repo_id for f in (*known, *files)}))
    return crawled(options, day, crawl(options, day, watch))


def crawled(options: Options, day: dt.date, found: CrawlResult) -> Gathered:
    """What a crawl found, with the catalogue's models before it."""
    gathered = Gathered(iter(()), day, found.summary.listed, found, unchanged.key(options, found))
    gathered.found = _chained(gathered, from_catalogue(), found)
    return gathered


def today(options: Options) -> dt.date:
    """The day of a refresh that is not the catalogue's: the one asked for, else UTC's."""
    return options.day or dt.datetime.now(dt.UTC).date()


def _chained(gathered: Gathered, known: list[Input], crawled: CrawlResult) -> Iterator[Found]:
    """The catalogue's models, then the crawl's; at the end it is known how many repositories these are together."""
    yield from known
    names = {one.repo_id for one in known}
    summary, records, more = crawled.summary, 0, 0
    for one in crawled.records():  # each name once: the archive's key
        records += 1
        more += one.repo_id not in names
        yield one
    if records != summary.listed + summary.vanished:
        raise Invalid(
            f"the crawl listed {summary.listed:,} and missed {summary.vanished:,} repositories, but gave {records:,}; "
            "nothing was published"
        )
    gathered.listed = len(names) + more


def from_catalogue() -> list[Input]:
    """The embedded models, as of the catalogue's date."""
    day = catalogue.dated()
    return [Input(e.repo, e.raw, CATALOGUE, day, listing=e.days) for e in catalogue.load()]


def from_folder(path: Path, day: dt.date) -> list[Input]:
    """The configs of a folder; raises `NotFound` where there are none."""
    if not path.is_dir():
        raise NotFound(f"--source {path}: no such folder; say catalogue, hub, or a folder of configs or checkpoints")
    bare = [
        Input(name, None, path.name, None, Outcome.UNSUPPORTED.value, detail=why) for name, why in disk.without(path)
    ]
    if bare and not disk.holds_configs(path):
        return bare
    folders = disk.checkpoints(path)
    return [*bare, *(_input(name, raw, path.name, day, folders.get(name)) for name, raw in disk.configs(path))]


def _input(name: str, raw: disk.Content, source: str, day: dt.date, folder: Path | None) -> Input:
    if isinstance(raw, Refused):
        return Input(name, None, source, None, Outcome.MISSING.value, detail=raw.reason)
    try:
        settings = () if folder is None else tuple(beside.written(folder))
    except OSError:  # a settings file that cannot be read is as if it were not there
        settings = ()
    return Input(name, raw, source, day, settings=settings)


def crawl(options: Options, day: dt.date, watch: Callable[[Progress], None] | None) -> CrawlResult:
    """Crawl the Hub into the archive under the home; raises `Upstream` with the way that needs no network."""
    with offline_way():
        stages = staged(options, day, watch)
        try:
            stages.fetch(stages.list())
            return stages.result()
        except BaseException:
            stages.close()
            raise


@contextmanager
def offline_way() -> Iterator[None]:
    """Whoever cannot reach the Hub is told of the way that needs none."""
    try:
        yield
    except Upstream as error:
        raise Upstream(
            f"{error}\nWithout the Hub, 'atlas refresh --source catalogue' builds the atlas of the embedded models."
        ) from error


def staged(options: Options, day: dt.date, watch: Callable[[Progress], None] | None) -> Stages:
    """A crawl of the Hub in its stages; raises as `crawl.staged`."""
    from pipeline.hub import crawl as crawler

    return crawler.staged(
        crawler.Wanted(
            options.home,
            options.endpoint or "https://huggingface.co",
            options.selection,
            options.budget,
            token=options.token,
            allow_shrink=options.allow_shrink,
            today=day,
            progress=watch,
        )
    )


def tabulate(
    gathered: Gathered,
    watch: Callable[[Progress], None] | None = None,
    processes: int | None = None,
    home: Path | None = None,
) -> Staged:
    """Derive everything found, and add what is reported of it and what was measured, also at this home.

    Where there is much it is done in processes.

    `processes` is by default one per core; 1 is this one alone. The tables are the same.
    """
    first, asked = list(islice(gathered.found, workers.FEW)), workers.usual() if processes is None else processes
    found, known = chain(first, gathered.found), holding.of_catalogue()

    def told(done: int) -> None:
        if watch:
            watch(Progress("derive", done, gathered.listed, 0, 0.0))

    if len(first) < workers.FEW or asked == 1:
        done = count(1)
        return tables.tables(found, known=known, extra=reported(home), tick=lambda: _each(next(done), 50, told))
    with workers.submitting(asked) as submit:
        return batches.tables(found, submit, known=known, extra=reported(home), ahead=2 * asked, tick=told)


def _each(done: int, step: int, tell: Callable[[int], None]) -> None:
    """Tell of every so many."""
    if done % step == 0:
        tell(done)


def publish(options: Options, gathered: Gathered, content: Mapping[str, pl.DataFrame]) -> Published:
    """Publish the snapshot, unless the latest says the same."""
    with prepared(options, gathered, content) as ready:
        pass
    return ready.published


def prepared(
    options: Options, gathered: Gathered, content: Mapping[str, pl.DataFrame]
) -> AbstractContextManager[Prepared]:
    """Write and validate the snapshot on entering, publish it on leaving."""
    source = options.source if options.source in (CATALOGUE, HUB) else Path(options.source).name
    about = snapshot.Publication(
        day=gathered.day,
        source=source,
        listed=gathered.listed,
        code_version=pipeline.__version__,
        day_was_asked_for=options.day is not None,
        allow_shrink=options.allow_shrink,
    )
    return snapshot.prepared(options.home, content, about)
