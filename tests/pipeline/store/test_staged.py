"""Tables put aside in parts and put together by queries."""

from __future__ import annotations

from pathlib import Path

import duckdb
import hand_made
import polars as pl
import pytest

from pipeline.refresh import composing
from pipeline.store import build
from pipeline.store import staged as staging
from pipeline.store.staged import Staged, staged


def test_parts_come_back_as_one_table_in_the_order_of_its_key() -> None:
    """Two parts of a table, given in the wrong order, are one frame in the right one, with the table's types."""
    models = hand_made.content()["models"].sort("repo_id")
    made = Staged()
    made.add("models", models.tail(2))
    made.add("models", models.head(models.height - 2))
    assert made["models"].equals(models)
    assert made.count("models") == models.height


def test_a_table_of_no_part_is_empty_and_unknown_ones_are_no_tables() -> None:
    """What nothing was put aside of has no rows; a name that is none of a snapshot's is a KeyError."""
    made = staged({})
    assert made["features"].is_empty()
    assert made.counts("models", "outcome") == {}
    with pytest.raises(KeyError):
        made["lifted"]


def test_a_query_may_take_the_place_of_what_was_put_aside() -> None:
    """A table is what was decided of it, and decisions build on each other."""
    made = staged({"features": hand_made.frame("features", [{"config_id": c, "feature": "gqa"} for c in "abc"])})
    made.decide("features", f"SELECT * FROM {made.table('features')} WHERE config_id <> 'a'")
    made.decide("features", f"SELECT * FROM {made.table('features')} WHERE config_id <> 'c'")
    assert made["features"]["config_id"].to_list() == ["b"]


def test_what_is_put_replaces_and_the_folder_goes_with_the_object() -> None:
    """Rows put under a name stand instead of those before; nothing is left on the disk in the end."""
    made = Staged()
    for value in (1, 2):
        made.put("seen", pl.DataFrame({"a": [value]}))
    assert made.ask(f"SELECT a FROM {made.given('seen')}") == [(2,)]
    folder = made.folder
    del made
    assert not folder.exists()


def many_configs(many: int) -> pl.DataFrame:
    """So many configs of 4 KiB with their evidence, 12,000 of them 90 MB, in no order of their names."""
    one = hand_made.content()["configs"].head(1)
    return pl.concat([one] * many).with_columns(
        pl.Series("config_id", [f"{7919 * n % many:064x}" for n in range(many)]),
        pl.Series("raw", [f"{n:04096x}" for n in range(many)]),
        pl.Series("size_bytes", [4096] * many, dtype=pl.Int64),
        pl.Series("evidence", [one["evidence"][0].to_list() * 40] * many, dtype=one.schema["evidence"]),
    )


def put_aside(configs: pl.DataFrame) -> Staged:
    """Tables with these configs, a thousand to a part."""
    made = staged({})
    for start in range(0, configs.height, 1_000):
        made.add("configs", configs.slice(start, 1_000))
    return made


def test_more_configs_than_memory_holds_are_written_in_the_order_of_their_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12,000 configs of 4 KiB and their evidence, 90 MB, with 48 MB: DuckDB alone cannot sort them."""
    many = 12_000
    made = put_aside(many_configs(many))
    monkeypatch.setattr(staging, "MEMORY", "48MB")
    with pytest.raises(duckdb.OutOfMemoryException):
        build.write(tmp_path / "at_once.duckdb", made, hand_made.DAY)
    monkeypatch.setattr(build, "SORTED", 1 << 23)
    build.write(tmp_path / "in_parts.duckdb", made, hand_made.DAY)
    with duckdb.connect(str(tmp_path / "in_parts.duckdb"), read_only=True) as con:
        found = con.execute("SELECT config_id FROM configs ORDER BY rowid").fetchall()
    assert [c for (c,) in found] == [f"{n:064x}" for n in range(many)]


def test_what_no_repository_has_any_more_goes_without_holding_what_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 12,000 configs belonged to a config that was replaced: the other 90 MB are not joined in 48 MB."""
    many = 12_000
    made = put_aside(many_configs(many))
    model = hand_made.content()["models"].head(1)
    made.add("models", pl.concat([model] * (many - 1)).with_columns(
        pl.Series("repo_id", [f"org/{n:05}" for n in range(1, many)]),
        pl.Series("config_id", [f"{n:064x}" for n in range(1, many)]),
    ))  # fmt: skip
    monkeypatch.setattr(staging, "MEMORY", "48MB")
    monkeypatch.setattr(build, "SORTED", 1 << 23)
    composing._used(made, always=True)
    build.write(tmp_path / "left.duckdb", made, hand_made.DAY)
    with duckdb.connect(str(tmp_path / "left.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*), min(config_id) FROM configs").fetchone() == (many - 1, f"{1:064x}")
