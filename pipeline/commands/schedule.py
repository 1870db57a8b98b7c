"""`atlas schedule`: the refresh flow, served on a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._options import Author, Endpoint, Home, Task, Top


def run(
    cron: Annotated[str, typer.Option("--cron", help='Minute, hour, day, month, weekday: "0 6 * * *".')],
    timezone: Annotated[str, typer.Option("--timezone", help="Of --cron.")] = "UTC",
    source: Annotated[
        str, typer.Option("--source", help="hub, catalogue, or a folder of configs or checkpoints.")
    ] = "hub",
    task: Task = "text-generation",
    top: Top = None,
    author: Author = None,
    names: Annotated[
        Path | None, typer.Option("--list", metavar="FILE", help="Hub: only the repositories it names at each run.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="N", min=1, help="Hub: at most this many requests a run.")
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=1, max=65_535, help="Of Prefect's own server, if it is started here."),
    ] = 4200,
    endpoint: Endpoint = None,
    home: Home = Path(),
) -> None:
    """Serve the refresh as a Prefect flow on a schedule.

    Until interrupted; a run that meets another is cancelled. Uses the Prefect server of PREFECT_API_URL, or starts one
    on the loopback meanwhile. Prefect stores the options, not the token: set HF_TOKEN, or log in with huggingface_hub.
    Telemetry is off.
    """
    from pipeline.scheduled import schedule

    _require(source, names)
    made = schedule.deployment(cron, timezone, parameters(source, task, top, author, names, budget, endpoint, home))
    typer.echo("starting; Prefect takes some seconds (telemetry is off: DO_NOT_TRACK=1)", err=True)
    with schedule.server(port) as address:
        typer.echo(
            f"refresh/{schedule.NAME} runs at {cron} {timezone}; watch it at {address}, stop it with Ctrl-C", err=True
        )
        schedule.serve(made)


def _require(source: str, names: Path | None) -> None:
    """What would fail at every run fails now."""
    from pipeline.errors import NotFound

    if source not in {"hub", "catalogue"} and not Path(source).is_dir():
        raise NotFound(f"--source {source}: no such folder; say catalogue, hub, or a folder of configs or checkpoints")
    if names is not None and not names.is_file():
        raise NotFound(f"--list {names}: no such file")


def parameters(
    source: str,
    task: str,
    top: int | None,
    author: str | None,
    names: Path | None,
    budget: int | None,
    endpoint: str | None,
    home: Path,
) -> dict[str, str | int | None]:
    """The flow's parameters; paths are made absolute, since a run may begin in another folder."""
    return {
        "home": str(home.absolute()),
        "source": source if source in ("hub", "catalogue") else str(Path(source).absolute()),
        "task": task,
        "top": top,
        "author": author,
        "listed_in": None if names is None else str(names.absolute()),
        "budget": budget,
        "endpoint": endpoint,
    }
