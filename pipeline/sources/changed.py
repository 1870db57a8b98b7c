"""What changed from the catalogue published before to this one, as rows of a snapshot; `make changed` counts it."""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from pipeline.sources import measured

EXPERIMENT = "catalogue"


class Count(msgspec.Struct, frozen=True, array_like=True):
    """One quantity of the two catalogues: before and after, and what it counts."""

    quantity: str
    before: int
    after: int
    unit: str


class Table(msgspec.Struct, frozen=True):
    """The two catalogues by their days, and the counts."""

    before: date
    after: date
    counts: tuple[Count, ...]


@cache
def table() -> Table:
    """The shipped summary."""
    return msgspec.json.decode((files("pipeline.sources") / "changed.json").read_bytes(), type=Table)


def measurements() -> list[dict[str, Any]]:
    """Two rows of each quantity, before and after."""
    t = table()
    return [
        {
            **measured.BLANK,
            "experiment": EXPERIMENT,
            "subject": f"from {t.before} to {t.after}",
            "quantity": f"{c.quantity}: {when}",
            "value": float(value),
            "unit": c.unit,
            "conditions": "snapshots of the embedded catalogue alone",
            "measured_on": t.after,
        }
        for c in t.counts
        for when, value in (("before", c.before), ("after", c.after))
    ]
