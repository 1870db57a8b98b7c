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


def wrapped(text: str, indent: int, style: str = "") -> Iterator[Line]:
    """A sentence over several lines."""
    import textwrap

    for line in textwrap.wrap(text, WIDTH - indent, break_long_words=True, break_on_hyphens=False):
        yield [(" " * indent + line, style)]
