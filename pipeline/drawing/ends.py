"""What stands outside a stack: embedding and head, drafting layers above, towers beside."""

from __future__ import annotations

from atlas.derived import Derived
from atlas.numbers.structure import Model, Part, Tensor
from atlas.numbers.towers import Tower
from pipeline.drawing import branches, phrases
from pipeline.drawing.branches import LEFT, RIGHT, STREAM
from pipeline.drawing.canvas import Canvas, wrapped
from pipeline.drawing.stacks import runs_of_stack, stands
from schemas.vocabulary import Component, Role

TIED = 93
"""x of the line that ties the head to the embedding."""


def shape(g: Canvas, title: str, said: str, *, head: bool, right: float = RIGHT, left: float = LEFT) -> None:
    """A trapezoid, broad on the vocabulary's side."""
    a, b = (0, 12) if head else (12, 0)
    g.path("M", left + a, g.y, "H", right - a, "L", right - b, g.y + 26, "H", left + b, "z", cls="n")
    g.text(left + 22, g.y + 17.5, title, "t b")
    g.text(right - 20, g.y + 17.5, said, "m", "end", right - left - 90)


def output(model: Model) -> Tensor | None:
    """The matrix of the head: the widest one that multiplies, if there is a head."""
    found = [t for p in model.ends.parts if p.kind == "head" for t in p.tensors if len(t.shape) == 2]
    words = [t for t in found if t.component is Component.UNEMBEDDING] or found
    return max(words, key=lambda t: t.shape[0], default=None)


def head(g: Canvas, model: Model) -> float | None:
    """The head, if there is one. Returns where a tie to the embedding leaves it."""
    out = output(model)
    if out is None:
        return None
    tied, top = not out.stored, g.y + 13
    before = sum(len(t.shape) == 2 for p in model.ends.parts if p.kind == "head" for t in p.tensors) > 1
    title = "Head" if out.component is Component.UNEMBEDDING else "Classifier"
    extra, first = ", tied" * tied, "dense, then " * (before and out.component is Component.UNEMBEDDING)
    shape(g, title, f"{first}{out.shape[1]} → {out.shape[0]:,}{extra}", head=True)
    g.arrow(STREAM, g.y + 27, "up")
    g.y += 34
    return top if tied else None


def tie(g: Canvas, top: float, bottom: float) -> None:
    """The dashed line of a tied head."""
    g.path("M", LEFT + 4, top, "H", TIED, "V", bottom, "H", LEFT + 4, cls="l d")


def feed(g: Canvas, derived: Derived, name: str, norm: str, *, crosses: bool = False) -> float | None:
    """What feeds a stack: its embedding, with norm and positions, or a source; and the towers beside it.

    Returns the height of the towers where their tokens go into cross-attention (`crosses`) and not into the stream.
    """
    model = derived.model
    assert model is not None  # noqa: S101 - only models are drawn
    if stands(model, "embedding", name):
        branches.pill(g, norm, STREAM - 12)
        g.path("M", STREAM, g.y, "v6")
        g.y += 6
    parts, towers = model.ends.parts, tower_words(derived)
    convolved = [
        f"{t.shape[1]} → {t.shape[0]}" for p in parts if p.kind == "beside" for t in p.tensors if len(t.shape) == 3
    ]
    if name == "encoder" and convolved:
        shape(g, "Source", f"convolutions, {', '.join(convolved)}", head=False)
        g.y += 26
        return None
    shape(g, "Embedding", _embedding(parts, name), head=False)
    g.y += 26
    taps = [
        f"States of the larger model: {t.shape[1]:,} → {t.shape[0]}"
        for p in parts
        if p.kind == "draft.fc"
        for t in p.tensors
    ]
    mid = None
    for said in filter(None, (taps, towers)):
        mid = tower(g, said, joins=not crosses)
    return mid if crosses and towers else None


def _embedding(parts: tuple[Part, ...], name: str) -> str:
    tables = [t for p in parts if p.kind in ("embedding", "positions") for t in p.tensors if t.role is Role.LOOKUP]
    other = ".decoder" if name == "encoder" else ".encoder"
    own = [t for t in tables if other not in t.name]
    words = max((t for t in own or tables if t.stored), key=lambda t: t.shape[0], default=None)
    places = sum(t.shape[0] for t in own if "position" in t.name)
    said = f"{words.shape[0]:,} → {words.shape[1]}" if words else ""
    shared = ", the decoder's" if words and name == "encoder" and ".encoder" not in words.name else ""
    return said + shared + (f", {places:,} positions" if places else "")


def tower_words(derived: Derived) -> list[str]:
    """The towers in words: what each is and its weights, or that nobody knows what they hold."""
    f = derived.fingerprint
    if not f.has_towers:
        return []
    total = f"{phrases.count(f.params_towers)} weights apart" if f.params_towers else "weights not known"
    return [f"Towers: {total}", *(f"{t.name.replace('_', ' ')}: {_tower(t)}" for t in derived.towers)]


def _tower(t: Tower) -> str:
    """Layers of the deepest run, and weights."""
    deepest = max((r.repeats * len(r.layers) for r in t.runs), default=0)
    depth = f"{deepest} layers, " if deepest > 1 else ""
    return f"{depth}{phrases.count(t.elements)} weights"


def tower(g: Canvas, said: list[str], *, joins: bool = True) -> float:
    """A dashed box below the embedding; where it `joins`, its tokens enter the stream. Returns its middle."""
    lines = [part for each in said for part in wrapped(each, RIGHT - LEFT - 40)][:7]
    high = 10 + 14 * len(lines)
    if joins:
        g.path("M", STREAM, g.y + 10, "V", g.y, cls="l d")
    g.y += 10
    g.rect(LEFT, g.y, RIGHT - LEFT, high, "g d", 8)
    for n, line in enumerate(lines):
        g.text(LEFT + 22, g.y + 16 + 14 * n, line, "t b" if n == 0 else "m")
    g.y += high
    return g.y - high / 2


def draft(g: Canvas, derived: Derived) -> None:
    """Drafting layers, apart from the total: how many, what each holds."""
    model, f = derived.model, derived.fingerprint
    runs = runs_of_stack(model, "mtp") if model else []
    n = sum(r.repeats for r in runs) or f.n_mtp_layers or 0
    if not n:
        return
    held = [phrases.kind_name(p.kind) for r in runs[:1] for x in r.layers for p in x.parts if "norm" not in p.kind]
    said = ", ".join(dict.fromkeys(_DRAFTED.get(h, h) for h in held)) or "what it holds is not known"
    weights = f"{phrases.count(f.params_mtp)} weights apart" if f.params_mtp else "weights not known"
    lines = wrapped(said, RIGHT - LEFT - 40)
    high = 24 + 14 * len(lines)
    g.rect(LEFT, g.y, RIGHT - LEFT, high, "g d", 8)
    g.text(LEFT + 22, g.y + 16, f"Draft × {n}", "t b")
    g.text(RIGHT - 20, g.y + 16, weights, "m s", "end")
    for i, line in enumerate(lines):
        g.text(LEFT + 22, g.y + 30 + 14 * i, line, "m")
    g.path("M", STREAM, g.y + high + 12, "v-12", cls="l d")
    g.y += high + 8


_DRAFTED = {
    "fusing": "one projection of token and hidden state", "mla": "latent attention", "dsa": "sparse latent attention",
    "gqa": "attention", "moe": "experts", "dense": "feed-forward", "connection": "hyper-connections",
    "swa": "sliding-window attention",
    "csa": "compressed sparse attention", "hca": "heavily compressed attention",
}  # fmt: skip
