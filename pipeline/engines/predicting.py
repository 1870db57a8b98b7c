"""Predictions of start-up logs: lines in, one line each out, and a log read back into the inputs it states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
from msgspec.structs import replace

from pipeline.engines.named import engine_of
from pipeline.engines.record import Geometry, Prediction, Unknown
from pipeline.errors import AtlasError, Usage

Find = Callable[[str], Geometry | str]
"""The geometry of a MODEL, or why there is none."""


def predicted(geometry: Geometry, engine: str, version: str | None, inputs: dict[str, Any]) -> Prediction:
    """What an engine says of a model; a missing version or an uncovered model is said under `missing`."""
    if not version:
        return Prediction(missing=("version",))
    try:
        made = engine_of(engine).predict(geometry, version, inputs)
        if geometry.verdict == "known":
            return made
        said = f"the model is {geometry.verdict}: its geometry is by the nearest rules, not proven"
        return replace(made, assumed=(*made.assumed, said))
    except Unknown as reason:
        return Prediction(missing=(str(reason),))


def lines(text: bytes, find: Find) -> Iterator[dict[str, Any]]:
    """One object per line of the file: id, predicted, assumed, missing. A bad line is a line that says so."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _line(line, number, find)


def _line(line: bytes, number: int, find: Find) -> dict[str, Any]:
    row: Any = None
    try:
        row = orjson.loads(line)
        geometry = find(str(row["geometry"]))
        inputs = row.get("inputs") or {}
        if isinstance(geometry, str):
            made = Prediction(missing=(geometry,))
        else:
            made = predicted(geometry, str(row["engine"]), row.get("version"), inputs)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, Usage) as wrong:
        made = Prediction(missing=(f"line {number} cannot be read: {type(wrong).__name__} {wrong}",))
    except AtlasError as wrong:
        made = Prediction(missing=(f"geometry: {wrong}",))
    name = row.get("id") if isinstance(row, dict) else None
    return {"id": name, "predicted": made.predicted, "assumed": list(made.assumed), "missing": list(made.missing)}
