"""`atlas diff`: what changed between two snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._options import Home, Json


def run(
    before: Annotated[str, typer.Argument(metavar="D1", help="The earlier: its date, latest or previous.")],
    after: Annotated[str, typer.Argument(metavar="D2", help="The later.")],
    json: Json = False,
    home: Home = Path(),
) -> None:
    """Show what changed between two snapshots: on the Hub, and here.

    The same config with other values: our rules changed. Another config: the Hub's repository did. Counts that move
    daily, such as downloads, are not compared. Lists are cut at ten names; --json has all.
    """
    from pipeline.sheets import changes
    from pipeline.store import diff

    found = diff.diff(home, before, after)
    if json:
        import msgspec

        from pipeline.sheets.inspect import encoded

        typer.echo(encoded(msgspec.to_builtins(found)))
        return
    for line in changes.lines(found):
        typer.echo(line)
