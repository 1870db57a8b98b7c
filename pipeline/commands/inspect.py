"""`atlas inspect`: whatever names a model or a folder of configs, without a snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands._completion import models_named
from pipeline.commands._options import MODEL, At, Dtype, Endpoint, Home, Json, Offline, Set, Snapshot, Weights

if TYPE_CHECKING:
    from pipeline.ask.found import Found
    from pipeline.sheets.show import View


def run(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help=f"{MODEL} Or a folder of configs.", autocompletion=models_named),
    ] = None,
    json: Json = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="A JSON object per config, by file name, bad ones too.")
    ] = False,
    layers: Annotated[bool, typer.Option("--layers", help="Every layer.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="Where every value comes from.")] = False,
    json_schema: Annotated[bool, typer.Option("--json-schema", help="Print the JSON Schema of --json.")] = False,
    changes: Set = None,
    at: At = None,
    dtype: Dtype = "bf16",
    weights: Weights = None,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Work out a config, or a folder of them, with evidence.

    A refused config ends with exit code 3; with --jsonl, or of a folder, it is a line like any other. With --set,
    --json has the original under "original".
    """
    if json_schema:
        from pipeline.sheets.schema import schema

        _line(schema())
        return
    if model is None:
        raise typer.BadParameter("a model is wanted: its name, OWNER/NAME, or a path")
    from pipeline.ask.found import Asking
    from pipeline.ask.resolver import several as look_up
    from pipeline.sheets.show import View
    from pipeline.sheets.widths import context_of, width_of

    view = View(
        layers=layers, evidence=evidence, at=None if at is None else context_of(at), dtype=dtype,
        width=width_of(dtype), weights=weights, changes=tuple(changes or ()),
    )  # fmt: skip
    asking = Asking(home=home, snapshot=snapshot, endpoint=endpoint, offline=offline)
    found, several = look_up(model, asking)
    if jsonl:
        _lines(found, view)
        return
    _print(found, view, several=several, json=json)
    if not several and found[0].what_if(list(view.changes)).fingerprint.verdict == "refused":
        raise typer.Exit(3)


def _lines(found: list[Found], view: View) -> None:
    from pipeline.sheets.inspect import as_object
    from pipeline.sheets.show import asked_beside

    for each in found:
        derived = each.what_if(list(view.changes))
        made = as_object(derived, layers=view.layers, evidence=view.evidence)
        _line(made | asked_beside(each, derived, view))


def _print(found: list[Found], view: View, *, several: bool, json: bool) -> None:
    from pipeline.sheets import show
    from pipeline.sheets.screen import write

    if json:
        objects = [show.object_of(each, view, reported=False) for each in found]
        _line(objects if several else objects[0])
    elif several:
        write(show.of_several(found, view))
    else:
        write(show.sheet_of(found[0], view))


def _line(value: object) -> None:
    from pipeline.sheets.inspect import encoded

    sys.stdout.write(encoded(value) + "\n")
