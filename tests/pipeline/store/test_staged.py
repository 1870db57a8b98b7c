"""Tables put aside in parts and put together by queries."""

from __future__ import annotations

import hand_made
import polars as pl
import pytest

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
