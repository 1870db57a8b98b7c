"""A difference tells the Hub's changes from ours."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import hand_made
import polars as pl
import pytest

from pipeline.cli import main
from pipeline.sheets import changes
from pipeline.store import diff, snapshot
from pipeline.store.diff import Difference, Example

pytestmark = pytest.mark.slow

FIRST, SECOND = "2026-11-29", "2026-11-30"
Tables = dict[str, pl.DataFrame]


def publish(home: Path, tables: Tables, day: str) -> None:
    """Publish tables that every rule allows."""
    snapshot.publish(
        home,
        tables,
        snapshot.Publication(
            day=dt.date.fromisoformat(day), source="hand", listed=tables["models"].height, code_version="0"
        ),
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the hand-made atlas; tests copy it."""
    home = tmp_path_factory.mktemp("first")
    publish(home, hand_made.content(), FIRST)
    return home


@pytest.fixture
def home(first: Path, tmp_path: Path) -> Path:
    """A home of its own with the hand-made atlas."""
    return Path(shutil.copytree(first, tmp_path / "home"))


def changed(home: Path, after: Tables) -> Difference:
    """What changes when these tables follow the hand-made atlas."""
    publish(home, after, SECOND)
    return diff.diff(home, FIRST, SECOND)


def edited(tables: Tables, table: str, where: pl.Expr, **values: Any) -> Tables:
    """Set columns in the rows of a table that `where` selects."""
    new = [
        pl.when(where).then(pl.lit(v, tables[table].schema[k])).otherwise(pl.col(k)).alias(k) for k, v in values.items()
    ]
    return {**tables, table: tables[table].with_columns(new)}


def config(raw: str | bytes) -> pl.Expr:
    """Selects the config of a text."""
    return pl.col("config_id") == hand_made.config_id(raw)


def test_what_the_hub_counts_daily_is_no_difference(home: Path) -> None:
    """More downloads alone: nothing changed."""
    tables = hand_made.content()
    found = changed(home, {**tables, "models": tables["models"].with_columns(pl.col("downloads") + 1)})
    assert found.is_empty
    assert found.ours.configs == 4
    assert "nothing changed, daily counts apart" in list(changes.lines(found))


def test_the_same_config_with_other_numbers_is_ours(home: Path) -> None:
    """A text both hold, read as another model_type: one change of ours, in that column, and none of the Hub's."""
    found = changed(home, edited(hand_made.content(), "configs", config(hand_made.RAW_B), model_type="mamba"))
    (column,) = found.ours.columns
    assert (found.ours.changed, column.column, column.rows) == (1, "model_type", 1)
    assert (column.examples[0].before, column.examples[0].after) == ("mamba2", "mamba")
    assert found.hub == diff.Theirs([], [], [], [], 0, [], [])


def test_a_design_counted_otherwise_is_ours(home: Path) -> None:
    """A renamed weight changes no number, but the design has other rows in `parameters`."""
    found = changed(home, edited(hand_made.content(), "parameters", pl.col("name") == "qkv", name="in_proj"))
    assert found.ours.designs == {"layers": 0, "parameters": 1, "states": 0}
    assert not found.is_empty


def test_another_config_of_the_same_repository_is_the_hubs(home: Path) -> None:
    """Two repositories swap their texts: the Hub's, with the values that changed with them; nothing is ours."""
    tables = hand_made.content()
    owner = tables["models"].filter(config(hand_made.RAW_B))["repo_id"][0]
    other = tables["models"].filter(config(hand_made.RAW_A))["repo_id"][0]
    moved = edited(tables, "models", pl.col("repo_id") == other, config_id=hand_made.B)
    moved = edited(moved, "models", pl.col("repo_id") == owner, config_id=hand_made.A)
    found = changed(home, moved)
    assert found.hub.configs == sorted([owner, other])
    assert (found.hub.same_design, found.ours.changed) == (0, 0)
    totals = next(c for c in found.hub.columns if c.column == "params_total")
    assert totals.examples == sorted(
        [Example(owner, "56", "308"), Example(other, "308", "56")], key=lambda e: e.repo_id
    )


def test_the_key_that_changed_leads(home: Path) -> None:
    """Two repositories swap {n: 1} and {n: 2}: the key n is the first thing said of them, before any column."""
    tables = hand_made.content()
    swapped = edited(tables, "models", pl.col("repo_id") == "org/A-8B", config_id=hand_made.A2)
    swapped = edited(swapped, "models", pl.col("repo_id") == "org/A-8B-Instruct", config_id=hand_made.A)
    found = changed(home, swapped)
    both = [Example("org/A-8B", "1", "2"), Example("org/A-8B-Instruct", "2", "1")]
    assert found.hub.keys == [diff.Change("n", 2, both)]
    lines = list(changes.lines(found))
    assert lines.index("  n (2)") < next(i for i, line in enumerate(lines) if line.startswith("  rope_theta"))
    assert "    org/A-8B: 1 -> 2" in lines


def test_keys_are_found_at_every_level() -> None:
    """Nested objects give dotted names; a key that is new or gone has null on one side; what is no JSON has none."""
    found = diff.keys([("a/b", '{"x": {"y": [1, 2], "z": 1}}', '{"x": {"y": [1, 3]}, "w": "v"}'), ("c/d", "]", "{}")])
    assert [(c.column, c.examples) for c in found] == [
        ("w", [Example("a/b", None, '"v"')]),
        ("x.y", [Example("a/b", "[1,2]", "[1,3]")]),
        ("x.z", [Example("a/b", "1", None)]),
    ]


def test_what_the_catalogue_changes_is_not_the_hubs(home: Path) -> None:
    """A model of the catalogue that is new is said under its own head."""
    tables = hand_made.content()
    new = tables["models"].head(1).with_columns(pl.lit("zzz/new").alias("repo_id"), pl.lit("catalogue").alias("source"))
    found = changed(home, {**tables, "models": pl.concat([tables["models"], new])})
    assert (found.hub.added, found.catalogue.added) == ([], ["zzz/new"])
    assert "The catalogue's: 1 models more, 0 fewer, 0 with another config" in list(changes.lines(found))


def test_no_number_or_name_is_cut_in_its_middle() -> None:
    """Of long values whole words are shown, from a little before the first that differs."""
    numbers = [str(10**7 + i) for i in range(60)]
    before, after = ", ".join(numbers), ", ".join([*numbers[:40], "99999999", *numbers[41:]])
    old, new = changes._around(before, after)
    assert set(old.replace("…", "").replace(",", " ").split()) <= {*numbers}
    assert "10000040" in old
    assert "99999999" in new


def test_a_constant_that_changed_is_named_with_its_values(home: Path) -> None:
    """The same texts read with another epsilon: of all constants the one that changed, before and after."""
    tables = hand_made.content()
    found = changed(home, edited(tables, "constants", config(hand_made.RAW_A), value="1e-3"))
    (change,) = [c for c in found.ours.columns if c.column == "constants"]
    said = {(e.before, e.after) for e in change.examples}
    assert (change.rows, said) == (1, {("norm_epsilon = 1e-6", "norm_epsilon = 1e-3")})


def test_models_come_and_go_and_turn_out_otherwise(home: Path) -> None:
    """A new repository, a missing one and one that became gated are listed; ok and unchanged say the same."""
    tables = hand_made.content()
    names = tables["models"].filter(pl.col("config_id").is_not_null())["repo_id"]
    without = tables["models"].filter(pl.col("config_id").is_null())
    gone = without["repo_id"][0]
    new = without.with_columns(pl.lit("zzz/new").alias("repo_id"))
    after = {**tables, "models": pl.concat([tables["models"].filter(pl.col("repo_id") != gone), new])}
    after = edited(after, "models", pl.col("repo_id") == names[0], outcome="unchanged")
    after = edited(after, "models", pl.col("repo_id") == names[1], outcome="gated")
    found = changed(home, after)
    assert (found.hub.added, found.hub.removed) == (["zzz/new"], [gone])
    assert [(e.repo_id, e.after) for e in found.hub.outcomes] == [(names[1], "gated")]


def test_the_command_prints_80_columns_and_whole_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hostile names are shown, not obeyed; lists are cut for people and whole for programs; unknown dates exit 8."""
    tables = hand_made.content()
    extra = [tables["models"].filter(pl.col("config_id").is_null()).head(1)] * 30
    rows = [
        one.with_columns(pl.lit(f"zzz/\x1b[2J\u202e{i:02}{'x' * 90}").alias("repo_id")) for i, one in enumerate(extra)
    ]
    changed(home, {**tables, "models": pl.concat([tables["models"], *rows])})
    assert main(["diff", FIRST, SECOND, "--home", str(home)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    assert "... and 20 more" in out
    assert main(["diff", FIRST, SECOND, "--json", "--home", str(home)]) == 0
    assert len(json.loads(capsys.readouterr().out)["hub"]["added"]) == 30
    assert main(["diff", FIRST, "2020-01-01", "--home", str(home)]) == 8
