"""Events of a refresh, for automations: published, refused, never seen before, a published figure that changed.

Each is emitted once, about the resource `atlas.home.<name of the home>`; strangers' names are cut and made harmless.
Outside a flow run nothing is emitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import prefect.runtime.flow_run
from prefect.events import emit_event

from pipeline.errors import AtlasError, Invalid
from pipeline.refresh.records import Report
from pipeline.store import diff, shelf
from pipeline.text import shorten, terminal

PUBLISHED, REFUSED = "atlas.snapshot.published", "atlas.snapshot.refused"
FIGURE = "atlas.figure.changed"
FIRST = {"model_type": "atlas.model_type.new", "class": "atlas.class.new", "key": "atlas.key.new"}
"""What was never seen before, by what it is."""
SHOWN = 50
LENGTH = 200


def emit(name: str, about: str, payload: dict[str, Any]) -> None:
    """Tell Prefect of something that happened; `about` names the snapshot, model_type or model."""
    if prefect.runtime.flow_run.id is not None:
        resource = {"prefect.resource.id": f"atlas.{_plain(about)}", "prefect.resource.name": _plain(about)}
        emit_event(event=name, resource=resource, payload={k: _plain(v) for k, v in payload.items()})


def _plain(value: Any) -> Any:
    match value:
        case str():
            return shorten(terminal(value), LENGTH)
        case list():
            return [_plain(v) for v in value[:SHOWN]]
        case _:
            return value


def standing(home: Path) -> str | None:
    """The latest snapshot, if there is one."""
    return shelf.read(shelf.folder(home)).latest


@contextmanager
def refusals() -> Iterator[None]:
    """Tell of a refresh that was refused: a rule is broken, or far less was found."""
    try:
        yield
    except Invalid as error:
        emit(REFUSED, "snapshot", {"why": str(error)})
        raise


def published(home: Path, before: str | None, done: Report) -> None:
    """Tell of what a refresh published: the snapshot, model_types first seen, figures that changed."""
    if not done.is_new:
        return
    emit(PUBLISHED, done.snapshot, {"snapshot": done.snapshot, "previous": before, "outcomes": done.outcomes})
    for kind, event in FIRST.items():
        for one in [n for n in done.news if n.kind == kind][:SHOWN]:
            emit(event, one.name, {**msgspec.to_builtins(one), "snapshot": done.snapshot})
    for figure in figures(home, before, done.snapshot) if before else ():
        emit(FIGURE, str(figure["model"]), {**figure, "snapshot": done.snapshot})


FIGURES = ("params_total", "params_active", "kv_bytes_per_token", "growth_bytes_per_token", "state_bytes_constant")
"""Columns that people quote."""


def figures(home: Path, before: str, after: str) -> list[dict[str, str | None]]:
    """Figures of unchanged configs that came out otherwise: ours, and so worth a word to who has cited them."""
    try:
        found = diff.diff(home, before, after).ours
    except AtlasError:  # one of the two is damaged or was pruned meanwhile: that is told elsewhere
        return []
    return [
        {"model": e.repo_id, "figure": c.column, "before": e.before, "after": e.after}
        for c in found.columns
        if c.column in FIGURES
        for e in c.examples
    ][:SHOWN]
