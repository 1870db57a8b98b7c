"""What stands outside a stack: embedding and head, drafting layers above, towers beside."""

from __future__ import annotations

from atlas.derived import Derived
from atlas.numbers.structure import Mixing, Model, Tensor
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


def absent(g: Canvas, said: str) -> None:
    """A dashed box for what a model of this class does not hold."""
    g.rect(LEFT, g.y, RIGHT - LEFT, 26, "g d", 8)
    g.text(LEFT + 22, g.y + 17.5, said, "m")


def is_draft(model: Model) -> bool:
    """Whether it proposes tokens to a larger model, which it needs."""
    return any(p.kind.startswith("draft.") for p in model.ends.parts)


def output(model: Model) -> Tensor | None:
    """The matrix of the head: the widest one that multiplies, if there is a head."""
    found = [t for p in model.ends.parts if p.kind == "head" for t in p.tensors if len(t.shape) == 2]
    words = [t for t in found if t.component is Component.UNEMBEDDING] or found
    return max(words, key=lambda t: t.shape[0], default=None)


def head(g: Canvas, model: Model) -> float | None:
    """The head, if there is one. Returns where a tie to the embedding leaves it."""
    out = output(model)
    if out is None:
        pooled = any(p.kind == "pooler" for p in model.ends.parts)
        given = "No head: hidden states, and a pooled one" if pooled else "No head: this class gives hidden states"
        made = made_of_states(model)
        if made:
            tower(g, made, None)
            g.y += 6
            g.arrow(STREAM, g.y + 1, "up")
            g.y += 8
            return None
        absent(g, "No head of its own: the larger model's" if is_draft(model) else given)
        g.arrow(STREAM, g.y + 27, "up")
        g.y += 34
        return None
    tied, top = not out.stored, g.y + 13
    before = sum(len(t.shape) == 2 for p in model.ends.parts if p.kind == "head" for t in p.tensors) > 1
    title = "Head" if out.component is Component.UNEMBEDDING else "Classifier"
    extra, first = ", tied" * tied, "dense, then " * (before and out.component is Component.UNEMBEDDING)
    shape(g, title, f"{first}{out.shape[1]} → {out.shape[0]:,}{extra}", head=True)
    g.arrow(STREAM, g.y + 27, "up")
    g.y += 34
    return top if tied else None


def made_of_states(model: Model) -> list[str]:
    """What the model makes of its hidden states, where that is no head: modules and their weights, in words."""
    held: dict[str, int] = {}
    for p in model.ends.parts:
        kind, _, name = p.kind.partition(".")
        if kind == "beside" and name:
            held[name] = held.get(name, 0) + sum(t.stored * t.elements for t in p.tensors)
    said = [f"{name.replace('_', ' ')}: {phrases.count(n)} weights" for name, n in held.items()]
    return [f"Behind the stack: {phrases.count(sum(held.values()))} weights", *said] if said else []


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
    taps = [t for p in parts if p.kind == "draft.fc" for t in p.tensors if len(t.shape) == 2]
    apart = bool(taps) and takes_both(model)
    if apart:
        shape(g, "States of the larger model", f"{taps[0].shape[1]:,} → {taps[0].shape[0]}", head=False)
        g.y += 32
    words = _embedding(model, name)
    if words:
        shape(g, "Embedding", words + ", beside the states" * apart, head=False)
    else:
        absent(g, "No embedding of its own" + ": the larger model's" * is_draft(model))
    g.y += 26
    bottom = g.y
    for title, words in beside(derived, name):
        g.y += 6
        shape(g, title, words, head=False, left=LEFT + 24)
        g.y += 26
    first = "Token and state" if any(p.kind == "embedding" for p in parts) else "States"
    tapped = [f"{first} of the larger model: {t.shape[1]:,} → {t.shape[0]}" for t in taps if not apart]
    mid = None
    for said in filter(None, (tapped, towers)):
        mid = tower(g, said, None if crosses else bottom)
    return mid if crosses and towers else None


def takes_both(model: Model) -> bool:
    """Whether a draft's layers read the token beside the stream, which starts at the larger model's states."""
    return any(b.own and len(b.parts) == 1 for r in model.runs for x in r.layers for b in x.flow)


def per_layer(model: Model) -> list[str]:
    """Tables that give every layer a vector of its own per token: layers and width of each, and weights."""
    tables = [t for p in model.ends.parts if p.kind == "embedding.tables" for t in p.tensors if t.role is Role.LOOKUP]
    n = model.n_layers
    return [
        f"{n} × {t.shape[1] // n}: {phrases.count(t.elements * t.stored)}"
        for t in tables
        if len(t.shape) == 2 and t.shape[1] % n == 0
    ]


def _tables(model: Model, name: str) -> list[Tensor]:
    """Tables of one stack's tokens and positions, of both where they are not told apart.

    An encoder without a table of its own looks its tokens up in the decoder's.
    """
    parts = [p for p in model.ends.parts if p.kind in ("embedding", "positions")]
    tables = [t for p in parts for t in p.tensors if t.role is Role.LOOKUP]
    if not name:
        return tables
    other = "decoder" if name == "encoder" else "encoder"
    left = [t for t in tables if other not in t.name]
    own = [t for t in left if name in t.name and "position" not in t.name]
    return [t for t in left if t in own or not own or "position" in t.name] or tables * (name == "encoder")


def _embedding(model: Model, name: str) -> str:
    tables = [t for t in _tables(model, name) if t.stored]
    words = max(tables, key=lambda t: t.shape[0], default=None)
    said = f"{words.shape[0]:,} → {words.shape[1]}" if words else ""
    return said + (", the decoder's" if words and name == "encoder" and "encoder" not in words.name else "")


def beside(derived: Derived, name: str) -> list[tuple[str, str]]:
    """Tables beside a stack's embedding, title and figures: positions, and vectors per layer."""
    model = derived.model
    assert model is not None  # noqa: S101 - only models are drawn
    own = [t for t in _tables(model, name) if "position" in t.name]
    return [
        *(("Positions", _places(t, derived, name)) for t in own),
        *(("Embeddings per layer", each) for each in per_layer(model)),
    ]


def _places(t: Tensor, derived: Derived, name: str) -> str:
    """Rows of a table of positions, those before the first beside them; its width; of what kind it is."""
    model, rows, most = derived.model, t.shape[0], derived.fingerprint.max_context
    infos = [p.info for r in model.runs if name in ("", r.stack) for x in r.layers for p in x.parts] if model else []
    kind = next((f", {i.position}" for i in infos if isinstance(i, Mixing) and i.position in TABLED), "")
    more = f"{most:,} + {rows - most}" if most and 0 < rows - most < SPARE else f"{rows:,}"
    return f"{more} → {t.shape[1]}{kind}"


TABLED = ("learned", "sinusoidal")
"""Positions that a table beside the embedding holds, by the structure's word; else it is only a table of positions."""
SPARE = 8
"""Rows of a table of positions that may stand before the first."""


def tower_words(derived: Derived) -> list[str]:
    """The towers in words: what each is and its weights, or that nobody knows what they hold."""
    f = derived.fingerprint
    if not f.has_towers:
        return []
    total = f"{phrases.count(f.params_towers)} weights apart" if f.params_towers else "weights not known"
    said = [f"{TOWERS.get(t.name, t.name.replace('_', ' '))}: {_tower(t)}" for t in derived.towers]
    return [f"Towers: {total}", *said]


TOWERS = {
    "multi_modal_projector": "projector", "aligner": "projector", "embed_vision": "embedder of images",
    "embed_audio": "embedder of audio", "resampler_model": "resampler", "token2wav": "from tokens to sound",
}  # fmt: skip
"""What raw names of towers mean."""


def _tower(t: Tower) -> str:
    """Layers of the deepest run, and weights."""
    deepest = max((r.repeats * len(r.layers) for r in t.runs), default=0)
    depth = f"{deepest} layers, " if deepest > 1 else ""
    return f"{depth}{phrases.count(t.elements)} weights"


def tower(g: Canvas, said: list[str], joins: float | None) -> float:
    """A dashed box below the embedding; its tokens enter the stream at `joins`, if there. Returns its middle."""
    lines = [part for each in said for part in wrapped(each, RIGHT - LEFT - 40)][:7]
    high = 10 + 14 * len(lines)
    if joins is not None:
        g.path("M", STREAM, g.y + 10, "V", joins, cls="l d")
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
