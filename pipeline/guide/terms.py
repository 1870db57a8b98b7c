"""Terms of the glossary in a page's prose: the first use of one that another page introduces is a link to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

COMMON = frozenset(
    {
        "total",
        "attention",
        "active",
        "expert",
        "depth",
        "kept",
        "tower",
        "block",
        "head",
        "check",
        "origin",
        "chunk",
        "first slope",
    }
)
"""Words that mean more than their entry says, and stay plain."""
_SKIPPED = ("|", "#", "<", "!", ">", "    ")
_WHOLE = re.compile(r"(`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\*\*.*?\*\*|\*[^*]+\*|<[^>]*>)")
_SLUG = re.compile(r"[^a-z0-9]+")


def anchor(term: str) -> str:
    """The place of a term in the glossary."""
    return f"t-{_SLUG.sub('-', word(term).lower()).strip('-')}"


def word(term: str) -> str:
    """The first name of a term that may have several."""
    return term.partition(", ")[0]


def linked(body: str, terms: Iterable[str], target: str) -> str:
    """The body with the first use of each term in a paragraph or a list as a link; code, tables and links stay."""
    left = {word(t): anchor(t) for t in terms if word(t) not in COMMON}
    lines, fenced = [], False
    for line in body.split("\n"):
        fenced ^= line.startswith("```")
        plain = not fenced and bool(line) and not line.startswith((*_SKIPPED, "```"))
        lines.append(_line(line, left, target) if plain else line)
    return "\n".join(lines)


def _line(line: str, left: dict[str, str], target: str) -> str:
    return "".join(part if _WHOLE.fullmatch(part) else _part(part, left, target) for part in _WHOLE.split(line))


def _part(text: str, left: dict[str, str], target: str) -> str:
    """A stretch of plain prose; terms that it links are taken out of `left`."""
    if not left:
        return text
    form = re.compile(rf"(?<![\w/-])(?:{'|'.join(map(re.escape, sorted(left, key=len, reverse=True)))})(?![\w/-])")

    def link(found: re.Match[str]) -> str:
        place = left.pop(found[0], None)
        return found[0] if place is None else f"[{found[0]}]({target}#{place})"

    return form.sub(link, text)
