"""Pieces of HTML. Everything that comes from a snapshot goes through `esc`, which leaves nothing that acts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pipeline.text import terminal


def esc(value: object) -> str:
    """Text of HTML and of quoted attributes: markup and invisible characters of a stranger become visible text."""
    return escape(terminal(str(value)))


def cell(value: object) -> str:
    """A value as a cell has it: grouped digits, yes or no, a dash for null."""
    if value is None:
        return '<span class="null">–</span>'
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if isinstance(value, float) else esc(value)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], label: str, numeric: Iterable[int] = ()) -> str:
    """A table of finished cells in a region that scrolls by itself, its first column sticky."""
    right = frozenset(numeric)
    heads = "".join(f'<th scope="col"{_right(i in right)}>{esc(h)}</th>' for i, h in enumerate(head))
    body = "".join(f"<tr>{_row(r, right)}</tr>" for r in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{esc(label)}"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str], right: frozenset[int]) -> str:
    first, *rest = cells
    return f'<th scope="row"{_right(0 in right)}>{first}</th>' + "".join(
        f"<td{_right(i in right)}>{c}</td>" for i, c in enumerate(rest, 1)
    )


def _right(is_number: bool) -> str:  # noqa: FBT001 - of one cell
    return ' class="n"' if is_number else ""


def link(href: str, text: str, title: str = "") -> str:
    """A link to a page of ours; the text is escaped here, the address is ours."""
    extra = f' title="{esc(title)}"' if title else ""
    return f'<a href="{escape(href)}"{extra}>{esc(text)}</a>'


def fold(summary: str, body: str) -> str:
    """Something to open."""
    return f"<details><summary>{esc(summary)}</summary>{body}</details>"


def section(anchor: str, title: str, body: str) -> str:
    """A part of a page under a heading with an anchor."""
    mark = f'<a class="anchor" href="#{anchor}" aria-label="Link to {esc(title)}">#</a>'
    return f'<section><h2 id="{anchor}">{mark}{esc(title)}</h2>{body}</section>'
