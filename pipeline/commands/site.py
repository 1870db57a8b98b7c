"""Build the static site of a snapshot, and show it on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._options import Home, Snapshot

Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", show_default="reports/site under the home")]


def build(*, out: Out = None, snapshot: Snapshot = None, home: Home = Path()) -> None:
    """Write every page, drawing and file of data; they need no server, and no request of theirs leaves the machine."""
    from pipeline.site import build as site
    from pipeline.store import shelf
    from pipeline.units import binary

    entry, path = shelf.locate(home, snapshot)
    built = site.build(home, path, out)
    typer.echo(
        f"site of snapshot {entry.id}: {built.files:,} files, {binary(built.size)}, {built.changed:,} changed", err=True
    )
    for why in built.left_out:
        typer.echo(f"left out: {why}", err=True)
    typer.echo(built.first)


def serve(
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8400,
    out: Out = None,
    home: Home = Path(),
) -> None:
    """Show a built site on this machine, to this machine alone, until interrupted."""
    from pipeline.site import build as site
    from pipeline.site import served

    with served.server(out or home / site.SITE, port) as made:
        typer.echo(f"http://{served.LOCAL}:{made.server_address[1]}/")
        made.serve_forever()


actions = (build, serve)
