"""`atlas refresh`: from a source to a published snapshot and the guide made from it."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands._options import Author, Endpoint, Home, Json, Task, Top
from pipeline.text import shorten, terminal

if TYPE_CHECKING:
    from pipeline.hub.listing import Selection
    from pipeline.refresh.records import Report

FEW = 8
NEWS = {"model_type": "model types", "class": "classes", "key": "unread keys"}


def run(
    source: Annotated[
        str, typer.Option("--source", help="catalogue, hub, or a folder of configs or checkpoints.")
    ] = "catalogue",
    task: Task = "text-generation",
    top: Top = None,
    author: Author = None,
    names: Annotated[
        Path | None, typer.Option("--list", metavar="FILE", help="Hub: only the repositories it names, one a line.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="N", min=1, help="Hub: at most this many requests.")
    ] = None,
    headers: Annotated[
        int,
        typer.Option("--headers", metavar="N", min=0, help="Hub: hold the N most downloaded against headers."),
    ] = 0,
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="The snapshot's, if not today.")
    ] = None,
    allow_shrink: Annotated[
        bool, typer.Option("--allow-shrink", help="Publish where far less was found than before.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, metavar="N", help="Processes; one per core unless given.")
    ] = None,
    json: Json = False,
    endpoint: Endpoint = None,
    home: Home = Path(),
) -> None:
    """Derive every model of a source; publish a snapshot and the guide.

    Where the latest snapshot says the same, nothing is published. Interrupted, it goes on where it stopped.
    """
    from pipeline.errors import Usage
    from pipeline.hub import login
    from pipeline.refresh.records import Options
    from pipeline.refresh.steps import refresh
    from pipeline.sheets.progress import watching

    only_hub = {"--top": top, "--author": author, "--list": names, "--budget": budget, "--headers": headers or None}
    meant = [option for option, value in only_hub.items() if value is not None]
    if meant and source != "hub":
        raise Usage(f"{meant[0]} selects from the Hub, and --source is {source}: add --source hub, or leave it out")
    options = Options(
        home,
        source,
        _day(date),
        _selection(task, top, author, names),
        endpoint,
        login.token() if source == "hub" else None,
        budget,
        allow_shrink,
        headers,
        workers,
    )
    with watching(quiet=json) as watch:
        report = refresh(options, watch)
    _print_json(report) if json else _print(report)
    if source == "catalogue" and not json:
        _tell_digests(report)


def _tell_digests(report: Report) -> None:
    from pipeline.store import cite

    said = cite.against_record(report.path)
    if said is not None:
        print(f"the tables' digest {said}", file=sys.stderr)


def _day(text: str | None) -> dt.date | None:
    if text is None:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"--date {text}: a date is written 2026-11-29") from error


def _selection(task: str, top: int | None, author: str | None, names: Path | None) -> Selection:
    from pipeline.hub.listing import Selection

    if names is None:
        return Selection(task, author, top)
    try:
        lines = names.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"--list {names} cannot be read: {error}") from error
    return Selection(
        None, author, top, tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    )


def _print_json(report: Report) -> None:
    import msgspec

    from pipeline.sheets.inspect import encoded

    print(encoded(msgspec.to_builtins(report, enc_hook=str)))


def _few(names: list[str]) -> str:
    """The first of what strangers call their models; --json has them all."""
    shown = ", ".join(shorten(terminal(name), 40) for name in names[:FEW])
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW} more"


def _tell(label: str, said: str) -> None:
    import textwrap

    print(
        textwrap.fill(
            said, 80, initial_indent=f"  {label:<9}", subsequent_indent=" " * 11, break_long_words=False,
            break_on_hyphens=False,
        )
    )  # fmt: skip


def _print(report: Report) -> None:
    state = "published" if report.is_new else "nothing new: the latest snapshot already says this"
    counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(report.outcomes.items(), key=lambda x: -x[1]))
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(report.verdicts.items(), key=lambda x: -x[1]))
    print(f"snapshot {report.snapshot}  {state}")
    _tell("models", f"{report.models:,} ({counts})")
    _tell("configs", f"{sum(report.verdicts.values()):,} ({verdicts}), {report.designs:,} designs")
    _tell("file", str(report.path))
    _tell("guide", f"{len(report.pages)} pages in reports/guide/")
    if report.crawl:
        c = report.crawl
        waited = f"{c['waited_seconds']:.0f} s waiting for quota"
        _tell("spent", f"{c['requests']:,} requests, {c['bytes']:,} bytes, {waited}")
    for kind, said in NEWS.items():
        if names := [str(n) for n in report.news if n.kind == kind]:
            _tell("new", f"{said} never seen before: {_few(names)}")
    for page, why in report.failed_pages.items():
        print(f"  kept     {page} keeps its last version: {terminal(why)}", file=sys.stderr)
    print(
        'Try next:\n  atlas show "llama 3.1 8b"\n  atlas sql "SELECT repo_id, params_total FROM fingerprints LIMIT 5"'
    )
