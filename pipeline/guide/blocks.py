"""The blocks a template places: tables, charts with their data, folded details, links to modules and sheets.

Every table says which tier its evidence is of and which query it comes from. A table without rows is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from pipeline.errors import Invalid
from pipeline.guide import page, prose
from pipeline.guide.bind import Cell, Row

_HUB = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
TIERS = {
    1: "Tier 1, measured",
    2: "Tier 2, derived from the config",
    3: "Tier 3, reported",
}
Column = tuple[str, str, str]
"""Heading, column of the query, filter."""


class Links(NamedTuple):
    """What a page may link to: modules of the curriculum, those that have a page, and the sheets by repository."""

    modules: Mapping[str, page.Module]
    pages: frozenset[str]
    sheets: Mapping[str, str]
    root: str = ""

    def module(self, number: str, label: str | None = None) -> Markup:
        """A module by its number, as a link where it has a page; in a sentence it is `module 03`."""
        found = self.modules[number]
        label = label or f"module {number}"
        return Markup(f"[{label}]({self.root}{found.slug}.md)" if found.slug in self.pages else label)  # noqa: S704

    def titled(self, number: str) -> Markup:
        """A module by its number and title."""
        return self.module(number, f"{number} {self.modules[number].title}")

    def to(self, slug: str, label: str) -> Markup:
        """A page that is no module, by its slug."""
        if slug not in self.pages:
            raise Invalid(f"the page links to {slug}, which does not exist")
        return Markup(f"[{label}]({self.root}{slug}.md)")  # noqa: S704

    def origin(self, value: Cell) -> str:
        """Where a value comes from: a word of the vocabulary behind its coloured mark, or any other word as it is."""
        from pipeline.guide.palette import ORIGINS

        mark = f"![]({self.root}charts/origin-{value.value}.svg) " if value.value in ORIGINS else ""
        return mark + value.printed(prose.word(value.value))

    def hub(self, repo: Cell) -> Markup:
        """A repository linked to its page on the Hub; a name that is none there stays text."""
        shown = repo.printed(prose.text(repo.value))
        return Markup(f"[{shown}](https://huggingface.co/{repo.value})" if _HUB.fullmatch(repo.value) else shown)  # noqa: S704

    def model(self, repo: object) -> Markup:
        """A model's name, linked to its sheet where it has one."""
        if not isinstance(repo, Cell):
            raise Invalid(f"{repo!r} is no value of a query")
        shown = prose.name(repo.value)
        slug = self.sheets.get(repo.value)
        repo.printed(shown)
        return Markup(f"[{shown}]({self.root}models/{slug}.md)" if slug else shown)  # noqa: S704


def table(rows: Sequence[Row], columns: Sequence[Column], links: Links, *, tier: int | None, note: str = "") -> Markup:
    """A table of a result with the line below it. Raises `Invalid` where there are no rows."""
    body = plain(rows, columns, links)
    return Markup(f"{body}\n\n{caption(query_of(rows, columns), tier, note)}")  # noqa: S704 - cells are escaped


def plain(rows: Sequence[Row], columns: Sequence[Column], links: Links) -> str:
    """The table alone, columns in the order given, null as a dash. Raises `Invalid` where there are no rows."""
    lines = [_line([heading for heading, _, _ in columns])]
    lines.append("|" + "|".join("---:" if form in prose.NUMBERS else "---" for _, _, form in columns) + "|")
    lines += [_line([cell(row[column], form, links) for _, column, form in columns]) for row in _some(rows, columns)]
    return "\n".join(lines)


class Cross(NamedTuple):
    """Columns of a query: what stands down the side of a crossed table, across its top, and in its cells."""

    down: str
    across: str
    value: str


def crossed(rows: Sequence[Row], columns: Sequence[Column], by: Cross, links: Links) -> str:
    """A table with a row per value of one column and a column per value of another, a dash where there is none."""
    forms = {column: (heading, form) for heading, column, form in columns}
    heads, sides = _distinct(_some(rows, columns), by.across), sorted(_distinct(rows, by.down))
    found = {(row[by.down], row[by.across]): row[by.value] for row in rows}
    lines = [_line([forms[by.down][0], *(cell(head, forms[by.across][1], links) for head in heads)])]
    lines.append("|---:|" + "---:|" * len(heads))
    for side in sides:
        values = (cell(found.get((side, head)), forms[by.value][1], links) for head in heads)
        lines.append(_line([cell(side, forms[by.down][1], links), *values]))
    return "\n".join(lines)


def _distinct(rows: Sequence[Row], column: str) -> list[Cell]:
    """The values of a column, each once, as they come. Raises `Invalid` where one is null."""
    found = [row[column] for row in rows]
    present = [value for value in found if value is not None]
    if len(present) != len(found):
        raise Invalid(f"{column} has a null, and the table is laid out by it")
    return list(dict.fromkeys(present))


def cell(value: Cell | None, form: str, links: Links) -> str:
    """One value as a table shows it."""
    if value is None:
        return "—"
    if form == "model":
        return links.model(value)
    if form == "origin":
        return links.origin(value)
    shown = prose.shown(value.value, form)
    return value.printed(shown)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _some(rows: Sequence[Row], columns: Sequence[Column]) -> Sequence[Row]:
    if not rows:
        raise Invalid(f"the table {', '.join(heading for heading, _, _ in columns)} would be empty")
    return rows


def query_of(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    """The query that a table's rows come from."""
    for row in rows:
        for _, column, _ in columns:
            found = row[column]
            if found is not None:
                return found.query
    raise Invalid(f"the table {', '.join(heading for heading, _, _ in columns)} has no value in it")


def caption(query: str, tier: int | None, note: str = "") -> str:
    """The line below a table: evidence and query."""
    said = f"{TIERS[tier]}; " if tier else ""
    return f"<sub>{said}query [{query}](#q-{query.replace('_', '-')}){'. ' + note if note else ''}</sub>"


def details(summary: str, body: str) -> Markup:
    """A part that is folded away until it is asked for."""
    return Markup(f"<details>\n<summary>{summary}</summary>\n\n{body.strip()}\n\n</details>")  # noqa: S704
