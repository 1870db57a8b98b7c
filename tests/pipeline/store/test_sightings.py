"""What nobody has seen before: dated once, carried on, ranked by downloads."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import duckdb
import polars as pl

from pipeline.refresh import tables
from pipeline.refresh.found import Input
from pipeline.store import sightings, snapshot
from pipeline.store.snapshot import Published

FIRST, SECOND, THIRD = (dt.date(2026, 11, d) for d in (1, 2, 3))
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2}


def found(name: str, downloads: int, **config: object) -> Input:
    """A repository whose config is a small Llama's with these keys more."""
    raw = json.dumps(LLAMA | config).encode()
    return Input(name, raw, "hub", FIRST, listing={"downloads": downloads})


def published(home: Path, day: dt.date, *rows: Input) -> Published:
    """A snapshot of these repositories."""
    return snapshot.publish(
        home, tables.tables(rows), snapshot.Publication(day=day, source="hub", listed=len(rows), code_version="0")
    )


def dated(made: Published) -> dict[str, tuple[dt.date, int, int | None]]:
    """Day, repositories and downloads of what a snapshot has seen, by name."""
    with duckdb.connect(str(made.path), read_only=True) as con:
        rows = con.execute("SELECT name, first_seen, models, downloads FROM sightings").fetchall()
    return {name: rest for name, *rest in rows for rest in [tuple(rest)]}


def test_a_first_sighting_keeps_its_day(tmp_path: Path) -> None:
    """A key seen on the first day keeps that day, is counted anew on the second, and stays when nobody has it."""
    one = published(tmp_path, FIRST, found("a/x", 5, strange=1))
    two = published(tmp_path, SECOND, found("a/x", 5, strange=1), found("a/y", 7, strange=1, stranger=2))
    three = published(tmp_path, THIRD, found("a/x", 5))
    assert dated(one)["strange"] == (FIRST, 1, 5)
    assert dated(two)["strange"] == (FIRST, 2, 12)
    assert dated(two)["stranger"] == (SECOND, 1, 7)
    assert dated(three)["stranger"] == (SECOND, 0, None)
    assert dated(three)["llama"] == (FIRST, 1, 5)


def test_news_is_what_the_snapshot_before_never_had(tmp_path: Path) -> None:
    """A model_type, its class and a key of known configs, the most downloaded first; nothing in a first snapshot."""
    one = published(tmp_path, FIRST, found("a/x", 5))
    novel = found("a/new", 900, model_type="novel", architectures=["NovelForCausalLM"])
    two = published(tmp_path, SECOND, found("a/x", 5, strange=1), novel)
    assert sightings.news(one.path, None) == []
    news = sightings.news(two.path, one.path)
    assert [(n.kind, n.name, n.downloads) for n in news] == [
        ("class", "NovelForCausalLM", 900),
        ("model_type", "novel", 900),
        ("key", "strange", 5),
    ]
    assert str(news[2]) == "strange (llama)"


def test_equal_content_is_no_news(tmp_path: Path) -> None:
    """Sightings stand in no digest: a day that finds the same publishes nothing."""
    published(tmp_path, FIRST, found("a/x", 5, strange=1))
    assert not published(tmp_path, SECOND, found("a/x", 5, strange=1)).is_new


def test_a_snapshot_without_the_table_is_read_from_its_configs(tmp_path: Path) -> None:
    """Model_types, classes and unread keys of an older snapshot are dated by that snapshot's name."""
    made = published(tmp_path, FIRST, found("a/x", 5, strange=1))
    old = tmp_path / f"{FIRST}.duckdb"
    with duckdb.connect(str(old)) as con:
        con.execute(f"ATTACH '{made.path}' AS made (READ_ONLY)")
        for table in ("models", "configs"):
            con.execute(f"CREATE TABLE {table} AS FROM made.{table}")
    frame = sightings.of_snapshot(old)
    assert frame is not None
    assert frame.filter(pl.col("name") == "strange")["first_seen"].to_list() == [FIRST]
    with duckdb.connect(str(tmp_path / "2020-01-01.duckdb")) as con:
        con.execute("CREATE TABLE configs (x INTEGER)")
    assert sightings.of_snapshot(tmp_path / "2020-01-01.duckdb") is None
