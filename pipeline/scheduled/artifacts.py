"""What a flow run shows in Prefect: progress, the validation as a table, a summary. Strangers' names are escaped.

Outside a flow run every function here does nothing, so that tasks can be called as plain functions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import prefect.runtime.flow_run
import prefect.runtime.task_run
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from pipeline.hub.records import Progress
from pipeline.sheets import changes
from pipeline.sheets.progress import WORDS
from pipeline.store import validate
from pipeline.text import markdown

if TYPE_CHECKING:
    from uuid import UUID

    from pipeline.refresh.records import Report
    from pipeline.refresh.rederive import Rederived
    from pipeline.store.snapshot import Digests
    from schemas.checks import Failure

PAUSE_SECONDS = 2.0
SHOWN = 50
"""Between two moves of a progress artifact: each is a request to Prefect's server."""


def _shown() -> bool:
    return prefect.runtime.flow_run.id is not None or prefect.runtime.task_run.id is not None


class Dial:
    """A progress artifact for each stage of a run."""

    def __init__(self) -> None:
        self._artifacts: dict[str, UUID] = {}
        self._moved: dict[str, float] = {}

    def __call__(self, now: Progress) -> None:
        """Show how far a stage is; where its end is unknown, only how much is done."""
        is_done = now.total is not None and now.done >= now.total
        if not _shown() or (not is_done and time.monotonic() - self._moved.get(now.stage, 0.0) < PAUSE_SECONDS):
            return
        self._moved[now.stage] = time.monotonic()
        percent = min(100.0, 100 * now.done / now.total) if now.total else 0.0
        said = f"{WORDS.get(now.stage, now.stage)}: {now.done:,} of {'?' if now.total is None else f'{now.total:,}'}"
        if now.stage in self._artifacts:
            update_progress_artifact(self._artifacts[now.stage], percent, said)
        else:
            self._artifacts[now.stage] = create_progress_artifact(percent, f"atlas-progress-{now.stage}", said)  # pyright: ignore[reportArgumentType] - no coroutine, for a caller that is none

    def derived(self, done: int, total: int) -> None:
        """Show how many repositories are derived."""
        self(Progress("derive", done, max(done, total), 0, 0.0))


def validation(digests: Digests, failures: Iterable[Failure]) -> None:
    """One row per table: rows, digest, how many rules were checked, which are broken."""
    if _shown():
        rows = [
            {name: markdown(str(value)) for name, value in row.items()} for row in validate.overview(digests, failures)
        ]
        create_table_artifact(rows, "atlas-validation", "The snapshot's tables, as read back from the finished file.")


def counted(what: str, counts: Mapping[str, int]) -> None:
    """What a task did, in numbers, where Prefect's page shows the task."""
    if prefect.runtime.task_run.id is not None:
        said = ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "nothing"
        create_markdown_artifact(f"{what}: {said}", description=said)


def summary(of: str, text: str) -> None:
    """The summary of a flow's run, in Markdown that is already escaped."""
    if _shown():
        create_markdown_artifact(text, f"atlas-{of}")


def of_refresh(done: Report) -> str:
    """What a refresh did, in Markdown."""
    state = "published" if done.is_new else "nothing new: the latest snapshot already says this"
    lines = [f"# Snapshot {markdown(done.snapshot)}", "", state, ""]
    lines += _table("outcome", done.outcomes) + _table("verdict", done.verdicts)
    lines += [f"{done.models:,} models, {done.designs:,} designs; the guide has {len(done.pages):,} pages."]
    lines += [
        f"- page {markdown(page)} keeps its last version: {markdown(why)}" for page, why in done.failed_pages.items()
    ]
    lines += [f"- {n.kind} never seen before: {markdown(str(n))}" for n in done.news[:SHOWN]]
    return "\n".join(lines + _cost(done.crawl)) + "\n"


def _cost(crawl: Mapping[str, Any] | None) -> list[str]:
    if crawl is None:
        return []
    said = (
        f"{crawl['requests']:,} requests, {crawl['bytes']:,} bytes, {crawl['waited_seconds']:.0f} s waiting for quotas."
    )
    return ["", said, "", *(f"- {markdown(loss)}" for loss in crawl["losses"])]


def of_rederived(found: Rederived) -> str:
    """What today's rules say otherwise, in Markdown."""
    return "\n".join(_nested(line) for line in changes.rederived(found)) + "\n"


def of_guide(snapshot: str, pages: list[str], failed: Mapping[str, str]) -> str:
    """What became of the guide, in Markdown."""
    kept = [f"- page {markdown(page)} keeps its last version: {markdown(why)}" for page, why in failed.items()]
    return "\n".join([f"{len(pages):,} pages built from snapshot {markdown(snapshot)}.", "", *kept]) + "\n"


def _table(head: str, counts: Mapping[str, int]) -> list[str]:
    rows = [f"| {markdown(name)} | {n:,} |" for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return [f"| {head} | number |", "|---|---:|", *rows, ""]


def _nested(line: str) -> str:
    """A line of a report as an item of a list, as deep as it is indented."""
    text = line.lstrip()
    return f"{line[: len(line) - len(text)]}- {markdown(text)}" if text else ""
