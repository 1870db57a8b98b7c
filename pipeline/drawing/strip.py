"""The stack at true scale: a bar per layer, the first lowest, coloured by its mixer and as long as what it keeps."""

from __future__ import annotations

from itertools import accumulate

from atlas.numbers.structure import Feeding, Layer, Mixing, Part, Run
from pipeline.drawing import colours
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.phrases import width

CELL, BARS, LENGTH = 39, 47, 40
"""x of the two columns, and the length of the longest bar."""


def flat(runs: list[Run]) -> list[Layer]:
    """Every layer in order."""
    return [x for r in runs for x in r.layers * r.repeats]


def leaves(p: Part) -> tuple[float, float]:
    """Bytes that one token leaves for good, and those that a window ends."""
    own = [(s.window, s.elements * width(s) / s.stride) for s in p.states if s.kind in ("kv", "index") and s.stride]
    return sum(b for w, b in own if not w), sum(b for w, b in own if w)


def strip(g: Canvas, runs: list[Run], top: float, bottom: float) -> None:
    """Draw the strip between these heights."""
    layers = flat(runs)
    h = min(24.0, (bottom - top) / len(layers))
    most = max((sum(leaves(p)) for x in dict.fromkeys(layers) for p in x.parts), default=0) or 1
    for n, x in enumerate(layers):
        _bar(g, x, bottom - (n + 1) * h, h * (0.84 if h > 4 else 0.7), most)
    _borrowed(g, layers, bottom, h)
    _indices(g, runs, bottom, h)


def _bar(g: Canvas, x: Layer, y: float, t: float, most: float) -> None:
    feeds = [p.info for p in x.parts if isinstance(p.info, Feeding)]
    if feeds:
        g.rect(CELL, y, 5, t, "m" if any(i.n_routed for i in feeds) else "e")
    mixers = [p for p in x.parts if isinstance(p.info, Mixing)]
    for k, p in enumerate(mixers):
        with g.group(colours.of_part(p)):
            _lengths(g, p, y + k * t / len(mixers), t / len(mixers), most)


def _lengths(g: Canvas, p: Part, y: float, t: float, most: float) -> None:
    grows, stops = leaves(p)
    if not grows + stops:
        g.rect(BARS, y, 6, t, "f" if p.states else "g")
        return
    for start, long, cls in ((0, grows, "f"), (grows, stops, "e")):
        if long:
            g.rect(BARS + LENGTH * start / most, y, LENGTH * long / most, t, cls)


def _borrowed(g: Canvas, layers: list[Layer], bottom: float, h: float) -> None:
    """From each layer whose cache others read, a line beside the bars of those that read it, its arrow at the layer."""
    readers: dict[int, list[tuple[int, str]]] = {}
    for n, x in enumerate(layers):
        for p in x.parts:
            if isinstance(p.info, Mixing) and p.info.shared_from is not None:
                readers.setdefault(p.info.shared_from, []).append((n, colours.of_part(p)))
    for k, (source, found) in enumerate(sorted(readers.items())):
        x = BARS + 14 + 10 * (k % 3)
        with g.group(found[0][1]):
            heights = [bottom - (n + 0.58) * h for n, _ in found]
            ticks = [s for y in heights for s in ("M", BARS + 8, y, "H", x)]
            g.path("M", x, heights[-1], "V", bottom - (source + 1) * h - 5, *ticks)
            g.arrow(x, bottom - (source + 1) * h, "down")


def _indices(g: Canvas, runs: list[Run], bottom: float, h: float) -> None:
    """Numbers of the first and the last layer, and of the starts of runs where there is room."""
    starts = list(accumulate((r.repeats * len(r.layers) for r in runs), initial=0))
    last = starts.pop() - 1
    said: list[float] = []
    for mark in dict.fromkeys([0, last, *starts]):
        y = bottom - (mark + 0.5) * h + 4
        if all(abs(y - other) >= 10 for other in said):
            g.text(CELL - 5, y, str(mark), "m s", "end")
            said.append(y)


def key(runs: list[Run]) -> str:
    """What the bars say, in words; nothing where every layer is alike."""
    layers = list(dict.fromkeys(flat(runs)))
    if len(layers) < 2:
        return ""
    left = [leaves(p) for x in layers for p in x.parts]
    fed = [[bool(p.info.n_routed) for p in x.parts if isinstance(p.info, Feeding)] for x in layers]
    kinds = {any(networks) for networks in fed if networks}
    said = ["bars as long as what a token leaves in a layer"] * any(map(any, left))
    said += ["pale where a window ends it"] * any(stops for _, stops in left)
    said += ["cells at their left dark for experts, pale for a dense network"] * (len(kinds) > 1)
    return f"Strip: {', '.join(said)}" if said else ""
