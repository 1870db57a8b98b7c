"""A part as a box: in full where it is met first, slim with what differs where its like was drawn before."""

from __future__ import annotations

from atlas.numbers.structure import Feeding, Mixing, Part
from pipeline.drawing import colours, marks, phrases
from pipeline.drawing.canvas import LETTER, Canvas, wrapped

LINE = 14
ROOM, SLIM, ASIDE = 242, 270, 36
"""Room for lines in a full and in a slim box, and how much less in one of several side by side."""
Seen = dict[object, tuple[str, Part]]
"""Parts drawn so far, by what they are: the letter of their layer, and the part."""


class Box:
    """A part to be drawn, and how tall it is."""

    def __init__(self, p: Part, d: int, seen: Seen, letter: str, less: float = 0, *, weighed: bool = False) -> None:
        self.part, self.title = p, phrases.title(p)
        self.ref, twin = seen.setdefault((p.kind, p.info, p.states), (letter, p))
        self.slim = twin is not p or self.ref != letter
        said = _differs(p, twin, self.ref) if self.slim else phrases.figures(p, d)
        self.lines = wrapped(said, (SLIM if self.slim else ROOM) - less)
        self.kept = [] if self.slim else wrapped(phrases.keeps(p), ROOM - less)
        self.weights = sum(t.elements * t.stored for t in p.tensors)
        self.kept += [f"{phrases.count(self.weights)} weights"] * (weighed and not self.slim)
        rows = LINE * (len(self.lines) + len(self.kept))
        self.height = 22 + rows if self.slim else max(40, 26 + rows + marks.glyph(Canvas(), p, 0, 0, marks.GLYPH))

    @property
    def is_cross(self) -> bool:
        """Whether it looks at a source."""
        return colours.of_part(self.part) == "cross"

    def draw(self, g: Canvas, x: float, y: float, w: float) -> None:
        """Draw it here, this wide."""
        with g.group(colours.of_part(self.part)):
            g.rect(x, y, w, self.height, "o", 5)
            if self.slim:
                g.text(x + w - 8, y + 15, self.same(w), "m s", "end")
                self._write(g, x + 8, y + 15, w, "t", "m")
            else:
                marks.icon(g, self.part, x + 7, y + 7)
                self._write(g, x + 41, y + 18, w, "t b k", "t")

    def same(self, wide: float) -> str:
        """What a slim box says at its right, in fewer words where the title leaves less room."""
        if not phrases.is_shared(self.part):
            return f"as in {self.ref}"
        said = f"the same weights as in {self.ref}"
        room = wide - 24 - len(self.title) * 11.5 * LETTER
        return said if len(said) * 10.5 * LETTER <= room else f"weights of {self.ref}"

    def _write(self, g: Canvas, x: float, y: float, w: float, heading: str, body: str) -> None:
        g.text(x, y, self.title, heading)
        for n, line in enumerate(self.lines):
            g.text(x, y + LINE * (n + 1), line, body)
        y += LINE * len(self.lines)
        if not self.slim:
            y += marks.glyph(g, self.part, x, y + 6, min(marks.GLYPH, w - 49))
        for n, line in enumerate(self.kept):
            g.text(x, y + LINE * (n + 1), line, "m")


def _differs(p: Part, twin: Part, ref: str) -> str:
    """What tensors one has and the other, drawn as `ref`, has not."""
    mine, theirs = ({_short(t.name) for t in q.tensors} for q in (p, twin))
    lacks = [LACKS.get(n, f"without {n}").format(ref) for n in sorted(theirs - mine)]
    said = [*lacks, *(f"with {n}" for n in sorted(mine - theirs))]
    if not said and isinstance(p.info, Mixing | Feeding) and phrases.is_shared(p) is phrases.is_shared(twin):
        return _sizes(p, twin)
    return ", ".join(said)


def _sizes(p: Part, twin: Part) -> str:
    """Tensors of one name and another shape."""
    shapes = {t.name: t.shape for t in twin.tensors}
    other = [t for t in p.tensors if t.shape != shapes.get(t.name)]
    return ", ".join(f"{_short(t.name)} {' × '.join(map(str, t.shape))}" for t in other[:3])


def _short(name: str) -> str:
    """The end of a tensor's name, in words where it is known; two of them where one says too little."""
    words = name.removesuffix(".weight").split(".")
    known = [said for word in words if (said := WORDS.get(word))]
    return known[0] if known else ".".join(words[-2:] if words[-1] in _BARE else words[-1:])


WORDS = {
    "e_score_correction_bias": "a correction of scores",
    "tid2eid": "a table from tokens to experts",
    "relative_attention_bias": "relative positions of its own",
    "indexer": "an indexer of its own",
    "v_router": "a router of values",
    "v_experts": "experts of values",
    "v_proj": "one projection of values",
    "router_states_scale": "a scale of the router before",
}
LACKS = {
    "a table from tokens to experts": "chosen by their scores",
    "relative positions of its own": "relative positions of {}",
}
"""What a part without it does instead."""
_BARE = frozenset({"query", "bias", "linear", "norm"})
