"""Predictions of start-up logs: lines in, one line each out, and a log read back into the inputs it states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
from msgspec.structs import replace

from pipeline.engines.named import engine_of
from pipeline.engines.record import Engine, Geometry, Prediction, Unknown
from pipeline.errors import AtlasError, Usage

Find = Callable[[str], Geometry | str]
"""The geometry of a MODEL, or why there is none."""


def predicted(geometry: Geometry, engine: str, version: str | None, inputs: dict[str, Any]) -> Prediction:
    """What an engine says of a model; a missing version or an uncovered model is said under `missing`."""
    named = engine_of(engine)
    if not version:
        return Prediction(missing=("version",))
    try:
        _shared_out(geometry, named, inputs)
        made = named.predict(geometry, version, inputs)
    except Unknown as reason:
        return Prediction(missing=(str(reason),))
    return replace(made, assumed=(*made.assumed, *_beside(geometry, named, inputs)))


def _shared_out(geometry: Geometry, engine: Engine, inputs: dict[str, Any]) -> None:
    """Raises `Unknown` where query heads do not divide among the ranks: all but llama.cpp then refuse to start.

    vllm/config/model.py verify_with_parallel_config; sglang and TensorRT-LLM assert it in each attention layer. Groups
    with sequences of their own (sglang's dp) have fewer ranks each.
    """
    tp, dp = inputs.get("tp"), inputs.get("dp") or 1
    if engine.name == _BY_ROW or type(tp) is not int or type(dp) is not int or tp < 1 or dp < 1 or tp % dp:
        return
    left = [q for q in geometry.query_heads if q % (tp // dp)]
    if left:
        raise Unknown(f"{left[0]} query heads do not divide among {tp // dp} ranks, and {engine.name} refuses to start")


_BY_ROW = "llama.cpp"
"""The engine that deals out rows of matrices and layers, whatever heads they belong to."""


def _beside(geometry: Geometry, engine: Engine, inputs: dict[str, Any]) -> Iterator[str]:
    """What a prediction rests on beside the engine's rules: the model's verdict, and inputs without a part in it."""
    if geometry.verdict != "known":
        yield f"the model is {geometry.verdict}: its geometry is by the nearest rules, not proven"
    for name in sorted(set(inputs) - {i.name for i in engine.inputs}):
        yield f"{name} is no input of these rules for {engine.name}: not used"


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
        inputs, version = _inputs(row), row.get("version")
        if version is not None and not isinstance(version, str):
            made = Prediction(missing=(f"version is {version!r}, but must be a text: 0.1 and 0.10 are not the same",))
        elif isinstance(geometry, str):
            made = Prediction(missing=(geometry,))
        else:
            made = predicted(geometry, str(row["engine"]), version, inputs)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, Usage) as wrong:
        made = Prediction(missing=(f"line {number} cannot be read: {type(wrong).__name__} {wrong}",))
    except AtlasError as wrong:
        made = Prediction(missing=(f"geometry: {wrong}",))
    name = row.get("id") if isinstance(row, dict) else None
    return {"id": name, "predicted": made.predicted, "assumed": list(made.assumed), "missing": list(made.missing)}


def _inputs(row: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a line, those that are null left out; raises `TypeError` where they are no object."""
    stated = row.get("inputs")
    if stated is not None and not isinstance(stated, dict):
        raise TypeError("inputs is no object")
    return {k: v for k, v in (stated or {}).items() if v is not None}
