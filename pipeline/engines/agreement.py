"""How closely the rules agree with public start-up logs: counts by engine and by model, from `agreement.toml`."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec


class OfEngine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Logs and figures of one engine, those inside the log's rounding, and the median relative difference of those."""

    logs: int
    inside: int
    figures: int
    figures_inside: int
    median: float


class OfModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Logs of one model under one engine, and the widest relative difference of a figure inside the rounding."""

    engine: str
    repo_id: str
    logs: int
    inside: int
    widest: float


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All counts; `outside` has a number of logs for each reason why one is not predicted."""

    engines: dict[str, OfEngine]
    models: tuple[OfModel, ...]
    outside: dict[str, int]


class Row(NamedTuple):
    """One line for a table: what it counts, and of what."""

    kind: str  # engine, model or outside
    engine: str | None
    name: str | None
    logs: int
    inside: int | None = None
    figures: int | None = None
    figures_inside: int | None = None
    apart: float | None = None


@lru_cache(maxsize=1)
def agreement() -> Agreement:
    """The counts as they stand in the file."""
    text = (Path(__file__).parent / "agreement.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Agreement)


def rows() -> list[Row]:
    """The counts as rows, engines first."""
    found = agreement()
    made = [
        Row("engine", name, None, e.logs, e.inside, e.figures, e.figures_inside, e.median)
        for name, e in found.engines.items()
    ]
    made += [Row("model", m.engine, m.repo_id, m.logs, m.inside, apart=m.widest) for m in found.models]
    return made + [Row("outside", None, reason, n) for reason, n in found.outside.items()]
