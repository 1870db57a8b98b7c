"""A stack: its final norm, a frame for each distinct layer, the strip beside them."""

from __future__ import annotations

from atlas.numbers.structure import Branch, Layer, Model, Run, Standing
from pipeline.drawing import branches, colours, phrases
from pipeline.drawing.boxes import ASIDE, Box, Seen
from pipeline.drawing.branches import BOX, END, LEFT, RIGHT, STREAM, Branching
from pipeline.drawing.canvas import Canvas, wrapped
from pipeline.drawing.formula import letters_of, places
from pipeline.drawing.strip import flat, strip

CROSS = 440
"""x of the line from a source to every cross-attention."""


def runs_of_stack(model: Model, stack: str) -> list[Run]:
    """The runs of one stack."""
    return [r for r in model.runs if r.stack == stack]


def stands(model: Model, place: str, stack: str) -> bool:
    """Whether a norm of the ends stands at this place of this stack."""
    found = [p.info for p in model.ends.parts if isinstance(p.info, Standing) and p.info.place == place]
    return any(i.stack in ("", stack) for i in found)


def lanes_of(model: Model, runs: list[Run], d: int) -> int:
    """How many residual streams run side by side: more than one with hyper-connections or alternating updates."""
    made = [p.tensors[0].stored + 1 for p in model.ends.parts if p.kind == "altup.streams"]
    found = (
        iter(made)
        if made
        else (
            p.tensors[0].shape[1] // d for r in runs for x in r.layers for p in x.parts if p.kind == "hyper.connection"
        )
    )
    return next(found, 1)


def lines(g: Canvas, top: float, bottom: float, lanes: int) -> None:
    """The residual stream between two heights."""
    for k in range(lanes):
        g.path("M", STREAM + (k - (lanes - 1) / 2) * 3, bottom, "V", top)


class Stack:
    """One stack of a model on its way to the page."""

    def __init__(self, model: Model, name: str, d: int, before: int = 0) -> None:
        self.runs, self.name, self.d = runs_of_stack(model, name), name, d
        self.letters, self.flat = letters_of(self.runs, before), flat(self.runs)
        self.lanes = lanes_of(model, self.runs, d)
        self.norm = phrases.NORMS.get(model.norm_class, model.norm_class.replace("_", " "))
        self.final = stands(model, "final", name)

    def draw(self, g: Canvas) -> list[float]:
        """Draw it down to what feeds it. Returns where a source enters it."""
        lines(g, g.y, g.y + 28, 1)
        if self.final:
            branches.pill(g, self.norm, STREAM - 12)
            g.y -= 15
        g.y += 24
        top, entered = g.y, self._frames(g)
        strip(g, self.runs, top, g.y - 10)
        lines(g, g.y, g.y + 18, self.lanes)
        g.text(STREAM + 16, g.y + 5, f"{self.lanes} streams × {self.d}" if self.lanes > 1 else str(self.d), "m s")
        g.y += 18
        return entered

    def _frames(self, g: Canvas) -> list[float]:
        seen: Seen = {}
        made = [(x, [self._branching(x, b, seen) for b in x.flow]) for x in self.letters]
        return [y for x, found in reversed(made) for y in self._frame(g, x, found)]

    def _branching(self, x: Layer, b: Branch, seen: Seen) -> Branching:
        less = ASIDE if len(b.parts) > 1 or b.spans else 0
        boxes = [Box(x.parts[n], self.d, seen, self.letters[x], less, weighed=len(b.parts) > 1) for n in b.parts]
        added = tuple(Box(x.parts[n], self.d, seen, self.letters[x], ASIDE) for n in b.added)
        return Branching(b, boxes, self.norm, self.lanes, added)

    def _frame(self, g: Canvas, x: Layer, found: list[Branching]) -> list[float]:
        """The frame of one layer; the stream is drawn under it when its height is known."""
        top, place = g.y, len(g.out)
        self._chip(g, x)
        entered = self._inside(g, found)
        self._beside(g, x)
        g.rect(LEFT, top, RIGHT - LEFT, g.y - top, "g", 8)
        g.y += 10
        over, g.out[place:] = g.out[place:], []
        lines(g, top, g.y, self.lanes)
        g.out += over
        return entered

    def _chip(self, g: Canvas, x: Layer) -> None:
        letter = self.letters[x]
        with g.group(colours.of_layer(x)):
            g.rect(BOX, g.y + 7, 18 if len(letter) == 1 else 26, 17, "f", 4)
            g.text(BOX + (9 if len(letter) == 1 else 13), g.y + 19.5, letter, "w b", "middle")
            g.text(BOX + (25 if len(letter) == 1 else 33), g.y + 19.5, f"× {self.flat.count(x)}", "t b k")
        if len(self.letters) > 1:
            at = [n for n, other in enumerate(self.flat) if other is x]
            said = wrapped(f"layer{'s' * (len(at) > 1)} {places(at)}", 225, 10.5)
            for n, line in enumerate(said):
                g.text(END - 2, g.y + 19.5 + 12 * n, line, "m s", "end")
            g.y += 12 * (len(said) - 1)
        g.y += 30

    def _inside(self, g: Canvas, found: list[Branching]) -> list[float]:
        entered: list[float] = []
        joins: dict[int, float] = {}
        for n, b in enumerate(found):
            if b.of.spans and n + b.of.spans == len(found) - 1:
                joins[n] = branches.plus(g, self.lanes)[0]
        for n in range(len(found) - 1, -1, -1):
            b = found[n]
            if n - 1 in joins and _is_fork(found[n - 1], b):
                b = b._replace(fork=found[n - 1], joins=joins.pop(n - 1))
                entered += branches.draw(g, b)
            elif n in joins:
                entered += branches.across(g, b, joins[n])
            elif not (n + 1 < len(found) and _is_fork(b, found[n + 1])):
                entered += branches.draw(g, b)
        return entered

    def _beside(self, g: Canvas, x: Layer) -> None:
        """What stands in the layer and in no branch, in words."""
        drawn = {n for b in x.flow for n in (*b.parts, *b.added, *b.ahead, *b.before, *b.after, *b.behind, *b.loose)}
        rest = [p for n, p in enumerate(x.parts) if n not in drawn]
        said = list(dict.fromkeys(filter(None, map(phrases.beside, rest))))
        if said:
            n = sum(t.elements * t.stored for p in rest for t in p.tensors)
            for line in wrapped(f"with {', '.join(said)}: {phrases.count(n)} weight{'s' * (n != 1)}", END - BOX, 10.5):
                g.text(BOX, g.y + 3, line, "m s")
                g.y += 12
            g.y -= 2


def _is_fork(b: Branching, above: Branching) -> bool:
    """Whether a branch across others leaves the one above it behind the norm that both read."""
    return b.of.spans > 0 and bool(b.of.before) and b.of.before == above.of.before


def source_beside(g: Canvas, entered: list[float], y: float) -> None:
    """The line from a tower below, at this height, into every cross-attention above."""
    into = [s for each in entered for s in ("M", CROSS, each, "H", branches.END)]
    g.path("M", RIGHT, y, "H", CROSS - 4, "q4,0 4,-4V", min(entered), *into)
    for each in entered:
        g.arrow(branches.END, each, "left")


def sources(g: Canvas, entered: list[float], bottom: float) -> None:
    """The line from a source below into every cross-attention above."""
    if entered:
        into = [s for y in entered for s in ("M", CROSS, y, "H", branches.END)]
        g.path("M", STREAM, bottom, "v-8q0,-4 4,-4H", CROSS - 4, "q4,0 4,-4V", min(entered), *into)
        for y in entered:
            g.arrow(branches.END, y, "left")
