"""Rows as a table, JSON, CSV and Markdown."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.ask.formats import FORMATS, WIDEST, jsonable, plain


def printed(form: str, columns: list[tuple[str, str]], *chunks: list[tuple[Any, ...]]) -> str:
    """What a printer writes."""
    written: list[str] = []
    rows = FORMATS[form](columns, chunks, written.append)
    assert rows == sum(map(len, chunks))
    return "".join(written)


def test_an_empty_result_shows_its_columns() -> None:
    """No rows: the heading alone, an empty array in JSON."""
    columns = [("a", "BIGINT"), ("b", "VARCHAR")]
    assert printed("table", columns) == "a  b\n-  -\n"
    assert printed("csv", columns) == "a,b\n"
    assert printed("md", columns) == "| a | b |\n| ---: | --- |\n"
    assert json.loads(printed("json", columns)) == []


def test_a_long_cell_is_cut_in_tables_only() -> None:
    """A table cuts a long text and says so with an ellipsis; the other formats give it whole."""
    long = "x" * (WIDEST + 40)
    assert printed("table", [("a", "VARCHAR")], [(long,)]).splitlines()[2] == "x" * (WIDEST - 1) + "…"
    for form in ("json", "csv", "md"):
        assert long in printed(form, [("a", "VARCHAR")], [(long,)])


@pytest.mark.parametrize(
    ("value", "text", "as_json"),
    [
        (None, "", None), (True, "true", True), (0, "0", 0), (2**100, str(2**100), 2**100), (1.5, "1.5", 1.5),
        (math.nan, "nan", None), (math.inf, "inf", None), (b"\xff", "ff", "ff"),
        (dt.date(2026, 1, 2), "2026-01-02", "2026-01-02"),
        (decimal.Decimal("1.50"), "1.50", 1.5),
        (decimal.Decimal("0.1234567890123456789"), "0.1234567890123456789", "0.1234567890123456789"),
        (uuid.UUID(int=1), str(uuid.UUID(int=1)), str(uuid.UUID(int=1))),
        ({"a": [1, None]}, '{"a": [1, null]}', {"a": [1, None]}), ([math.nan], "[null]", [None]),
    ],
)  # fmt: skip
def test_every_type_has_a_text_and_a_json_value(value: object, text: str, as_json: object) -> None:
    """Null is nothing, NaN is null in JSON, exact types keep their digits."""
    assert plain(value) == text
    assert jsonable(value) == as_json


@given(st.lists(st.tuples(st.text(), st.integers()), max_size=5))
def test_json_gives_back_what_went_in(rows: list[tuple[str, int]]) -> None:
    """Any text and any integer come back from JSON as they were."""
    shown = printed("json", [("t", "VARCHAR"), ("n", "HUGEINT")], rows)
    assert [(r["t"], r["n"]) for r in json.loads(shown)] == rows


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_a_table_has_one_line_a_row(texts: list[str]) -> None:
    """No text breaks out of its line."""
    assert printed("table", [("t", "VARCHAR")], [(t,) for t in texts]).count("\n") == len(texts) + 2
