"""What the site says, read from one snapshot: its models as rows, its designs with their structure and evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from atlas.derived import Derived
from atlas.interpret import derive
from pipeline.errors import Corrupt
from pipeline.store import cite
from pipeline.store.build import WHOLE
from schemas.tables import quoted
from schemas.vocabulary import Component

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

Row = Mapping[str, Any]
_DESIGN = re.compile(r"[0-9a-f]{20}")
_LISTING = "outcome, author, created_at, downloads, likes, gated, tags, as_of, source, base_models, base_model_relation"


class State(msgspec.Struct, frozen=True):
    """One row of a design's `states`: elements per stride tokens within a window, so many times over."""

    kind: str
    repeats: int
    elements: int
    stride: int
    window: int | None
    width: int | None

    def bytes_at(self, context: int, cache_width: float = 2) -> float:
        """Bytes that one sequence of so many tokens holds here."""
        held = context if self.window is None else min(context, self.window)
        entries = held // self.stride if self.stride else 1
        return self.repeats * self.elements * entries * (cache_width if self.width is None else self.width)


class Design(msgspec.Struct, frozen=True):
    """One design: its facts, its models, its states (those of a source apart), and the structure they came from."""

    design_id: str
    name: str
    facts: Row
    models: list[Row]
    states: list[State]
    checks: list[Row]
    reported: list[Row]
    disagreements: list[Row]
    evidence: list[Row]
    unread: list[str]
    layers: list[Row]
    derived: Derived | None

    def bytes_at(self, context: int, cache_width: float = 2) -> float:
        """Bytes of cache and state of one sequence."""
        return sum(s.bytes_at(context, cache_width) for s in self.states)

    @property
    def has_cache(self) -> bool:
        """Whether anything is kept between tokens."""
        return self.facts["kv_bytes_4k"] is not None


class Gathered(msgspec.Struct, frozen=True):
    """A snapshot as the site needs it; models by name, designs by the name of their first model."""

    snapshot: str
    source: str
    code_version: str
    schema_version: str
    models: list[Row]
    designs: list[Design]
    cited: str
    """The line to cite the snapshot by."""


def gather(path: Path) -> Gathered:
    """Read a snapshot. Raises `Corrupt` where it has no manifest."""
    with opened(path) as con:
        whole = _rows(con, f"SELECT * FROM snapshot WHERE name = '{WHOLE}'")
        if len(whole) != 1:
            raise Corrupt("the snapshot has no manifest: it is not complete")
        models = _rows(
            con, f"SELECT f.*, {_LISTING} FROM fingerprints f JOIN models m USING (repo_id) ORDER BY repo_id"
        )
        about = whole[0]
        return Gathered(
            str(about["snapshot_id"]),
            str(about["source"]),
            str(about["code_version"]),
            str(about["schema_version"]),
            models,
            _designs(con, models),
            cite.line(cite.cited(path)),
        )


@contextmanager
def opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A snapshot, read-only and by one thread."""
    import duckdb

    config = {"threads": 1, "temp_directory": "", "autoinstall_known_extensions": False}
    with duckdb.connect(config=config) as con:
        con.execute(f"ATTACH {quoted(str(path))} AS atlas (READ_ONLY)")
        con.execute("USE atlas")
        con.execute("SET enable_external_access = false")
        yield con


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[Row]:
    found = con.execute(sql)
    names = [d[0] for d in found.description or ()]
    return [dict(zip(names, values, strict=True)) for values in found.fetchall()]


def _grouped(con: duckdb.DuckDBPyConnection, sql: str, key: str) -> dict[str, list[Row]]:
    made: dict[str, list[Row]] = {}
    for row in _rows(con, sql):
        made.setdefault(row[key], []).append(row)
    return made


def _designs(con: duckdb.DuckDBPyConnection, models: list[Row]) -> list[Design]:
    by_design: dict[str, list[Row]] = {}
    for m in models:
        if m["design_id"] and _DESIGN.fullmatch(m["design_id"]):
            by_design.setdefault(m["design_id"], []).append(m)
    states = _grouped(con, "SELECT * FROM states ORDER BY design_id, run, slot, ordinal", "design_id")
    layers = _grouped(con, "SELECT * FROM layers ORDER BY design_id, first_index, slot, mixer_slot", "design_id")
    by_model = {t: _grouped(con, f"SELECT * FROM {t} ORDER BY ALL", "repo_id") for t in _BY_MODEL}
    first = {d: _first(found) for d, found in by_design.items()}
    texts = _texts(con, [m["repo_id"] for m in first.values()])
    made = [
        _design(d, first[d], by_design[d], texts[first[d]["repo_id"]], by_model, states.get(d, []), layers.get(d, []))
        for d in by_design
    ]
    return sorted(made, key=lambda d: (d.name.casefold(), d.name))


_BY_MODEL = ("checks", "reported", "disagreements")


def _first(models: list[Row]) -> Row:
    """The model a design is named after: most downloaded, else checked, made from no other, with the shortest name."""
    return min(models, key=_precedence)


def _precedence(m: Row) -> tuple[int, bool, bool, int, str]:
    checked, derived = m["check"] == "exact", bool(m["base_models"])
    return -(m["downloads"] or -1), not checked, derived, len(m["repo_id"]), m["repo_id"]


def _texts(con: duckdb.DuckDBPyConnection, names: list[str]) -> dict[str, Row]:
    con.execute("CREATE TEMP TABLE wanted (repo_id VARCHAR)")
    con.executemany("INSERT INTO wanted VALUES (?)", [[n] for n in names])
    joined = "wanted JOIN models USING (repo_id) JOIN configs USING (config_id)"
    return {
        row["repo_id"]: row for row in _rows(con, f"SELECT repo_id, raw, raw_bytes, evidence, unread FROM {joined}")
    }


def _design(
    design_id: str, first: Row, models: list[Row], text: Row, by_model: dict[str, dict[str, list[Row]]],
    states: list[Row], layers: list[Row],
) -> Design:  # fmt: skip
    held = [
        State(s["kind"], s["repeats"], s["elements"], s["stride"], s["window"], s["width_bytes"])
        for s in states
        if s["kind"] != "cross" and s["stack"] != "encoder"
    ]
    checks, reported, disagreements = (_told(by_model[t], models) for t in _BY_MODEL)
    raw = text["raw_bytes"] if text["raw"] is None else text["raw"].encode()
    derived = derive(raw, name=first["repo_id"]) if raw else None
    if derived is not None and derived.fingerprint.design_id != design_id:
        derived = None
    return Design(
        design_id, first["repo_id"], first, models, held if first["kv_bytes_4k"] is not None else [], checks, reported,
        disagreements, text["evidence"] or [], text["unread"] or [], layers, derived,
    )  # fmt: skip


def _told(rows: Mapping[str, list[Row]], models: list[Row]) -> list[Row]:
    """The rows of a table that are of these models."""
    return [r for m in models for r in rows.get(m["repo_id"], [])]


def shares(facts: Row) -> list[tuple[str, int, float]]:
    """Components of the total with weights and share, the largest first."""
    named = [(str(c), facts.get(f"params_{c}"), facts.get(f"share_{c}")) for c in Component]
    return sorted(((n, p, s) for n, p, s in named if p and s), key=lambda x: (-x[1], x[0]))


def licence(m: Row) -> str | None:
    """The licence that the tags name."""
    return next((t.partition(":")[2] for t in m["tags"] or () if t.startswith("license:")), None)
