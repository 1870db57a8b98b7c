"""What is said of the models beside their configs: cited facts, totals held against ours, other tools, measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.refresh import holding
from pipeline.sources import catalogue, changed, measured, news, peers

Extra = dict[str, list[dict[str, Any]]]


def reported(home: Path | None = None) -> Extra:
    """The catalogue's cited facts, what holding its totals against ours comes to, what other tools say, as rows.

    Numbers that were measured are among them, also those of this home.

    Raises:
        Invalid: a file of measurements at the home cannot be read.
    """
    entries = catalogue.load()
    facts = [
        {"repo_id": e.repo, "fact": r.fact.value, "value": str(r.value), "unit": r.unit, "citation": r.citation}
        for e in entries
        for r in e.reported
    ]
    facts += [_twin(e.repo, t) for e in entries for t in e.twins]
    held = holding.rows(entries)
    held["disagreements"] += peers.disagreements({e.repo for e in entries})
    return {
        "reported": facts,
        **held,
        "measurements": [
            *peers.measurements(),
            *news.measurements(),
            *changed.measurements(),
            *measured.rows(home),
        ],
    }


def _twin(repo: str, twin: catalogue.Twin) -> dict[str, str]:
    """What another repository with the same model in another form is said to hold."""
    value, unit = (twin.bytes, "bytes") if twin.elements is None else (twin.elements, "elements as the Hub counts them")
    fact, citation = f"stored as {twin.form}", f"{twin.repo}: {twin.source}"
    return {"repo_id": repo, "fact": fact, "value": str(value), "unit": unit, "citation": citation}
