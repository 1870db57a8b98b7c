"""The steps of `pipeline/refresh/` and the guide as Prefect flows: retries, batches, artifacts.

Nothing is decided here that the plain functions do not decide. The token of the Hub is fetched inside the one task that
needs it, so it is in no parameter, state, log or artifact. Telemetry is off unless the environment turns it on.
"""

from __future__ import annotations

import datetime as dt
import os
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
from pipeline.hub.listing import Selection, read_list
from pipeline.refresh import batches, holding, steps
from pipeline.refresh import rederive as again
from pipeline.refresh.steps import Gathered, Options, Report
from pipeline.scheduled import artifacts
from pipeline.store import shelf
from pipeline.store.snapshot import Published
from pipeline.store.validate import Broken

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


def _may_pass(_task: object, _run: TaskRun, state: State[Any]) -> bool:
    """Whether trying again can help: the Hub or a lock may, a rule that is broken stays broken."""
    try:
        state.result(_sync=True)  # pyright: ignore[reportCallIssue] - it exists on what prefect wraps
    except AtlasError as error:
        return isinstance(error, (Upstream, Busy))
    except Exception:  # noqa: BLE001 - whatever broke a worker may not break the next
        return True
    return False


_KEPT_HERE: dict[str, Any] = {"cache_policy": prefect.cache_policies.NO_CACHE, "persist_result": False}
_PATIENT: dict[str, Any] = {
    **_KEPT_HERE,
    "retries": 3,
    "retry_delay_seconds": prefect.tasks.exponential_backoff(60),
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": _may_pass,
}
_BRISK: dict[str, Any] = {**_PATIENT, "retries": 2, "retry_delay_seconds": prefect.tasks.exponential_backoff(2)}


@prefect.task(**_PATIENT)
def gather(options: Options) -> Gathered:
    """List and fetch what the source holds; a crawl that stopped goes on where it was."""
    token = login.token() if options.source == steps.HUB else None
    return steps.gather(msgspec.structs.replace(options, token=token), artifacts.Dial())


@prefect.task(**_BRISK)
def derive_texts(raws: list[bytes]) -> batches.Tables:
    """Derive one batch of about a thousand configs."""
    return batches.texts(raws)


@prefect.task(**_BRISK)
def publish(options: Options, gathered: Gathered, content: dict[str, pl.DataFrame]) -> Published:
    """Validate and publish the snapshot, and show what was validated."""
    try:
        published = steps.publish(options, gathered, content)
    except Broken as error:
        artifacts.validation(error.digests, error.failures)
        raise
    artifacts.validation(published.digests, ())
    return published


@prefect.task(**_KEPT_HERE)
def build_guide(home: Path, path: Path) -> tuple[list[str], dict[str, str]]:
    """Build the guide's pages."""
    return steps.build_guide(home, path)


@prefect.task(**_KEPT_HERE)
def report(options: Options, gathered: Gathered, content: dict[str, pl.DataFrame], published: Published) -> Report:
    """Build the guide, and sum up the refresh."""
    return steps.report(options, gathered, content, published)


@prefect.flow(name="refresh", task_runner=runner(), persist_result=False)
def refresh(  # noqa: PLR0913, PLR0917 - each is an option of the command
    home: str = ".",
    source: str = steps.CATALOGUE,
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
    gathered = gather(options)
    with gathered.whole():
        dial = artifacts.Dial()
        content = batches.tables(
            gathered.found,
            derive_texts.submit,
            known=holding.of_catalogue(),
            extra=steps.reported(),
            size=batch,
            tick=lambda n: dial.derived(n, gathered.listed),
        )
        published = publish(options, gathered, content)
        if gathered.crawl:
            gathered.crawl.finish()
    done = report(options, gathered, content, published)
    artifacts.summary("refresh", artifacts.of_refresh(done))
    return done


@prefect.flow(name="rederive", task_runner=runner(), persist_result=False)
def rederive(snapshot: str, home: str = ".", batch: int = batches.SIZE) -> again.Rederived:
    """Derive a snapshot's own raw configs again with today's rules, and say what differs. Nothing is published."""
    entry, path = shelf.locate(Path(home), snapshot)
    dial = artifacts.Dial()
    content = batches.tables(
        again.texts(path), derive_texts.submit, size=batch, tick=lambda n: dial.derived(n, entry.configs)
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
