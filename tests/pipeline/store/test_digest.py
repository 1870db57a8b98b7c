"""Digests of tables."""

from __future__ import annotations

import hashlib
import json
import struct

import hand_made
import polars as pl
import pytest

from pipeline.store.build import digests, ordered
from pipeline.store.digest import as_stored, table_digest
from schemas.registry import CONTENT, TABLES, Table

STATES = TABLES["states"]


def digest(table: Table, frame: pl.DataFrame) -> str:
    """Digest of one frame."""
    return table_digest(table, [as_stored(table, frame)])


def test_the_definition_is_followed() -> None:
    """A table of one row has the digest that the definition gives by hand: header, number of rows, then each column."""
    table = TABLES["features"]
    frame = hand_made.frame("features", [{"config_id": "ab", "feature": "gqa"}])
    said = json.dumps(["features", [["config_id", "text"], ["feature", "text"]]]).encode()
    said += struct.pack("<q", 1)
    said += b"\0" + struct.pack("<q", 2) + b"ab"
    said += b"\0" + struct.pack("<q", 3) + b"gqa"
    assert digest(table, frame) == hashlib.sha256(said).hexdigest()


@pytest.mark.parametrize("table", CONTENT, ids=lambda t: t.name)
def test_every_column_counts(table: Table) -> None:
    """Setting any column to null in all rows changes the digest, unless it was null in all of them."""
    frame = as_stored(table, hand_made.content()[table.name])
    whole = digest(table, frame)
    for column in table.columns:
        blank = frame.with_columns(pl.lit(None, dtype=frame.schema[column]).alias(column))
        same = frame[column].null_count() == frame.height
        assert (digest(table, blank) == whole) is same, column


def test_null_zero_and_empty_differ() -> None:
    """A null, a 0, an empty list and an empty text are four different things."""
    base = hand_made.frame("configs", [{"config_id": "a", "raw": "", "size_bytes": 0, "evidence": [], "unread": []}])
    variants = [
        base,
        base.with_columns(raw=pl.lit(None, pl.String)),
        base.with_columns(unread=pl.lit(None, pl.List(pl.String))),
    ]
    variants += [
        base.with_columns(unread=pl.lit([""], pl.List(pl.String))),
        base.with_columns(max_context=pl.lit(0, pl.Int64)),
    ]
    assert len({digest(TABLES["configs"], v) for v in variants}) == len(variants)


def test_text_cannot_move_between_cells() -> None:
    """The same letters cut differently into rows are different tables."""
    one, other = (
        hand_made.frame("features", [{"config_id": a, "feature": "x"} for a in ids])
        for ids in (["ab", "c"], ["a", "bc"])
    )
    assert digest(TABLES["features"], one) != digest(TABLES["features"], other)


def test_rows_may_come_in_any_order() -> None:
    """Tables are digested in the order of their key, whatever order they are given in."""
    content = hand_made.content()
    shuffled = {name: frame.sample(fraction=1, shuffle=True, seed=3) for name, frame in content.items()}
    assert digests(ordered(content)) == digests(ordered(shuffled))
