"""`atlas doctor`: what works here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pipeline.commands._options import Endpoint, Home, Json

if TYPE_CHECKING:
    from pipeline.sheets.doctor import Finding

WIDTH = 80
MARGIN = 18
MARKS = {"ok": "ok", "note": "note", "bad": "BAD"}


def run(json: Json = False, endpoint: Endpoint = None, home: Home = Path()) -> None:
    """Say what works here: Hub, token (never shown), home, snapshots.

    Exit code 4 where the Hub does not answer, 6 where a snapshot is damaged, 1 where the home
    cannot be written.
    """
    from pipeline.hub import login
    from pipeline.sheets import doctor

    health = doctor.examine(home, endpoint, login.token())
    if json:
        import msgspec

        from pipeline.sheets.inspect import encoded

        typer.echo(encoded(msgspec.to_builtins(health) | {"usable": health.usable}))
    else:
        for finding in health.findings:
            _print(finding)
    bad = {finding.subject for finding in health.findings if finding.state == "bad"}
    if bad:
        raise typer.Exit(4 if not health.hub else 6 if "snapshots" in bad else 1)


def _print(finding: Finding) -> None:
    import textwrap

    from pipeline.text import terminal

    head = f"{MARKS[finding.state]:<5}{finding.subject:<{MARGIN - 5}}"
    for text in filter(None, (finding.says, finding.next)):
        for line in textwrap.wrap(terminal(text), WIDTH - MARGIN) or [""]:
            typer.echo(head + line)
            head = " " * MARGIN
