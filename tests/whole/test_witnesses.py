"""Every column of every table is held by something that does not come from the derivation."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import hand_made
import polars as pl
import pytest
from crawling import crawled
from hub_server import HubServer, Population, Repo
from oracle import records
from perturbed import Tables, changes
from places import FIXTURES, SHARED
from witnesses import WITNESSES, Sources

from pipeline.measure import importing
from pipeline.refresh import cited, steps, tables
from pipeline.refresh.found import Input
from pipeline.sources import catalogue
from pipeline.store import build, snapshot
from schemas import checks
from schemas.fields import Field
from schemas.registry import CONTENT, RECORDS, SNAPSHOT, Table
from schemas.tables import polars_schema
from schemas.version import SCHEMA_CHANGES

pytestmark = pytest.mark.slow

EXACT: list[str] = json.loads((FIXTURES / "exact.json").read_text("utf-8"))["published"]
HAND = {
    "hand/gemma3n": b'{"model_type": "gemma3n_text", "num_hidden_layers": 35, "nobody_reads_this": 1}',
    "hand/no-json": b"{",
    "hand/no-text": b"\xff\xfe",
    "hand/unknown": b'{"model_type": "nobody_knows"}',
}
"""Configs for what no published one shows."""

TINY = b'{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2}'
FP8 = {"quant_method": "fp8"}
LISTED = (
    Repo("acme/tuned", TINY, downloads=40, facts=(
        ("cardData", {"base_model": "acme/base", "base_model_relation": "finetune"}),
        ("safetensors", {"parameters": {"BF16": 900, "F32": 100}, "total": 1000}),
        ("config", {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "quantization_config": FP8}),
    )),
    Repo("acme/closed", TINY, downloads=30, gated="manual"),
    Repo("acme/off", TINY, downloads=20, disabled=True),
)  # fmt: skip
ALSO: dict[str, dict[str, Any]] = {
    "acme/tuned": {
        "outcome": "ok", "source": "hub", "base_models": ["acme/base"], "base_model_relation": "finetune",
        "hub_params_total": 1000, "hub_params_by_dtype": [{"key": "BF16", "value": 900}, {"key": "F32", "value": 100}],
        "model_type_hint": "llama", "architecture_hint": "LlamaForCausalLM", "quant_method_hint": "fp8",
    },
    "acme/closed": {"outcome": "gated", "detail": "gated, and there is no token", "quant_method_hint": None},
    "acme/off": {"outcome": "disabled", "detail": "disabled by the Hub", "base_models": []},
}  # fmt: skip
"""What the rows must say of them beside what the listing names alike."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, pl.DataFrame], Sources]:
    """The tables of a refresh of the catalogue, the reference's files, a small Hub, odd texts and a benchmark."""
    found: list[Any] = steps.from_catalogue()
    day = catalogue.dated()
    found += [Input(name, raw, "hand", day) for name, raw in HAND.items()]
    found.append(Input("hand/missing", None, "hand", None, "missing", detail="the folder has no config.json"))
    known = {r["name"]: r for r in records(SHARED, "published")} if SHARED.is_dir() else {}
    held = {known[n]["model_type"]: n for n in EXACT if n in known}
    known = {n: known[n] for n in held.values()}  # one of each family will do
    published = {f"reference/{n}": (SHARED / "hub" / "configs" / f"{n}.json").read_bytes() for n in known}
    found += [Input(name, raw, "folder", day) for name, raw in published.items()]
    with HubServer(Population(0, extra=LISTED)) as hub:
        crawl, _ = crawled(tmp_path_factory.mktemp("hub"), hub, today=day)
    home = tmp_path_factory.mktemp("measured")
    importing.imported(FIXTURES / "llama-bench.json", importing.Asked(home=home))
    content = tables.tables([*found, *crawl.values()], extra=cited.reported(home))
    texts = {e.repo: e.raw for e in catalogue.load()} | HAND | published | {"acme/tuned": TINY}
    listed = {r.repo_id: {**r.info(), "also": ALSO[r.repo_id]} for r in LISTED}
    return build.ordered(content), Sources(texts, listed, {f"reference/{n}": r for n, r in known.items()})


@pytest.fixture(scope="module")
def con(made: tuple[dict[str, pl.DataFrame], Sources]) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same tables in a database in memory, with a manifest of their lengths."""
    content = made[0]
    with duckdb.connect() as con:
        build._define(con)
        for table in (*CONTENT, *RECORDS):
            build._insert(con, table, content[table.name])
        rows = {t.name: (content[t.name].height, "") for t in CONTENT}
        build._insert(con, SNAPSHOT, build._manifest(build.Origin("d", "s", content["models"].height, "0"), rows, ""))
        yield con


def first(changed: Tables, sources: Sources) -> str | None:
    """The first witness that contradicts these rows."""
    for name, witness in WITNESSES.items():
        if next(witness(changed, sources), None) is not None:
            return name
    return None


def rule(con: duckdb.DuckDBPyConnection, before: Tables, changed: Tables, column: str) -> str | None:
    """The first rule that names the column and that these rows break; the manifest's are of our own making."""
    con.execute("BEGIN")
    try:
        for table in CONTENT:
            if changed[table.name] is not before[table.name]:
                frame = pl.DataFrame(changed[table.name], schema=polars_schema(table), orient="row")
                con.execute(f"DELETE FROM {table.name}")
                build._insert(con, table, frame.sort(table.key))
        asked = (r for r in checks.rules() if column in r.query and r.table != "snapshot")
        return next((f"rule: {r.says}" for r in asked if checks._broken(con, r)), None)
    except duckdb.ConstraintException:  # a type, which is no witness
        return None
    finally:
        con.execute("ROLLBACK")


def test_nothing_contradicts_the_rows_as_they_are(
    made: tuple[dict[str, pl.DataFrame], Sources], con: duckdb.DuckDBPyConnection
) -> None:
    """Unchanged rows agree with every witness and every rule."""
    rows, sources = {name: frame.to_dicts() for name, frame in made[0].items()}, made[1]
    assert {name: list(w(rows, sources)) for name, w in WITNESSES.items()} == {name: [] for name in WITNESSES}
    assert checks.failures(con) == []


@pytest.mark.parametrize("table", CONTENT, ids=lambda t: t.name)
def test_every_column_has_a_witness(
    table: Table, made: tuple[dict[str, pl.DataFrame], Sources], con: duckdb.DuckDBPyConnection
) -> None:
    """A column changed a little, to null or from null is contradicted; column and witness are printed."""
    before, sources = {name: frame.to_dicts() for name, frame in made[0].items()}, made[1]
    unnoticed: list[str] = []
    for field in table.fields:
        done = dict(changes(before, table.name, field))
        if not done:
            unnoticed.append(f"{field.name}: no row could be changed")
        for what, changed in done.items():
            noticed = first(changed, sources) or rule(con, before, changed, field.name)
            print(f"{table.name}.{field.name} {what}: {noticed or 'NOTHING'}")
            unnoticed += [] if noticed else [f"{field.name} changed {what}"]
    assert unnoticed == [], "answers counted by hand go into fixtures/known.toml"


def test_a_column_that_nothing_holds_is_unnoticed(
    made: tuple[dict[str, pl.DataFrame], Sources],
) -> None:
    """A column of the designs that no witness knows may say anything: the test above would name it."""
    field = Field("luck", "int", "Nobody's.")
    before = {name: frame.to_dicts() for name, frame in made[0].items()}
    before["designs"] = [{**r, "luck": 7} for r in before["designs"]]
    done = dict(changes(before, "designs", field))
    assert {what: rows["designs"][0]["luck"] for what, rows in done.items()} == {"a little": 8, "to null": None}
    assert [first(changed, made[1]) for changed in done.values()] == [None, None]


def test_the_manifest_says_what_was_published(tmp_path: Path) -> None:
    """Tables and lengths, identity, source, versions and the snapshot before; `snapshots verify` holds the digests."""
    days = (hand_made.DAY, hand_made.DAY + dt.timedelta(days=1))
    content = hand_made.content()
    made = [
        snapshot.publish(
            tmp_path, rows, snapshot.Publication(day=day, source="hand", listed=hand_made.LISTED, code_version="0.1")
        )
        for day, rows in zip(days, (content | {"reported": content["reported"].head(0)}, content), strict=True)
    ]
    with duckdb.connect(str(made[1].path), read_only=True) as con:
        rows = {r["name"]: r for r in pl.DataFrame(con.sql("FROM snapshot")).to_dicts()}
    assert {n: r["rows"] for n, r in rows.items()} == {
        **{t.name: content[t.name].height for t in CONTENT}, "snapshot": hand_made.LISTED,
    }  # fmt: skip
    whole = {k: v for k, v in rows["snapshot"].items() if "digest" not in k}
    assert whole == {
        "name": "snapshot", "rows": hand_made.LISTED, "snapshot_id": str(days[1]), "source": "hand",
        "schema_version": SCHEMA_CHANGES[0][0], "code_version": "0.1", "previous_id": str(days[0]),
    }  # fmt: skip
