"""Lines of a sheet: pieces of text with the style each is shown in, made for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

WIDTH = 80
Line = list[tuple[str, str]]  # pieces of text with the style each is shown in
HEAD, DIM, STRONG, BAR, WARN = "bold cyan", "dim", "bold", "cyan", "yellow"


def plain(lines: Iterator[Line]) -> str:
    """The sheet without style."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def styled(lines: Iterator[Line]) -> Iterator[Text]:
    """The sheet for rich."""
    from rich.text import Text

    for line in lines:
        yield Text.assemble(*((text, style) for text, style in line))


def title(text: str, note: str = "") -> Line:
    """The head of a section, with a note at the right."""
    gap = max(1, WIDTH - len(text) - len(note))
    return [(text, HEAD), (" " * gap + note if note else "", DIM)]


def wrapped(text: str, indent: int, style: str = "", hang: int = 0) -> Iterator[Line]:
    """A sentence over several lines, those behind the first so much further in."""
    import textwrap

    later = " " * hang
    for line in textwrap.wrap(text, WIDTH - indent, subsequent_indent=later, break_on_hyphens=False):
        yield [(" " * indent + line, style)]


def labelled(label: str, text: str, style: str = "") -> Iterator[Line]:
    """A text behind its label, over as many lines as it needs."""
    import textwrap

    for i, line in enumerate(textwrap.wrap(text, WIDTH - len(label), break_on_hyphens=False) or [""]):
        yield [(" " * len(label) if i else label, DIM), (line, style)]
