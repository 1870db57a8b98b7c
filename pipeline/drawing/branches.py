"""A branch of a layer: the sum it ends in, norms where they stand, its boxes, and where it leaves the stream.

Everything is drawn downwards, against the flow: the sum is on top.
"""

from __future__ import annotations

from typing import NamedTuple

from atlas.numbers.structure import Branch
from pipeline.drawing import phrases
from pipeline.drawing.boxes import Box
from pipeline.drawing.canvas import LETTER, Canvas, Step

LEFT, RIGHT, STREAM, BOX, END = 100, 430, 114, 130, 422
"""x of the frames, the residual stream, the boxes and their right edge."""
PILL = 84
SMALL = 10.5


class Branching(NamedTuple):
    """A branch with its boxes, the words of its norms, how many streams it joins, and boxes added to what it reads.

    `fork` leaves it below its boxes and above its norms, and joins a sum at the height `joins`.
    """

    of: Branch
    boxes: list[Box]
    norm: str
    lanes: int
    added: tuple[Box, ...] = ()
    fork: Branching | None = None
    joins: float = 0


def pill(g: Canvas, word: str, x: float = BOX) -> None:
    """A norm, here; on the stream it is drawn over it. As wide as its words, if they need more than the usual."""
    wide = max(PILL, 16 + len(word) * SMALL * LETTER)
    for cls in ("w", "n"):
        g.rect(x, g.y, wide, 15, cls, 7.5)
    g.text(x + wide / 2, g.y + 11.3, word, "m s", "middle", wide)
    g.y += 15


def on_stream(g: Canvas, word: str, n: int) -> None:
    """Norms on the stream itself."""
    for _ in range(n):
        pill(g, word, STREAM - 12)
        g.y += 7


def sign(g: Canvas, x: float, y: float, wide: float = 6.5) -> None:
    """A circle with a plus, centred here; wider over several streams."""
    g.out.append(f'<ellipse cx="{x:g}" cy="{y:.6g}" rx="{wide:g}" ry="6.5" class="p"/>')
    g.path("M", x - 3.5, y, "h7M", x, y - 3.5, "v7")


def plus(g: Canvas, lanes: int) -> tuple[float, float]:
    """The sum; returns its height and where a branch touches it."""
    y, r = g.y + 7, 6.5 + (lanes - 1) * 1.5
    sign(g, STREAM, y, r)
    g.arrow(STREAM + r + 1, y, "left")
    g.y += 16
    return y, STREAM + r + 4


def draw(g: Canvas, b: Branching) -> list[float]:
    """Draw a branch that ends in a sum of its own. Returns where a source enters."""
    on_stream(g, b.norm, len(b.of.behind))
    y, x = plus(g, b.lanes)
    g.path("M", x, y, "H", BOX + 6, "q4,0 4,4V", g.y)
    weights(g, b)
    entered = _body(g, b)
    g.path("M", BOX + 10, g.y, "v4q0,4 -4,4H", STREAM)
    g.y += 15
    on_stream(g, b.norm, len(b.of.ahead))
    return entered


def across(g: Canvas, b: Branching, joins: float) -> list[float]:
    """Draw a branch whose result rises at the right to a sum at `joins`, past the branches above it."""
    weights(g, b)
    top = g.y
    entered = _body(g, b)
    g.path("M", END, top + 20, "h4V", joins + 4, "q0,-4 -4,-4H", STREAM + 10.5 + (b.lanes - 1) * 1.5)
    g.path("M", BOX + 10, g.y, "v4q0,4 -4,4H", STREAM)
    g.y += 15
    return entered


def weights(g: Canvas, b: Branching) -> None:
    """The weights of the branch, above its boxes."""
    n = sum(box.weights for box in (*b.boxes, *b.added))
    said = f"{phrases.count(n)} weights{' together' * (len(b.boxes) > 1)}" if n else "no weights of its own"
    g.text(END - 2, g.y - 5, said, "m s", "end")


def _body(g: Canvas, b: Branching) -> list[float]:
    """Norms after, boxes, norms before, and what is not placed."""
    x = BOX + 10
    for _ in b.of.after:
        pill(g, b.norm)
        g.path("M", x, g.y, "v6")
        g.y += 6
    mids = _side_by_side(g, b) if len(b.boxes) > 1 else _alone(g, b)
    if b.of.spans and not b.of.before:
        g.path("M", x, g.y, "v16")
        g.text(x + 8, g.y + 11, "behind the norm of the network above", "m s")
        g.y += 16
    if b.fork is not None:
        _forked(g, b.fork, b.joins)
    for _ in () if b.of.own else b.of.before:
        g.path("M", x, g.y, "v6")
        g.y += 6
        pill(g, b.norm)
    if b.of.own and len(b.boxes) == 1:
        g.path("M", x, g.y, "v16")
        wide = next((t.shape[1] for t in b.boxes[0].part.tensors if t.name.endswith("q_proj.weight")), None)
        joined = "" if wide is None else f", joined {wide:,} wide"
        g.text(x + 8, g.y + 11, f"{b.norm} on each of {len(b.of.before)} inputs{joined}", "m s")
        g.y += 16
    if b.of.loose:
        n = len(b.of.loose)
        g.path("M", x, g.y, "v18")
        g.text(x + 8, g.y + 12, f"and {n} norm{'s' * (n > 1)}, whose place is not stated", "m s")
        g.y += 18
    if b.added:
        _added(g, b)
    return [y for y, box in zip(mids, b.boxes, strict=True) if box.is_cross]


def _forked(g: Canvas, b: Branching, joins: float) -> None:
    """Boxes that read what the riser brings, normed already, and whose result rises at the right to a sum above."""
    x, left, right, top = BOX + 10, BOX + 18, END - 18, g.y
    g.y += 18
    weights(g, b)
    for box in b.boxes:
        box.draw(g, left, g.y, right - left)
        mid = g.y + box.height / 2
        g.path("M", x, mid, "H", left - 5, "M", right, mid, "H", END)
        g.arrow(left, mid, "right")
        g.path("M", END, mid, "q4,0 4,-4V", joins + 4, "q0,-4 -4,-4H", STREAM + 10.5 + (b.lanes - 1) * 1.5)
        g.y += box.height
    g.path("M", x, top, "V", g.y)


def _added(g: Canvas, b: Branching) -> None:
    """Boxes in turn beside the riser, the last highest, and the sum on the riser that their result enters."""
    x, left, right = BOX + 10, BOX + 18, END - 18
    g.path("M", x, g.y, "v6")
    total = g.y + 13
    sign(g, x, total)
    g.arrow(x + 7.5, total, "left")
    g.y = total + 16
    g.path("M", x + 10.5, total, "H", left + 36, "q4,0 4,4V", g.y)
    for n, box in enumerate(reversed(b.added)):
        if n:
            g.path("M", left + 40, g.y, "v10")
            g.arrow(left + 40, g.y, "up")
            g.y += 10
        box.draw(g, left, g.y, right - left)
        g.y += box.height
    mid = g.y - b.added[0].height / 2
    g.path("M", x, total + 6.5, "V", g.y, "M", x, mid, "H", left - 5)
    g.arrow(left, mid, "right")


def _alone(g: Canvas, b: Branching) -> list[float]:
    mids: list[float] = []
    for box in b.boxes:
        box.draw(g, BOX, g.y, END - BOX)
        mids.append(g.y + box.height / 2)
        g.y += box.height
    return mids


def _side_by_side(g: Canvas, b: Branching) -> list[float]:
    """Boxes one over the other, one riser into each at the left and one that collects at the right."""
    top, left, right, mids, x = g.y, BOX + 18, END - 18, [], BOX + 10
    g.y += 8
    for n, box in enumerate(b.boxes):
        box.draw(g, left, g.y, right - left)
        mids.append(g.y + box.height / 2)
        g.y += box.height
        if b.of.own:
            g.y += 4
            pill(g, b.norm, left + 8)
            mids[-1] = g.y - 7.5
        g.y += 0 if n == len(b.boxes) - 1 else 6
    ends = [s for y in mids for s in _steps(END - 4, y, right)]
    starts = [s for y in mids for s in _steps(x, y, left + (8 if b.of.own else 0))]
    outs: list[Step] = ["M", x, top, "H", END - 8, "q4,0 4,4V", mids[-1]]
    if b.of.own:
        outs = ["M", x, top, "H", END - 8, "q4,0 4,4V", mids[-1] - 24]
        ends = [s for y in mids for s in _steps(END - 4, y - 24, right)]
    g.path(*outs, *ends, "M", x, g.y + 6, "V", mids[0], *starts)
    for y in mids:
        g.arrow(left + (8 if b.of.own else 0), y, "right")
    for y in mids[:-1]:
        sign(g, END - 4, y - (24 if b.of.own else 0))
    g.y += 6
    return mids


def _steps(x: float, y: float, to: float) -> tuple[Step, ...]:
    return ("M", x, y, "H", to)
