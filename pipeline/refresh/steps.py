"""A refresh, step by step: what a source holds, its tables, a published snapshot, the guide made from it.

The steps are plain functions; `pipeline/scheduled/flows.py` composes the same ones as a Prefect flow.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

import pipeline
from atlas.refusal import Refused
from atlas.stored.answer import HEADER, INDEX
from pipeline.errors import AtlasError, Invalid, NotFound, Upstream
from pipeline.hub.crawl import CrawlResult, Progress
from pipeline.hub.crawl import Staged as Stages
from pipeline.hub.listing import Selection
from pipeline.refresh import batches, holding, repositories, tables, unchanged, workers
from pipeline.sources import beside, catalogue, changed, disk, measured, news, peers
from pipeline.sources.beside import LACKING
from pipeline.store import shelf, sightings, snapshot
from pipeline.store.columns import Columns
from pipeline.store.sightings import News
from pipeline.store.snapshot import Prepared, Published
from pipeline.store.staged import Staged
from schemas.registry import CHECKS
from schemas.tables import quoted
from schemas.vocabulary import Check, Outcome, Verdict

if TYPE_CHECKING:
    from pipeline.verify.verification import Verified

UNSUPPORTED = Outcome.UNSUPPORTED.value
CATALOGUE = "catalogue"
HUB = "hub"
Extra = dict[str, list[dict[str, Any]]]


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

    found: Iterator[tables.Found]
    day: dt.date
    listed: int
    crawl: CrawlResult | None = None
    key: str | None = None
    """A digest of everything the tables will follow from, where that is known beforehand."""

    def whole(self) -> AbstractContextManager[object]:
        """Holds the archive, where there is one, until the refresh ends."""
        return self.crawl or nullcontext()


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
    return report(options, gathered, content, published)


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


def _chained(gathered: Gathered, known: list[tables.Input], crawled: CrawlResult) -> Iterator[tables.Found]:
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


def from_catalogue() -> list[tables.Input]:
    """The embedded models, as of the catalogue's date."""
    day = catalogue.dated()
    return [tables.Input(e.repo, e.raw, CATALOGUE, day, listing=e.days) for e in catalogue.load()]


def from_folder(path: Path, day: dt.date) -> list[tables.Input]:
    """The configs of a folder; raises `NotFound` where there are none."""
    if not path.is_dir():
        raise NotFound(f"--source {path}: no such folder; say catalogue, hub, or a folder of configs or checkpoints")
    bare = [tables.Input(name, None, path.name, None, UNSUPPORTED, detail=why) for name, why in disk.without(path)]
    if bare and not disk.holds_configs(path):
        return bare
    folders = disk.checkpoints(path)
    return [*bare, *(_input(name, raw, path.name, day, folders.get(name)) for name, raw in disk.configs(path))]


def _input(name: str, raw: disk.Content, source: str, day: dt.date, folder: Path | None) -> tables.Input:
    if isinstance(raw, Refused):
        return tables.Input(name, None, source, None, Outcome.MISSING.value, detail=raw.reason)
    try:
        settings = () if folder is None else tuple(beside.written(folder))
    except OSError:  # a settings file that cannot be read is as if it were not there
        settings = ()
    return tables.Input(name, raw, source, day, settings=settings)


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


def with_headers(options: Options, content: Staged, watch: Callable[[Progress], None] | None = None) -> Staged:
    """The content with repositories held against their own safetensors headers.

    These are the most downloaded of the Hub, as many as were asked for, and every checkpoint of a folder that holds
    weights. A repository whose headers cannot be read has a row that says why; the refresh goes on.
    """
    at = _weighed_at(options, content)
    columns = Columns(CHECKS)
    for done, (name, target) in enumerate(at.items()):
        if watch:
            watch(Progress("headers", done, len(at), 0, 0.0))
        row, found = held_against_headers(name, target, options.endpoint)
        columns.add(tuple(row[c] for c in CHECKS.columns))
        if found is not None:
            _note_headers(content, str(name), found)
    if at:
        content.add(CHECKS.name, columns.frame())
    for table, key, read in (("stored", "subject", OF_HEADERS), ("configs", "config_id", MEASURED)):
        if content.has(read):
            old, new = content.table(table), content.given(read)
            content.decide(table, f"SELECT * FROM {old} ANTI JOIN {new} USING ({key}) UNION ALL FROM {new}")
    return content


def _weighed_at(options: Options, content: Staged) -> dict[str, str | Path]:
    """The repositories whose headers are read, each with where they are."""
    if options.source not in (CATALOGUE, HUB):
        found = disk.checkpoints(Path(options.source))
        return {name: folder for name, folder in found.items() if beside.has_weights(folder)}
    if not options.headers:
        return {}
    names = content.ask(
        f"SELECT repo_id FROM {content.table('models')} SEMI JOIN {_measurable(content)} USING (config_id)"
        f" WHERE source = '{HUB}' ORDER BY downloads DESC NULLS LAST, repo_id LIMIT {options.headers}"
    )
    return {str(name): str(name) for (name,) in names}


OF_HEADERS, MEASURED = "of_headers", "measured"


def _measurable(content: Staged) -> str:
    """The configs that headers can say something of: those derived, and those that only lack a rule."""
    kinds = ", ".join(f"'{kind}'" for kind in LACKING)
    return (
        f"(SELECT config_id FROM {content.table('configs')} WHERE design_id IS NOT NULL"
        f" UNION ALL SELECT config_id FROM {content.table('refusals')} WHERE kind IN ({kinds}))"
    )


def _note_headers(content: Staged, name: str, found: Verified) -> None:
    """Put aside what a repository's headers say: its stored form, its weights where no rule is known."""
    content.add(OF_HEADERS, repositories.of_headers(name, found.stored.rows))
    models, row = content.table("models"), found.fingerprint
    ids = f"SELECT config_id FROM {models} WHERE repo_id = {quoted(name)}"
    alone = content.ask(f"SELECT count(*) FROM {models} WHERE config_id = ({ids})") == [(1,)]
    if row.verdict == Verdict.MEASURED and alone:
        config = content.frame(f"SELECT * FROM {content.table('configs')} WHERE config_id = ({ids})", "configs")
        content.add(MEASURED, repositories.measured(config, row.params_checkpoint, found.evidence))


def held_against_headers(name: str, target: str | Path, endpoint: str | None) -> tuple[dict[str, Any], Verified | None]:
    """The row of `checks` that a repository's headers give, or that says why they give none; and what they hold.

    `target` is the repository's name on the Hub, or its folder.
    """
    from pipeline.verify.verification import check_row, on_disk, on_hub

    try:
        found = on_disk(target) if isinstance(target, Path) else on_hub(target, endpoint=endpoint)
        found = msgspec.structs.replace(found, name=name)
        return check_row(found), found if found.stored.evidence in (HEADER, INDEX) else None
    except Exception as error:  # noqa: BLE001 - what one stranger's header holds ends no refresh
        why = str(error).splitlines()[0] if isinstance(error, AtlasError) else f"unreadable: {type(error).__name__}"
        nothing = {"repo_id": name, "kind": "headers", "source": "its own headers", "expected": None, "derived": None}
        return nothing | {"result": Check.UNCHECKED.value, "note": why}, None


def reported(home: Path | None = None) -> Extra:
    """The catalogue's cited facts, what holding its totals against ours comes to, what other tools say, as rows.

    Numbers that were measured are among them, also those of this home.

    Raises:
        Invalid: a file of measurements at the home cannot be read.
    """
    entries = catalogue.load()
    facts = [
        {"repo_id": e.repo, "fact": r.fact.value, "value": str(r.value), "unit": r.unit, "citation": r.citation}
        for e in entries
        for r in e.reported
    ]
    facts += [_twin(e.repo, t) for e in entries for t in e.twins]
    held = holding.rows(entries)
    held["disagreements"] += peers.disagreements({e.repo for e in entries})
    return {
        "reported": facts,
        **held,
        "measurements": [
            *peers.measurements(),
            *news.measurements(),
            *changed.measurements(),
            *measured.rows(home),
        ],
    }


def _twin(repo: str, twin: catalogue.Twin) -> dict[str, str]:
    """What another repository with the same model in another form is said to hold."""
    value, unit = (twin.bytes, "bytes") if twin.elements is None else (twin.elements, "elements as the Hub counts them")
    fact, citation = f"stored as {twin.form}", f"{twin.repo}: {twin.source}"
    return {"repo_id": repo, "fact": fact, "value": str(value), "unit": unit, "citation": citation}


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


def report(
    options: Options,
    gathered: Gathered,
    content: Staged,
    published: Published,
    built: tuple[list[str], dict[str, str]] | None = None,
) -> Report:
    """Build the guide, unless it is `built` already, and say what was done."""
    pages, failed = built or build_guide(options.home, published.path)
    return Report(
        published.entry.id,
        published.path,
        published.is_new,
        content.count("models"),
        content.count("designs"),
        content.counts("models", "outcome"),
        content.counts("configs", "verdict"),
        pages,
        failed,
        None if gathered.crawl is None else msgspec.to_builtins(gathered.crawl.summary),
        unseen(options.home, published),
    )


def unseen(home: Path, published: Published) -> list[News]:
    """The model_types, classes and unread keys that the snapshot before a new one never had."""
    if not published.is_new or published.entry.previous is None:
        return []
    try:
        _, before = shelf.locate(home, published.entry.previous, of_any_major=True)
    except AtlasError:  # pruned, retracted or damaged meanwhile: nothing can be said
        return []
    return sightings.news(published.path, before)


def build_guide(home: Path, path: Path) -> tuple[list[str], dict[str, str]]:
    """Build the guide's pages; those that cannot be built keep their last version and are named with the reason."""
    from pipeline.guide import render

    try:
        built = render.build(home, path)
    except (AtlasError, OSError) as error:  # the snapshot is published: that is what counts
        return [], {"every page": str(error)}
    return [page.slug for page in built.built], {page.slug: page.reason for page in built.failed}
