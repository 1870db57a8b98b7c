"""`atlas mcp`: the atlas for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._options import Endpoint, Home, Offline, Snapshot


def run(
    roots: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Its configs and weights may be named; repeatable.",
        ),
    ] = None,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Serve the atlas to agents over the Model Context Protocol.

    On stdin and stdout, until they hang up. Tools: find, show, compare, evidence, sql, fit. Models go by name; files
    only below a --root. Needs the extra: pip install 'llm-architecture-atlas[mcp]'.
    """
    from pipeline.agents.server import made
    from pipeline.ask.found import Asking

    asking = Asking(home=home, snapshot=snapshot, endpoint=endpoint, offline=offline, roots=tuple(roots or ()))
    made(asking).run("stdio")
