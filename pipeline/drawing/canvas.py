"""Shapes in order, and how far down the page is full. Text is made harmless and cut to its room here, and only here."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape

LETTER = 0.55
"""Mean width of a letter as a share of the font's size; the widest system font met is below it."""

Step = str | float


def clean(text: str, room: float = 9999, points: float = 11.5) -> str:
    """Text that cannot leave its place: no control or direction marks, cut to its room, then escaped."""
    kept = "".join(ch for ch in text if unicodedata.category(ch)[0] != "C")
    most = max(1, int(room / (points * LETTER)))
    return escape(kept if len(kept) <= most else kept[: most - 1] + "…")


def wrapped(text: str, room: float, points: float = 11.5) -> list[str]:
    """Lines of words that fit the room; nothing for no text."""
    lines: list[str] = []
    for word in text.split(" ") if text else []:
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and len(joined) * points * LETTER <= room:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


class Canvas:
    """A page of shapes; `y` is where the next thing goes."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.y = 0.0

    def text(self, x: float, y: float, text: str, cls: str = "t", anchor: str = "start", room: float = 430) -> None:
        """A line of text, nothing where there is none."""
        if text:
            end = "" if anchor == "start" else f' text-anchor="{anchor}"'
            self.out.append(f'<text x="{x:.5g}" y="{y:.6g}" class="{cls}"{end}>{clean(text, room)}</text>')

    def rect(self, x: float, y: float, w: float, h: float, cls: str, r: float = 0) -> None:
        """A rectangle with corners of this radius."""
        rounded = f' rx="{r:g}"' if r else ""
        self.out.append(f'<rect x="{x:.5g}" y="{y:.6g}" width="{w:.4g}" height="{h:.5g}"{rounded} class="{cls}"/>')

    def path(self, *steps: Step, cls: str = "l") -> None:
        """A path of letters and numbers."""
        said = "".join(s if isinstance(s, str) else f"{s:.6g} " for s in steps).strip()
        self.out.append(f'<path d="{said}" class="{cls}"/>')

    def grid(self, cells: Sequence[tuple[float, float]], w: float, h: float, cls: str) -> None:
        """Equal cells as one path."""
        if cells:
            self.path(*[s for x, y in cells for s in ("M", x, y, "h", w, "v", h, "h", -w, "z")], cls=cls)

    def arrow(self, x: float, y: float, way: str) -> None:
        """The head of an arrow whose point is here."""
        shape = {"left": "l5,-3.5v7z", "right": "l-5,-3.5v7z", "up": "l-3.5,6h7z", "down": "l-3.5,-6h7z"}[way]
        self.path("M", x, y, shape, cls="f")

    @contextmanager
    def group(self, colour: str) -> Iterator[None]:
        """What is drawn inside has this colour."""
        self.out.append(f'<g class="c-{colour}">')
        yield
        self.out.append("</g>")
