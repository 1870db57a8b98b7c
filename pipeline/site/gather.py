"""What the site says, read from one snapshot: its models as rows, its designs with their structure and evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from atlas import proof
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
_LISTING = "outcome, created_at, downloads, tags, base_models"
_OF_MODELS = (
    "repo_id, design_id, kind, model_type, architecture_class, verdict, check, refusal_reason, dtype, quant_method, "
    "weight_bytes_checkpoint, max_context, rope_theta, params_total, params_active, growth_bytes_per_token, "
    "kv_bytes_4k, kv_bytes_128k, attention_kind, attention_mask, layer_mix, is_moe, n_shared_experts, "
    "experts_per_token, n_routed_experts, n_layers, d_model"
)
"""What a model's row says; all facts are read for the first model of each design alone, so that many models fit."""


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

    def bytes_at(self, context: int, cache_width: float = 2) -> float:
        """Bytes of cache and state of one sequence."""
        return sum(s.bytes_at(context, cache_width) for s in self.states)

    @property
    def has_cache(self) -> bool:
        """Whether anything is kept between tokens."""
        return self.facts["kv_bytes_4k"] is not None


class Detail(msgspec.Struct, frozen=True):
    """What only the files of a design itself say: evidence, keys that nothing reads, layers, and the structure."""

    evidence: list[Row]
    unread: list[str]
    layers: list[Row]
    derived: Derived | None


class About(msgspec.Struct, frozen=True):
    """What a site is made from."""

    snapshot: str
    source: str
    code_version: str
    schema_version: str
    cited: str
    """The line to cite the snapshot by."""

    def __str__(self) -> str:
        made = f"from {self.source}, schema {self.schema_version}, atlas {self.code_version}"
        return f"Snapshot {self.snapshot} {made}. Cite as: {self.cited}"


class Gathered(msgspec.Struct, frozen=True):
    """A snapshot as the site needs it; models by name, designs by the name of their first model."""

    about: About
    models: list[Row]
    designs: list[Design]

    @property
    def snapshot(self) -> str:
        """The snapshot's name."""
        return self.about.snapshot


def gather(path: Path) -> Gathered:
    """Read a snapshot. Raises `Corrupt` where it has no manifest."""
    with opened(path) as con:
        whole = _rows(con, f"SELECT * FROM snapshot WHERE name = '{WHOLE}'")
        if len(whole) != 1:
            raise Corrupt("the snapshot has no manifest: it is not complete")
        named = ", ".join(f"f.{name.strip()}" for name in _OF_MODELS.split(","))
        models = _rows(
            con, f"SELECT {named}, {_LISTING} FROM fingerprints f JOIN models m USING (repo_id) ORDER BY repo_id"
        )
        row = {name: str(value) for name, value in whole[0].items()}
        stated = row["snapshot_id"], row["source"], row["code_version"], row["schema_version"]
        return Gathered(About(*stated, cite.line(cite.cited(path))), models, _designs(con, models))


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
    by_model = {t: _grouped(con, f"SELECT * FROM {t} ORDER BY ALL", "repo_id") for t in _BY_MODEL}
    first = {d: _first(found) for d, found in by_design.items()}
    _want(con, [m["repo_id"] for m in first.values()])
    facts = {row["design_id"]: row for row in _rows(con, "SELECT f.* FROM wanted JOIN fingerprints f USING (repo_id)")}
    made = [_design(d, {**facts[d], **first[d]}, by_design[d], by_model, states.get(d, [])) for d in by_design]
    return sorted(made, key=lambda d: (d.name.casefold(), d.name))


_BY_MODEL = ("checks", "reported", "disagreements")


def _first(models: list[Row]) -> Row:
    """The model a design is named after: most downloaded, else checked, made from no other, of who has most of them.

    Of several the first to be there; where the day of one is not known, the one with the shortest name.
    """
    owners = Counter(_owner(m) for m in models)

    def rank(m: Row) -> tuple[int, bool, bool, int]:
        return -(m["downloads"] or -1), m["check"] != "exact", bool(m["base_models"]), -owners[_owner(m)]

    best = min(map(rank, models))
    left = [m for m in models if rank(m) == best]
    dated = all(m["created_at"] for m in left)
    return min(left, key=lambda m: (str(m["created_at"]) if dated else "", len(m["repo_id"]), m["repo_id"]))


def _owner(m: Row) -> str:
    return m["repo_id"].partition("/")[0]


def _want(con: duckdb.DuckDBPyConnection, names: list[str]) -> None:
    """A table of these names, for the joins that follow."""
    con.execute("CREATE OR REPLACE TEMP TABLE wanted AS SELECT unnest(?::VARCHAR[]) AS repo_id", [names])


def _design(
    design_id: str, facts: dict[str, Any], models: list[Row], by_model: dict[str, dict[str, list[Row]]],
    states: list[Row],
) -> Design:  # fmt: skip
    held = [
        State(s["kind"], s["repeats"], s["elements"], s["stride"], s["window"], s["width_bytes"])
        for s in states
        if s["kind"] != "cross" and s["stack"] != "encoder"
    ]
    told = (_told(by_model[t], models) for t in _BY_MODEL)
    return Design(design_id, facts["repo_id"], facts, models, held if facts["kv_bytes_4k"] is not None else [], *told)


def details(con: duckdb.DuckDBPyConnection, designs: list[Design]) -> dict[str, Detail]:
    """What the files of these designs say beyond their rows, by the designs' ids."""
    _want(con, [d.name for d in designs])
    joined = "wanted JOIN models USING (repo_id) JOIN configs USING (config_id)"
    texts = {r["repo_id"]: r for r in _rows(con, f"SELECT repo_id, raw, raw_bytes, evidence, unread FROM {joined}")}
    some = "design_id IN (SELECT design_id FROM wanted JOIN fingerprints USING (repo_id))"
    ordered = f"SELECT * FROM layers WHERE {some} ORDER BY design_id, first_index, slot, mixer_slot"
    layers = _grouped(con, ordered, "design_id")
    return {d.design_id: _detail(d, texts[d.name], layers.get(d.design_id, [])) for d in designs}


def _detail(d: Design, text: Row, layers: list[Row]) -> Detail:
    raw = text["raw_bytes"] if text["raw"] is None else text["raw"].encode()
    derived = proof.published(derive(raw, name=d.name), d.design_id) if raw else None
    if derived is not None and derived.fingerprint.design_id != d.design_id:
        derived = None
    return Detail(text["evidence"] or [], text["unread"] or [], layers, derived)


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
