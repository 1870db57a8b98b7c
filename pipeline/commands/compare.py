"""`atlas compare`: models side by side, differences marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.options import Home, Json, Snapshot, Weights


def run(
    models: Annotated[
        list[str],
        typer.Argument(metavar="A B [C...]", help="Names as for show, or paths of configs or checkpoint folders."),
    ],
    at: Annotated[str, typer.Option("--at", help="Tokens of the sequence: 8192, 128k, 1m (k is 1,024).")] = "128k",
    dtype: Annotated[
        str, typer.Option("--dtype", help="What a cache element is stored in: bf16, fp8, int4, ...")
    ] = "bf16",
    form: Annotated[Literal["table", "md"], typer.Option("--format", help="For people, or Markdown.")] = "table",
    weights: Weights = None,
    json: Json = False,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Show models side by side: shape, weights, cache and cost at one context, differences marked.

    A word that is an existing path is a local config or checkpoint folder; any other is a model of the snapshot. A
    refused model ends the command with exit code 3.
    """
    from pipeline.sheets import compare
    from pipeline.sheets.screen import write
    from pipeline.sheets.widths import context_of, width_of

    found = compare.compare(home, snapshot, models, context_of(at), dtype, width_of(dtype), weights)
    if json:
        from pipeline.sheets.inspect import encoded

        typer.echo(encoded(compare.as_object(found)))
    elif form == "md":
        for line in compare.as_markdown(found):
            typer.echo(line)
    else:
        write(compare.table(found))
