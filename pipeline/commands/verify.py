"""`atlas verify`: the derived tensors held against a checkpoint's own headers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._completion import models_named
from pipeline.commands._options import MODEL, Endpoint, Home, Json, Offline, Snapshot


def run(
    model: Annotated[
        str, typer.Argument(metavar="MODEL|PATH", help=f"{MODEL} Also an index of shards.", autocompletion=models_named)
    ],
    json: Json = False,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Hold every derived tensor against a checkpoint's headers.

    By name and shape; weights are not read. A name means its repository: huggingface_hub's cache, else the Hub. Exit
    code 3 where anything is missing, extra or misshaped, the config is refused, or an index alone cannot decide.
    """
    from pipeline.ask.found import Asking
    from pipeline.ask.resolver import checkpoint
    from pipeline.verify.verification import as_object, verify
    from schemas.vocabulary import Check

    where = checkpoint(model, Asking(home=home, snapshot=snapshot, endpoint=endpoint, offline=offline))
    found = verify(where) if isinstance(where, Path) else verify(where.repo_id, endpoint, where.revision)
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
