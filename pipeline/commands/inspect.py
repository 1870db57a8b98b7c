"""`atlas inspect`: a local config, checkpoint folder or folder of configs, without a snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.options import Json, Weights

if TYPE_CHECKING:
    from atlas.derived import Derived
    from pipeline.sources.disk import Content


def run(
    path: Annotated[
        str, typer.Argument(help="A config.json, a checkpoint folder, a folder of configs, or - for stdin.")
    ],
    json: Json = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="One JSON object per config, bad ones too, in file-name order.")
    ] = False,
    layers: Annotated[bool, typer.Option("--layers", help="Every layer.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="Where every value comes from.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A what-if beside the original; repeatable, dots reach into objects."
        ),
    ] = None,
    weights: Weights = None,
) -> None:
    """Work out an architecture from a config alone: weights, cache, cost, each with its evidence.

    A config that cannot be derived is refused with a reason, and the exit code is 3; with --jsonl, or for a folder,
    refusals are lines like any other. With --set, --json gives the what-if, with the original beside it under
    "original".
    """
    from pipeline.sheets import inspect
    from pipeline.sheets.screen import write

    models, beside = inspect.models(path), inspect.beside_of(path)
    if jsonl:
        for name, raw in models:
            _line(inspect.as_object(inspect.derived(raw, name, changes, beside), layers=layers, evidence=evidence))
        return
    found = [(name, raw, inspect.derived(raw, name, changes, beside)) for name, raw in models]
    several = path != "-" and inspect.is_several(Path(path))
    if json:
        objects = [
            _beside(d, name, raw, changes, layers=layers, evidence=evidence) | inspect.supposed_object(d, weights)
            for name, raw, d in found
        ]
        _line(objects if several else objects[0])
    elif several:
        write(inspect.summary([d for *_, d in found]))
    else:
        write(inspect.sheet_of(*found[0], changes, layers=layers, evidence=evidence, weights=weights))
    if not several and found[0][2].fingerprint.verdict == "refused":
        raise typer.Exit(3)


def _beside(d: Derived, name: str, raw: Content, changes: list[str] | None, **which: bool) -> dict[str, Any]:
    from pipeline.sheets import inspect

    made = inspect.as_object(d, **which)
    if changes:
        made["original"] = inspect.as_object(inspect.derived(raw, name, None), **which)
    return made


def _line(value: object) -> None:
    from pipeline.sheets.inspect import encoded

    sys.stdout.write(encoded(value) + "\n")
