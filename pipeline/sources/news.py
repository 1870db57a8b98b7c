"""The field's figures beside ours, as rows of a snapshot; `make news` measures them.

`news.json` holds the gallery's cards that have a config at hand, each equal, different with a reason or refused with a
reason, and how many rows of the public catalogue one named formula of one design gives.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from pipeline.sources import measured

EXPERIMENT = "news"
GALLERY, CATALOGUE = "LLM Architecture Gallery", "public catalogue of llmfit 1.1.17"


class Card(msgspec.Struct, frozen=True):
    """A card of the gallery: its cache a token, ours, and what lies between."""

    card: str
    repo: str
    theirs: str
    ours: str | None
    outcome: str
    why: str | None


class Totals(msgspec.Struct, frozen=True):
    """The public catalogue: its rows, those with a family, those whose total a formula gives.

    `rows_of_other_kinds` counts rows whose model_type is no language model's, by what it is instead.
    """

    rows: int
    rows_of_other_kinds: dict[str, int]
    rows_with_a_family: int
    downloads_with_a_family: float
    equal_by_a_formula: int
    formulas: dict[str, int]
    families: dict[str, int]


class Table(msgspec.Struct, frozen=True):
    """The comparison and its day."""

    measured_on: date
    totals: Totals
    cards: tuple[Card, ...]


@cache
def table() -> Table:
    """The shipped comparison."""
    return msgspec.json.decode((files("pipeline.sources") / "news.json").read_bytes(), type=Table)


def measurements() -> list[dict[str, Any]]:
    """Cards by outcome and reason, and rows of the catalogue by formula."""
    t = table()
    cards = Counter(f"cards {c.outcome}" for c in t.cards)
    cards.update(f"different: {c.why}" for c in t.cards if c.outcome == "different")
    found = [(GALLERY, what, float(n), "cards") for what, n in cards.items()]
    rows = {"rows": t.totals.rows, "rows with a family": t.totals.rows_with_a_family} | {
        f"total given by: {name}": n for name, n in t.totals.formulas.items()
    }
    rows |= {f"no language model: {kind}": n for kind, n in t.totals.rows_of_other_kinds.items()}
    found += [(CATALOGUE, what, float(n), "repositories") for what, n in rows.items()]
    found.append((CATALOGUE, "share of downloads with a family", t.totals.downloads_with_a_family, "share"))
    return [
        {
            **measured.BLANK,
            "experiment": EXPERIMENT,
            "subject": subject,
            "quantity": quantity,
            "value": value,
            "unit": unit,
            "conditions": "configs at hand; bf16 caches",
            "measured_on": t.measured_on,
        }
        for subject, quantity, value, unit in found
    ]
