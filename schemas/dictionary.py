"""The data dictionary as Markdown, made from the registry that also makes the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemas import views
from schemas.fields import Field
from schemas.registry import TABLES, Table
from schemas.tables import DUCKDB
from schemas.version import SCHEMA_CHANGES, SCHEMA_VERSION


def markdown() -> str:
    """Every table and view with its columns: type, unit, whether null occurs, meaning."""
    return "\n".join(
        [
            "<!-- Generated from schemas/; do not edit. -->",
            "# Data dictionary",
            "",
            f"Schema version {SCHEMA_VERSION}. Null: the quantity does not apply. 0: there is known to be none.",
            "Bytes are at 2 bytes an element unless a column says otherwise.",
            *(line for name in views.COLUMNS for line in _view(name)),
            *_heading("kv_bytes"),
            *(line for table in TABLES.values() for line in _table(table)),
            "",
            "## Changes",
            "",
            *(f"- {version}: {what}" for version, what in SCHEMA_CHANGES),
            "",
        ]
    )


def _view(name: str) -> Iterator[str]:
    yield from (*_heading(name), "", *_rows(views.COLUMNS[name]))


def _heading(name: str) -> Iterator[str]:
    yield from ("", f"## {name}", "", views.MEANINGS[name])


def _table(table: Table) -> Iterator[str]:
    yield from ("", f"## {table.name}", "", table.meaning, "", f"Key: {', '.join(f'`{k}`' for k in table.key)}.")
    yield from ("", *_rows(table.fields))


def _rows(fields: Iterable[Field]) -> Iterator[str]:
    yield "| column | type | unit | null | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for f in fields:
        among = f" One of {', '.join(f'`{w}`' for w in f.among)}." if f.among else ""
        null = "yes" if f.nullable else "no"
        yield f"| `{f.name}` | {DUCKDB[f.kind]} | {f.unit or ''} | {null} | {f.meaning}{among} |"
