"""`atlas show`: one model as a readable sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._completion import models_named
from pipeline.commands._options import MODEL, At, Dtype, Endpoint, Home, Json, Offline, Set, Snapshot, Weights


def run(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL, autocompletion=models_named)],
    layers: Annotated[bool, typer.Option("--layers", help="Every layer.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="Where every value comes from.")] = False,
    changes: Set = None,
    at: At = None,
    dtype: Dtype = "bf16",
    weights: Weights = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the architecture into this file instead.")
    ] = None,
    json: Json = False,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Show one model: weights, cache, cost, and what its config omits.

    Looked up in the snapshot, the catalogue, huggingface_hub's cache, the Hub. Sizes are logical bytes of one sequence;
    --dtype leaves states of fixed width as they are. A refused model ends with exit code 3.
    """
    from pipeline.ask.found import Asking
    from pipeline.ask.resolver import resolve
    from pipeline.sheets import show
    from pipeline.sheets.inspect import encoded
    from pipeline.sheets.screen import write
    from pipeline.sheets.widths import context_of, width_of

    view = show.View(
        layers=layers, evidence=evidence, at=None if at is None else context_of(at), dtype=dtype,
        width=width_of(dtype), weights=weights, changes=tuple(changes or ()),
    )  # fmt: skip
    found = resolve(model, Asking(home=home, snapshot=snapshot, endpoint=endpoint, offline=offline))
    if svg is not None:
        show.draw(found, svg)
        return
    if json:
        typer.echo(encoded(show.object_of(found, view)))
    else:
        write(show.sheet_of(found, view))
    if found.what_if(list(view.changes)).fingerprint.verdict == "refused":
        raise typer.Exit(3)
