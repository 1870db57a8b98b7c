"""Prints rows of a query as a table, JSON, CSV or Markdown, chunk by chunk, strangers' text made harmless.

Every printer takes the columns as (name, type), chunks of rows, and where to write; it returns the number of rows.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pipeline.text import csv_cell, json_line, markdown, shorten, terminal

Columns = Sequence[tuple[str, str]]
Chunks = Iterable[Sequence[Sequence[Any]]]
Write = Callable[[str], object]

WIDEST = 60
"""Characters of a cell in a table; longer ones are cut and end in an ellipsis. The other formats give them whole."""

_NUMERIC = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "NUMBER")


def table(columns: Columns, chunks: Chunks, write: Write) -> int:
    """Aligned columns; widths come from the first chunk. The plan that EXPLAIN draws is shown as drawn."""
    if [name for name, _ in columns] == ["explain_key", "explain_value"]:
        return _plan(chunks, write)
    heads = [shorten(terminal(name), WIDEST) for name, _ in columns]
    right = [any(word in kind.upper() for word in _NUMERIC) and "[" not in kind for _, kind in columns]
    widths: list[int] = []
    rows = 0
    for chunk in chunks:
        cells = [[_table_cell(value) for value in row] for row in chunk]
        if not widths:
            widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
            _table_head(heads, right, widths, write)
        write("".join(_line(row, right, widths) for row in cells))
        rows += len(cells)
    if not rows:
        _table_head(heads, right, [len(h) for h in heads], write)
    return rows


def _table_head(heads: list[str], right: list[bool], widths: list[int], write: Write) -> None:
    write(_line(heads, right, widths) + "  ".join("-" * w for w in widths) + "\n")


def _line(cells: list[str], right: list[bool], widths: list[int]) -> str:
    padded = (c.rjust(w) if r else c.ljust(w) for c, r, w in zip(cells, right, widths, strict=True))
    return "  ".join(padded).rstrip() + "\n"


def _table_cell(value: object) -> str:
    return shorten(terminal(plain(value)), WIDEST)


def _plan(chunks: Chunks, write: Write) -> int:
    rows = 0
    for _, drawn in _each(chunks):
        write("".join(f"{terminal(line)}\n" for line in str(drawn).split("\n")))
        rows += 1
    return rows


def plain(value: object) -> str:
    """A value as text: nothing for null, true and false, whole floats without exponent where that is short."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(jsonable(value), ensure_ascii=False)
    return str(value)


def json_array(columns: Columns, chunks: Chunks, write: Write) -> int:
    """One array of objects, one object a line. A name that comes twice gets a number."""
    names = _distinct([name for name, _ in columns])
    rows, lead = 0, "[\n"
    for row in _each(chunks):
        record = {name: jsonable(value) for name, value in zip(names, row, strict=True)}
        write(lead + json_line(json.dumps(record, ensure_ascii=False, allow_nan=False)))
        rows, lead = rows + 1, ",\n"
    write("\n]\n" if rows else "[]\n")
    return rows


def _distinct(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return found


def jsonable(value: object) -> Any:
    """A value as JSON knows it: NaN and infinity null, dates ISO text, bytes hex; a decimal that no float is, text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(k): jsonable(v) for k, v in value.items()}
        case list() | tuple():
            return [jsonable(v) for v in value]
        case bytes() | bytearray():
            return bytes(value).hex()
        case _:
            return _exact(value)


def _exact(value: object) -> float | str:
    if isinstance(value, decimal.Decimal) and decimal.Decimal(repr(float(value))) == value:
        return float(value)
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else str(value)


def csv_rows(columns: Columns, chunks: Chunks, write: Write) -> int:
    """A header and rows quoted as in RFC 4180, lines ending in LF as shell tools want them.

    Text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([csv_cell(name) for name, _ in columns])
    rows = 0
    for chunk in chunks:
        writer.writerows([_csv_value(value) for value in row] for row in chunk)
        rows += len(chunk)
        write(buffer.getvalue())
        buffer.seek(0)
        buffer.truncate()
    write(buffer.getvalue())
    return rows


def _csv_value(value: object) -> str:
    return plain(value) if isinstance(value, (int, float)) else csv_cell(plain(value))


def markdown_table(columns: Columns, chunks: Chunks, write: Write) -> int:
    """A Markdown table whose cells hold exactly the text."""
    right = [any(word in kind.upper() for word in _NUMERIC) and "[" not in kind for _, kind in columns]
    write(_markdown_line([name for name, _ in columns]) + _markdown_rule(right))
    rows = 0
    for row in _each(chunks):
        write(_markdown_line([plain(value) for value in row]))
        rows += 1
    return rows


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown, cells)) + " |\n"


def _markdown_rule(right: list[bool]) -> str:
    return "|" + "|".join(" ---: " if r else " --- " for r in right) + "|\n"


def _each(chunks: Chunks) -> Iterator[Sequence[Any]]:
    for chunk in chunks:
        yield from chunk


FORMATS: dict[str, Callable[[Columns, Chunks, Write], int]] = {
    "table": table,
    "json": json_array,
    "csv": csv_rows,
    "md": markdown_table,
}
