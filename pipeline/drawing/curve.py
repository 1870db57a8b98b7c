"""Bytes of one sequence over its context, both axes logarithmic, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.drawing.canvas import Canvas, clean
from pipeline.drawing.colours import style
from pipeline.drawing.phrases import size

WIDE, HIGH = 448, 240
LEFT, RIGHT, TOP, BOTTOM = 62, 436, 14, 206
CONTEXTS = tuple(2**n for n in range(8, 21))
"""256 tokens to a million."""
HUES = ("full", "sliding", "compressed", "state", "sparse", "cross")


class Line(NamedTuple):
    """A curve: its name, and bytes at each of the contexts."""

    name: str
    sizes: Sequence[float]


def draw(lines: Sequence[Line], most: int | None, title: str) -> str:
    """One or several curves; a mark stands at the stated context `most`."""
    g = Canvas()
    shown = [s for line in lines for s in line.sizes if s > 0] or [1.0]
    low, high = _powers(min(shown)), _powers(max(shown)) + 1
    _axes(g, low, high)
    if most and CONTEXTS[0] <= most <= CONTEXTS[-1]:
        g.path("M", _x(most), TOP, "V", BOTTOM, cls="l d")
        g.text(_x(most) - 4, TOP + 10, "stated context", "m s", "end")
    for line, hue in zip(lines, HUES, strict=False):
        with g.group(hue):
            points = [(c, s) for c, s in zip(CONTEXTS, line.sizes, strict=True) if s > 0]
            steps = [part for n, (c, s) in enumerate(points) for part in ("L" if n else "M", _x(c), _y(s, low, high))]
            g.path(*steps, cls="l")
    said = "; ".join(f"{x.name}: {size(x.sizes[5])} at 8K tokens, {size(x.sizes[9])} at 128K" for x in lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="atlas-drawing" viewBox="0 0 {WIDE} {HIGH}" role="img">'
        f"<title>{clean(title)}</title><desc>{clean(said)}</desc>{style()}{''.join(g.out)}</svg>\n"
    )


def _powers(n: float) -> int:
    """The power of two at or below."""
    return max(0, int(n).bit_length() - 1)


def _axes(g: Canvas, low: int, high: int) -> None:
    for c in CONTEXTS[::2]:
        g.path("M", _x(c), TOP, "V", BOTTOM, cls="g")
        g.text(
            _x(c), BOTTOM + 15, f"{c >> 10}K" if 1024 <= c < 2**20 else "1M" if c >= 2**20 else str(c), "m s", "middle"
        )
    step = max(1, -(-(high - low) // 6))
    for power in range(low, high + 1, step):
        y = _y(2**power, low, high)
        g.path("M", LEFT, y, "H", RIGHT, cls="g")
        g.text(LEFT - 6, y + 4, size(2**power), "m s", "end")
    g.text((LEFT + RIGHT) / 2, HIGH - 4, "tokens of context", "m s", "middle")


def _x(context: float) -> float:
    return LEFT + (RIGHT - LEFT) * (_log(context) - 8) / 12


def _y(bytes_: float, low: int, high: int) -> float:
    return BOTTOM - (BOTTOM - TOP) * (_log(bytes_) - low) / max(1, high - low)


def _log(n: float) -> float:
    from math import log2

    return log2(n)
