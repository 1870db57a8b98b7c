"""`atlas mcp`: the atlas for agents."""

from __future__ import annotations

from pathlib import Path

from pipeline.options import Endpoint, Home, Offline, Snapshot


def run(
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Serve the atlas to agents over the Model Context Protocol, on stdin and stdout, until they hang up.

    Tools: find, show, compare, evidence, sql, fit. Every answer is at most 3 kB, with units, verdict, snapshot and
    source; what strangers wrote is fenced as data. Needs the extra: pip install 'llm-architecture-atlas[mcp]'.
    """
    from pipeline.agents.server import made
    from pipeline.ask.found import Asking

    made(Asking(home=home, snapshot=snapshot, endpoint=endpoint, offline=offline)).run("stdio")
