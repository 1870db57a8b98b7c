"""Totals of the catalogue held against ours: rows of `checks` and `disagreements`."""

from __future__ import annotations

from typing import Any

from atlas.interpret import Derived, derive
from atlas.totals import check_total
from pipeline.catalogue import Content, Entry, Expected, Fact
from pipeline.verification import disagreements, total_row
from schemas.vocabulary import Check

Row = dict[str, Any]
KIND = "published_total"


def rows(entries: list[Entry]) -> dict[str, list[Row]]:
    """The rows that the catalogue's entries give; a refused config gives none."""
    found = [(e, d) for e in entries if (d := derive(e.raw, name=e.repo)).model is not None]
    return {
        "checks": [row for e, d in found if (row := check(e, d)) is not None],
        "disagreements": [row for e, d in found for row in disagreements(e.repo, d.fingerprint, _facts(e))],
    }


def check(entry: Entry, derived: Derived) -> Row | None:
    """The entry's published total against ours; one that counts packed elements stays unchecked."""
    if entry.expect is None:
        return None
    row = total_row(entry.repo, derived, entry.expect.params_total, KIND)
    if row is not None and row["result"] != Check.EXACT:
        row |= _less(derived, entry.expect)
    if row is not None and Content.PACKED in entry.expect.holds:
        row |= {
            "result": Check.UNCHECKED.value,
            "note": "packed quantization: the published figure is no count of weights",
        }
    return row


def _less(derived: Derived, expect: Expected) -> Row:
    """What to say of the row where the figure, less what is counted beside the model, is ours to the last weight."""
    found = check_total(derived, expect.params_total - sum(b.elements for b in expect.beside))
    if not expect.beside or found.check is not Check.EXACT:
        return {}
    words = [f"{b.what.value} included, {b.source}: {b.elements:+,}" for b in expect.beside]
    return {"result": found.check.value, "note": "; ".join([*words, *filter(None, [found.note])])}


def _facts(entry: Entry) -> list[tuple[str, int, str]]:
    """The totals that the entry's sources state, each source once."""
    found = {
        (r.fact.value, r.citation): r.value
        for r in entry.reported
        if r.fact in (Fact.PARAMS_TOTAL, Fact.PARAMS_ACTIVE) and isinstance(r.value, int)
    }
    return [(fact, value, citation) for (fact, citation), value in found.items()]
