"""Build the guide from a snapshot, and check that it is its guide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands._options import Home, Snapshot

if TYPE_CHECKING:
    from pipeline.guide.render import Report

Trace = Annotated[
    bool,
    typer.Option("--trace", help="Print every value shown, with page, query, row, column."),
]


def build(*, snapshot: Snapshot = None, home: Home = Path()) -> None:
    """Build every page; those that cannot be built keep their last version and end the command with exit code 3."""
    from pipeline.errors import Invalid
    from pipeline.guide import render
    from pipeline.store import shelf

    entry, path = shelf.locate(home, snapshot)
    report = render.build(home, path)
    typer.echo(
        f"guide of snapshot {entry.id}: {len(report.built)} pages, {len(report.changed)} files changed", err=True
    )
    if report.failed:
        raise Invalid("\n".join(f"page {f.slug} cannot be built: {f.reason}" for f in report.failed))


def check(*, trace: Trace = False, snapshot: Snapshot = None, home: Home = Path()) -> None:
    """Rebuild in memory and compare byte for byte; exit code 3 where the guide is stale."""
    from pipeline.errors import Invalid
    from pipeline.guide import render
    from pipeline.store import shelf

    entry, path = shelf.locate(home, snapshot)
    report, differences = render.check(home, path)
    if trace:
        _print(report)
    if differences:
        said = "\n  ".join(differences)
        raise Invalid(f"the guide is stale:\n  {said}\n'atlas guide build' rebuilds it")
    typer.echo(f"guide of snapshot {entry.id}: {len(report.built)} pages, all as built", err=True)


def _print(report: Report) -> None:
    from pipeline.text import terminal

    for page in report.built:
        for t in page.traces:
            typer.echo(
                f"{page.slug}\t{terminal(t.printed)}\t{t.query}[{t.row}].{t.column}\t{terminal(str(t.value))}\t{report.snapshot}"
            )


actions = (build, check)
