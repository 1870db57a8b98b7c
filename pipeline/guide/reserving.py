"""What engines make of the models of a page: their sizes as rows, by the rules of `pipeline.engines`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from atlas.derived import Derived
from pipeline.engines.geometry import geometry
from pipeline.engines.predicting import predicted


class Reserve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question to an engine that a page asks of some models: its version and inputs, under a label."""

    label: str
    engine: str
    version: str
    bases: tuple[str, ...]
    inputs: dict[str, Any] = {}


class Size(NamedTuple):
    """One figure of an answer, in the engine's own unit; where there is none, `said` is why."""

    label: str
    base: str
    engine: str
    version: str
    figure: str | None
    value: float | None
    said: str | None


COLUMNS = "label VARCHAR, base VARCHAR, engine VARCHAR, version VARCHAR, figure VARCHAR, value DOUBLE, said VARCHAR"


def sizes(wanted: Reserve, base: str, derived: Derived) -> Iterator[Size]:
    """Every figure that an engine gives for a model, or one row with the reason why it gives none."""
    made = geometry(base, derived)
    of = (wanted.label, base, wanted.engine, wanted.version)
    if made is None:
        yield Size(*of, None, None, f"refused: {derived.fingerprint.refusal_reason}")
        return
    answer = predicted(made, wanted.engine, wanted.version, wanted.inputs)
    for figure, value in answer.predicted.items():
        yield Size(*of, figure, float(value), None)
    if not answer.predicted:
        yield Size(*of, None, None, "; ".join(answer.missing))
