"""`atlas verify`: the derived tensors held against a checkpoint's own headers."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pipeline.options import Endpoint, Json


def run(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|PATH",
            help="A checkpoint folder, a safetensors file, an index, or a repository (owner/name).",
        ),
    ],
    json: Json = False,
    endpoint: Endpoint = None,
) -> None:
    """Hold every derived tensor against a checkpoint's headers, by name and shape; weights are not read.

    Exit code 0 where all agree, 3 where anything is missing, extra or misshaped (or the config is refused, or an
    index alone cannot decide), 8 where there is no such checkpoint, 4 where the Hub cannot be asked.
    """
    from pipeline.verify.verification import as_object, verify
    from schemas.vocabulary import Check

    found = verify(model, endpoint)
    if json:
        from pipeline.sheets.inspect import encoded

        sys.stdout.write(encoded(as_object(found)) + "\n")
    else:
        _print(found)
    if found.check is not Check.EXACT:
        raise typer.Exit(3)


def _print(found: object) -> None:
    from pipeline.sheets.screen import write
    from pipeline.sheets.verified import report
    from pipeline.verify.verification import Verified

    assert isinstance(found, Verified)  # noqa: S101 - the type is imported late
    write(report(found))
