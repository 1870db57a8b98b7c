"""Where the names of points stand in a chart: beside their point, inside the plot, over no point and no other name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.text import shorten, terminal

Rows = Sequence[Mapping[str, Any]]

LETTER, HALF = 7.2, 8.0
"""Width of a letter and half the height of a line, in pixels: more than the fonts of charts need."""
BESIDE = 7
"""Pixels from a point to its name, to the side."""
HEIGHTS = (-11, 14, 2, -26, 29, -42, 45, -58, 61, -74, 77, -90, 93)
"""Pixels from a point down to its name, the nearest first."""
FAR = 20
"""A name further from its point than this has a line to it."""
POINT = 5.0
"""Half the room of a point."""
MARGIN = 20
"""Pixels above the plot in which a name may still stand."""
LONGEST = 24


class Plot(NamedTuple):
    """Size of the area between the axes, in pixels."""

    width: int
    height: int


class Box(NamedTuple):
    """The room of a name or a point, in pixels from the upper left corner of the plot."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether the two have a point in common."""
        beside = self.right <= other.left or other.right <= self.left
        return not beside and self.top < other.bottom and other.top < self.bottom


def labelled(rows: Rows, axes: tuple[str, str], label: str, plot: Plot) -> list[dict[str, Any]]:
    """The rows, their label made harmless, and its `place`: its alignment and its pixels below the point, or nothing.

    Of the places around a point the first is taken whose room is free of other points and names, from the uppermost
    point down. A point without a free place stays without a name: it is in the chart's table.
    """
    taken = list(points(rows, axes, plot))
    places: dict[int, str] = {}
    for row in sorted((r for r in rows if r[label] is not None), key=lambda r: -r[axes[1]]):
        boxes = _boxes(*centre(rows, axes, row, plot), _shown(row[label]), plot)
        free = [name for name, box in boxes.items() if not any(box.meets(other) for other in taken)]
        if free:
            places[id(row)] = free[0]
            taken.append(boxes[free[0]])
    return [{**r, label: _shown(r[label]), "place": places.get(id(r), "")} for r in rows]


def points(rows: Rows, axes: tuple[str, str], plot: Plot) -> Iterator[Box]:
    """The room of every point."""
    for row in rows:
        x, y = centre(rows, axes, row, plot)
        yield Box(x - POINT, y - POINT, x + POINT, y + POINT)


def centre(rows: Rows, axes: tuple[str, str], row: Mapping[str, Any], plot: Plot) -> tuple[float, float]:
    """Where a point stands, in pixels from the upper left corner of the plot."""
    return _across(rows, axes[0], row, plot), _down(rows, axes[1], row, plot)


def _shown(name: object) -> str:
    return "" if name is None else shorten(terminal(str(name)), LONGEST)


def _across(rows: Rows, x: str, row: Mapping[str, Any], plot: Plot) -> float:
    """Pixels of a point from the left; the axis runs from one power of ten to another."""
    low, high = math.floor(math.log10(min(r[x] for r in rows))), math.ceil(math.log10(max(r[x] for r in rows)))
    return plot.width * (math.log10(row[x]) - low) / max(high - low, 1)


def _down(rows: Rows, y: str, row: Mapping[str, Any], plot: Plot) -> float:
    """Pixels of a point from the top."""
    low, high = min(r[y] for r in rows), max(r[y] for r in rows)
    return plot.height * math.log(high / row[y]) / math.log(high / low) if high > low else plot.height / 2


def _boxes(across: float, down: float, name: str, plot: Plot) -> dict[str, Box]:
    """The room at each place inside the plot, the side with more room first."""
    width = LETTER * len(name)
    lefts = {"left": across + BESIDE, "right": across - BESIDE - width}
    order = ("left", "right") if across < plot.width / 2 else ("right", "left")
    found = {
        f"{align}{dy}": Box(lefts[align], down + dy - HALF, lefts[align] + width, down + dy + HALF)
        for dy in HEIGHTS
        for align in order
    }
    return {
        place: box for place, box in found.items() if box.left >= 0 and box.right <= plot.width and box.top >= -MARGIN
    }
