"""Values on their way from a query to a page: each knows where it comes from, and leaves a trace where it is printed.

A template can compare cells and print them through a unit filter, and nothing else: there is no arithmetic on them, so
every number on a page is a cell of a query, and text of strangers cannot become Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import total_ordering
from typing import Any, NamedTuple

from jinja2 import Undefined
from markupsafe import Markup

from pipeline.errors import Invalid
from pipeline.text import markdown


class Trace(NamedTuple):
    """One printed value: what the page says, and the cell of the query it comes from (rows are counted from 1)."""

    printed: str
    query: str
    column: str
    row: int
    value: object


@total_ordering
class Cell:
    """One value of a query's result: it compares like its value, and prints only through a filter or escaped."""

    __slots__ = ("_traces", "column", "query", "row", "value")

    def __init__(self, value: Any, query: str, column: str, row: int, traces: list[Trace]) -> None:
        self.value, self.query, self.column, self.row, self._traces = value, query, column, row, traces

    def printed(self, text: str) -> Markup:
        """Note that the page says `text` for this value, and give it as finished Markdown."""
        self._traces.append(Trace(text, self.query, self.column, self.row, self.value))
        return Markup(text)  # noqa: S704 - every filter escapes what it did not make itself

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return self.printed(markdown(self.value))
        raise Invalid(f"{self.query}.{self.column} is no text: print it through a filter that names its unit")

    __html__ = __str__

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == plain(other)

    def __lt__(self, other: Any) -> bool:
        return self.value < plain(other)


def plain(value: object) -> Any:
    """The value of a cell, or the thing itself."""
    return value.value if isinstance(value, Cell) else value


class Row:
    """One row of a query's result: a cell by column name, None where the value is null."""

    __slots__ = ("_cells",)

    def __init__(self, cells: Mapping[str, Cell | None]) -> None:
        self._cells = cells

    def __getitem__(self, column: str) -> Cell | None:
        return self._cells[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)


def values(row: Row) -> dict[str, Any]:
    """The values of a row without their origin, for charts."""
    return {column: plain(row[column]) for column in row}


def bound(query: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], traces: list[Trace]) -> list[Row]:
    """The rows of a result as cells that leave their traces in `traces`."""

    def cells(number: int, row: Sequence[Any]) -> Iterator[tuple[str, Cell | None]]:
        for column, value in zip(columns, row, strict=True):
            yield column, None if value is None else Cell(value, query, column, number, traces)

    return [Row(dict(cells(number, row))) for number, row in enumerate(rows, 1)]


class Results:
    """`rows.<query>` of a template. It has no other names, so that a query may have any."""

    __slots__ = ("_results",)

    def __init__(self, results: Mapping[str, list[Row]]) -> None:
        self._results = results

    def __getitem__(self, query: str) -> list[Row]:
        return self._results[query]


class Single:
    """`row.<query>` of a template: the only row of a result; several rows, or none, are an error of the page."""

    def __init__(self, results: Mapping[str, list[Row]]) -> None:
        self._results = results

    def __getitem__(self, query: str) -> Row:
        rows = self._results[query]
        if len(rows) != 1:
            raise Invalid(f"query {query} has {len(rows)} rows where the page needs exactly one")
        return rows[0]


def said(form: Callable[..., str]) -> Callable[..., Markup]:
    """Make a template filter of a formatter: it takes a cell, and nothing that does not come from a query."""

    def apply(cell: object, *rest: object) -> Markup:
        if isinstance(cell, Undefined):
            str(cell)  # raises, naming what is not defined
        if not isinstance(cell, Cell):
            raise Invalid(
                f"{form.__name__} was given {'a null' if cell is None else repr(cell)}, which is no value of a query"
            )
        return cell.printed(form(cell.value, *map(plain, rest)))

    return apply


def final(value: object) -> object:
    """What an expression may put on a page: finished text or a cell of text; never a bare number, and never nothing."""
    if isinstance(value, (Markup, str)):
        return value
    if isinstance(value, (Cell, Undefined)):
        return str(value)
    raise Invalid(f"the page prints {value!r}, which is no text: use a filter, or say what stands in its place")
