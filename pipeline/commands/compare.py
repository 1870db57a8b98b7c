"""`atlas compare`: models side by side, differences marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.commands._completion import models_named
from pipeline.commands._options import MODEL, Dtype, Endpoint, Home, Json, Offline, Snapshot, Weights


def run(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL", help=MODEL, autocompletion=models_named),
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="[B:]KEY=VALUE",
            help="A what-if of all models, or of B alone; of one model beside itself. Repeatable.",
        ),
    ] = None,
    at: Annotated[str, typer.Option("--at", metavar="TOKENS", help="8192, 128k (k is 1,024), ...")] = "128k",
    dtype: Dtype = "bf16",
    form: Annotated[Literal["table", "md"], typer.Option("--format")] = "table",
    weights: Weights = None,
    json: Json = False,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Show models side by side at one context, differences marked.

    Models are lettered A, B, ... in the order given. A refused model ends with exit code 3.
    """
    from pipeline.ask.found import Asking
    from pipeline.sheets import compare
    from pipeline.sheets.screen import write
    from pipeline.sheets.widths import context_of, width_of

    asking = Asking(home=home, snapshot=snapshot, endpoint=endpoint, offline=offline)
    wanted = compare.Wanted(
        at=context_of(at), dtype=dtype, width=width_of(dtype), weights=weights, changes=tuple(changes or ())
    )
    found = compare.compare(asking, models, wanted)
    if json:
        from pipeline.sheets.inspect import encoded

        typer.echo(encoded(compare.as_object(found)))
    elif form == "md":
        for line in compare.as_markdown(found):
            typer.echo(line)
    else:
        write(compare.table(found))
