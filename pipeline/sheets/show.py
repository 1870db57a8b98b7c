"""What `atlas show` does: find a model in a snapshot, derive its stored text again.

And lay it out with what is reported of it.

The structure is derived from the raw text inside the snapshot; where today's rules give another design than the one
stored, the sheet
says so and shows what the snapshot says it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.interpret import derive
from atlas.numbers import measure
from pipeline.ask.names import resolve
from pipeline.errors import NotFound
from pipeline.sheets.inspect import as_object, encoded
from pipeline.sheets.lines import DIM, WARN, Line, title, wrapped
from pipeline.sheets.sheet import sheet
from pipeline.sheets.stored import hypothetical_form, hypothetical_object
from pipeline.store import shelf
from pipeline.text import shorten, terminal
from pipeline.units import binary


class Shown(msgspec.Struct, frozen=True):
    """A model of a snapshot: identity, derivation, and the facts reported of it (fact, value, unit, citation)."""

    repo_id: str
    snapshot: str
    design_id: str | None
    as_of: str | None
    source: str
    derived: Derived
    reported: list[tuple[str, str, str, str]]


def find(home: Path, snapshot_id: str | None, wanted: str) -> Shown:
    """The model that a name, full or loose, means; raises `NotFound` with the candidates where that is not one."""
    import duckdb

    entry, path = shelf.locate(home, snapshot_id)
    with duckdb.connect(str(path), read_only=True) as con:
        names = [name for (name,) in con.execute("SELECT repo_id FROM models ORDER BY repo_id").fetchall()]
        repo = resolve(wanted, names)
        row = con.execute(
            "SELECT m.config_id, c.raw, c.raw_bytes, c.design_id, m.as_of::VARCHAR, m.source, m.outcome "
            "FROM models m LEFT JOIN configs c USING (config_id) WHERE m.repo_id = ?",
            [repo],
        ).fetchall()[0]
        reported = con.execute(
            "SELECT fact, value, unit, citation FROM reported WHERE repo_id = ? ORDER BY fact, citation", [repo]
        ).fetchall()
    config_id, text, data, design_id, as_of, source, outcome = row
    if config_id is None:
        raise NotFound(f"{terminal(repo)} is in snapshot {entry.id}, but no config of it was ever read ({outcome})")
    raw = data if text is None else text.encode()
    return Shown(repo, entry.id, design_id, as_of, source, derive(raw, name=repo), reported)


def sheet_of(
    shown: Shown, *, layers: bool, evidence: bool, dtype: str, width: float, weights: str | None = None
) -> Iterator[Line]:
    """The sheet, with the cache in another type where asked for, and what is reported."""
    yield from sheet(shown.derived, layers=layers, evidence=evidence)
    yield from _at_width(shown.derived, dtype, width)
    if weights is not None:
        yield from hypothetical_form(shown.derived, weights)
    yield from _reported(shown)
    if shown.derived.fingerprint.design_id != shown.design_id:
        yield from wrapped(
            f"Today's rules give another design than snapshot {shown.snapshot} holds ({shown.design_id}).", 0, WARN
        )
    yield [(f"snapshot {shown.snapshot}, config from {shown.source} as of {shown.as_of}", DIM)]


def _at_width(derived: Derived, dtype: str, width: float) -> Iterator[Line]:
    if width == measure.CACHE_WIDTH or derived.model is None:
        return
    yield title(f"State with the cache at {dtype}", "elements alone, without scales")
    sizes = {k: measure.kv_bytes(derived.model, t, width) for k, t in measure.CONTEXTS.items()}
    yield [("  at  ", DIM), *((f"{k.upper()} {binary(n)}    ", "") for k, n in sizes.items())]
    yield []


def _reported(shown: Shown) -> Iterator[Line]:
    if not shown.reported:
        return
    yield title("Reported", "what sources state, not derived here")
    for fact, value, unit, citation in shown.reported:
        said = f"{int(value):,} {unit}" if value.isdecimal() else value
        yield [(f"  {terminal(fact):<18} ", ""), (f"{shorten(terminal(said), 58)}", "bold")]
        yield from wrapped(terminal(citation), 4, DIM)
    yield []


def as_json(shown: Shown, *, layers: bool, evidence: bool, dtype: str, width: float, weights: str | None = None) -> str:
    """The fingerprint as one JSON object, with what is reported and, for another type, the state at it."""
    made: dict[str, Any] = as_object(shown.derived, layers=layers, evidence=evidence)
    made["snapshot"] = shown.snapshot
    made["reported"] = [{"fact": f, "value": v, "unit": u, "citation": c} for f, v, u, c in shown.reported]
    if width != measure.CACHE_WIDTH and shown.derived.model is not None:
        made["cache_dtype"] = dtype
        made["state_bytes_at_dtype"] = {
            k: measure.kv_bytes(shown.derived.model, t, width) for k, t in measure.CONTEXTS.items()
        }
    if weights is not None:
        made["hypothetical"] = hypothetical_object(shown.derived, weights)
    return encoded(made)
