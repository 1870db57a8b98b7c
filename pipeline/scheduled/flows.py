"""The steps of `pipeline/refresh/` and the guide as Prefect flows: retries, batches, artifacts.

Nothing is decided here that the plain functions do not decide. The token of the Hub is fetched inside the one task that
needs it, so it is in no parameter, state, log or artifact. Telemetry is off unless the environment turns it on.
"""

from __future__ import annotations

import datetime as dt
import itertools
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pipeline.scheduled.quiet  # noqa: F401 - Prefect reads the settings while it is imported

# isort: split
import msgspec
import polars as pl
import prefect
import prefect.cache_policies
import prefect.task_runners
import prefect.tasks
from prefect.client.schemas.objects import State, TaskRun

from pipeline.errors import AtlasError, Busy, Upstream, Usage
from pipeline.hub import login
from pipeline.hub.attempts import Job
from pipeline.hub.crawl import Staged
from pipeline.hub.listing import Selection, read_list
from pipeline.refresh import batches, cited, headers, holding, reporting, steps, unchanged
from pipeline.refresh import rederive as again
from pipeline.refresh.records import CATALOGUE, HUB, Gathered, Options, Report
from pipeline.scheduled import artifacts, events, tried
from pipeline.store import shelf
from pipeline.store.snapshot import Prepared, Published
from pipeline.store.validate import Broken

FETCHED = 300
"""Configs that one task fetches: at the Hub's quota some seconds to half a minute."""
RUNNER = "ATLAS_TASK_RUNNER"
WORKERS = "ATLAS_WORKERS"


def runner() -> Any:
    """The task runner that ATLAS_TASK_RUNNER asks for: `threads` (the default), `dask`, or the address of a scheduler.

    ATLAS_WORKERS is the number of threads, or of processes of a local Dask cluster; by default one per core.

    Raises:
        Usage: the setting cannot be read, or the extra is not installed.
    """
    wanted, workers = os.environ.get(RUNNER, "threads"), os.environ.get(WORKERS, str(os.cpu_count()))
    if not workers.isdecimal() or int(workers) < 1:
        raise Usage(f"{WORKERS}={workers!r} is not a number of workers")
    if wanted == "threads":
        return prefect.task_runners.ThreadPoolTaskRunner(max_workers=int(workers))
    try:
        from prefect_dask import DaskTaskRunner  # pyright: ignore[reportMissingImports] - an extra
    except ImportError as error:
        raise Usage(f"{RUNNER}={wanted}: Dask is not installed; install the package with its extra 'dask'") from error
    if wanted == "dask":
        local = {"n_workers": int(workers), "threads_per_worker": 1, "dashboard_address": None}
        return DaskTaskRunner(cluster_kwargs=local)
    if wanted.startswith(("tcp://", "tls://")):
        return DaskTaskRunner(address=wanted)
    raise Usage(f"{RUNNER}={wanted!r}: say threads, dask, or the scheduler's address, tcp://host:8786")


def _may_pass(task: prefect.Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    """Whether trying again can help: the Hub or a lock may, a rule that is broken stays broken. Says what failed."""
    try:
        state.result(_sync=True)  # pyright: ignore[reportCallIssue] - it exists on what prefect wraps
    except AtlasError as error:
        again, why = isinstance(error, (Upstream, Busy)), str(error).splitlines()[0]
    except Exception as error:  # noqa: BLE001 - whatever broke a worker may not break the next
        again, why = True, type(error).__name__
    else:
        return False
    tried.told(task, run, why, again=again)
    return again


_KEPT_HERE: dict[str, Any] = {"cache_policy": prefect.cache_policies.NO_CACHE, "persist_result": False}
_PATIENT: dict[str, Any] = {
    **_KEPT_HERE,
    "retries": 3,
    "retry_delay_seconds": prefect.tasks.exponential_backoff(60),
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": _may_pass,
}
_BRISK: dict[str, Any] = {**_PATIENT, "retries": 2, "retry_delay_seconds": prefect.tasks.exponential_backoff(2)}


@prefect.task(**_PATIENT, task_run_name="list")
def listing(stages: Staged) -> list[Job]:
    """List what is selected; what is to fetch of it."""
    with steps.offline_way():
        return stages.list()


@prefect.task(**_PATIENT, task_run_name="fetch {number} of {of}")
def fetch(stages: Staged, jobs: list[Job], number: int, of: int) -> dict[str, int]:
    """Fetch a few hundred configs into the archive; tried again, only those that are not there yet."""
    with steps.offline_way():
        came = stages.fetch(jobs, again=tried.times() > 1)
    artifacts.counted(f"fetch {number} of {of}", came)
    return came


@prefect.task(**_KEPT_HERE)
def gather(options: Options, stages: Staged | None = None) -> Gathered:
    """What the source holds: the catalogue, a folder, or what a crawl came to, held against the last one."""
    if stages is None:
        return steps.gather(options)
    return steps.crawled(options, steps.today(options), stages.result())


@prefect.task(**_BRISK, task_run_name="derive {number}")
def derive_texts(raws: list[bytes], number: int = 1) -> batches.Tables:
    """Derive one batch of configs."""
    artifacts.counted(f"derive {number}", {"distinct texts": len(raws)})
    return batches.texts(raws)


@prefect.task(**_BRISK)
def validate(held: ExitStack, options: Options, gathered: Gathered, content: Mapping[str, pl.DataFrame]) -> Prepared:
    """Write the snapshot beside its place and judge the finished file; `held` publishes it when it is closed."""
    try:
        ready = held.enter_context(steps.prepared(options, gathered, content))
    except Broken as error:
        artifacts.validation(error.digests, error.failures)
        raise
    artifacts.validation(ready.digests, ())
    return ready


@prefect.task(**_KEPT_HERE)
def publish(held: ExitStack, ready: Prepared, gathered: Gathered) -> Published:
    """Put the judged file in its place and enter it in the index."""
    held.close()
    steps.finish(gathered, ready.published)
    return ready.published


@prefect.task(**_KEPT_HERE)
def build_guide(home: Path, path: Path) -> tuple[list[str], dict[str, str]]:
    """Build the guide's pages."""
    return reporting.build_guide(home, path)


@prefect.flow(name="refresh", task_runner=runner(), persist_result=False)
def refresh(  # noqa: PLR0913, PLR0917 - each is an option of the command
    home: str = ".",
    source: str = CATALOGUE,
    task: str | None = "text-generation",
    top: int | None = None,
    author: str | None = None,
    listed_in: str | None = None,
    budget: int | None = None,
    day: dt.date | None = None,
    endpoint: str | None = None,
    allow_shrink: bool = False,  # noqa: FBT001, FBT002 - parameters of a flow are named
    batch: int = batches.SIZE,
) -> Report:
    """From a source to a published snapshot and the guide made from it; parameters are the options of `atlas refresh`.

    Paths are best absolute: a run may begin in another folder.
    """
    chosen = (
        Selection(task, author, top) if listed_in is None else Selection(None, author, top, read_list(Path(listed_in)))
    )
    options = Options(Path(home), source, day, chosen, without_secrets(endpoint), None, budget, allow_shrink)
    before = events.standing(options.home)
    with events.refusals(), ExitStack() as held:
        gathered = gather(options, _crawled(options, held))
        held.enter_context(gathered.whole())
        done = unchanged.since(options, gathered)
        if done is None:
            done = _published(options, gathered, batch)
    artifacts.summary("refresh", artifacts.of_refresh(done))
    events.published(options.home, before, done)
    return done


def _crawled(options: Options, held: ExitStack) -> Staged | None:
    """The Hub's listing, and every config that changed, a task each few hundred; nothing for another source."""
    if options.source != HUB:
        return None
    with_token = msgspec.structs.replace(options, token=login.token())
    stages = held.enter_context(steps.staged(with_token, steps.today(options), artifacts.Dial()))
    jobs = listing(stages)
    parts = list(batches.batched(jobs, FETCHED))
    for number, part in enumerate(parts, 1):
        fetch(stages, part, number, len(parts))
    return stages


def _published(options: Options, gathered: Gathered, batch: int) -> Report:
    dial = artifacts.Dial()
    content = batches.tables(
        gathered.found,
        _submitting(),
        known=holding.of_catalogue(),
        extra=cited.reported(options.home),
        size=batch,
        tick=lambda n: dial.derived(n, gathered.listed),
    )
    content = headers.with_headers(options, content)
    with ExitStack() as held:
        published = publish(held, validate(held, options, gathered, content), gathered)
    built = build_guide(options.home, published.path)
    return reporting.report(options, gathered, content, published, built)


def _submitting() -> Any:
    """Hands each batch to a task of its own, numbered."""
    numbers = itertools.count(1)
    return lambda raws: derive_texts.submit(raws, next(numbers))


@prefect.flow(name="rederive", task_runner=runner(), persist_result=False)
def rederive(snapshot: str = shelf.LATEST, home: str = ".", batch: int = batches.SIZE) -> again.Rederived:
    """Derive a snapshot's own raw configs again with today's rules, and say what differs. Nothing is published.

    `snapshot` is its date, or `latest`, or `previous`.
    """
    entry, path = shelf.locate(Path(home), snapshot)
    dial = artifacts.Dial()
    content = batches.tables(
        again.texts(path), _submitting(), size=batch, tick=lambda n: dial.derived(n, entry.configs)
    )
    found = again.compared(entry, path, content)
    artifacts.summary("rederive", artifacts.of_rederived(found))
    return found


@prefect.flow(name="guide", persist_result=False)
def guide(home: str = ".", snapshot: str | None = None) -> tuple[list[str], dict[str, str]]:
    """Build the guide from a snapshot, by default the latest."""
    entry, path = shelf.locate(Path(home), snapshot)
    pages, failed = build_guide(Path(home), path)
    artifacts.summary("guide", artifacts.of_guide(entry.id, pages, failed))
    return pages, failed


def without_secrets(endpoint: str | None) -> str | None:
    """The endpoint, which is a parameter that Prefect stores and shows; raises `Usage` where it carries a password."""
    if endpoint is not None and "@" in endpoint:
        raise Usage(
            "the endpoint carries a user name or password, and Prefect stores and shows a flow's parameters:"
            " leave them out and set HF_TOKEN"
        )
    return endpoint
