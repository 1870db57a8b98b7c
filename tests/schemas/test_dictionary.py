"""The data dictionary."""

from __future__ import annotations

from pathlib import Path

import duckdb
import hand_made
from markdown_it import MarkdownIt

from pipeline.store import snapshot
from schemas import dictionary, views
from schemas.registry import TABLES


def test_it_tells_of_every_column_in_the_file(tmp_path: Path) -> None:
    """Every table, view and column of a snapshot has its row, with the type the file has."""
    made = snapshot.publish(
        tmp_path,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
    )
    sections = {part.split("\n", 1)[0]: part for part in dictionary.markdown().split("\n## ")[1:]}
    with duckdb.connect(str(made.path), read_only=True) as con:
        columns = con.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
    for table, column, kind in columns:
        plain = kind.replace('"', "")
        assert f"| `{column}` | {plain} |" in sections[table], (table, column)


def test_it_is_a_page_of_tables() -> None:
    """As Markdown, it has one table for each table and view, and every row has as many cells as the heading."""
    blocks = [b.type for b in MarkdownIt("gfm-like", {"linkify": False}).parse(dictionary.markdown())]
    assert blocks.count("table_open") == len(TABLES) + len(views.COLUMNS)
    lines = [line for line in dictionary.markdown().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {6}
