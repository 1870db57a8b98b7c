"""`atlas show`: one model of a snapshot as a readable sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.options import Home, Json, Snapshot, Weights


def run(
    model: Annotated[str, typer.Argument(help='A repository, or loosely: "llama 3.1 8b".')],
    layers: Annotated[bool, typer.Option("--layers", help="Every layer.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="Where every value comes from.")] = False,
    dtype: Annotated[
        str, typer.Option("--dtype", help="What a cache element is stored in: bf16, fp8, int4, ...")
    ] = "bf16",
    weights: Weights = None,
    json: Json = False,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Show one model of the latest snapshot: weights, cache, cost, layers, and what the config did not state.

    Sizes are logical bytes of one sequence; --dtype weighs the cache in another type (states of fixed width stay as
    they are).
    """
    from pipeline.sheets import show
    from pipeline.sheets.screen import write
    from pipeline.sheets.widths import width_of

    width = width_of(dtype)
    shown = show.find(home, snapshot, model)
    if json:
        typer.echo(show.as_json(shown, layers=layers, evidence=evidence, dtype=dtype, width=width, weights=weights))
        return
    write(show.sheet_of(shown, layers=layers, evidence=evidence, dtype=dtype, width=width, weights=weights))
