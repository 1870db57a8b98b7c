"""The drawing of a whole model: heading, head, stacks, what feeds them, and what a sequence keeps.

Flow is upwards, tokens at the foot. The same structure and name give the same bytes.
"""

from __future__ import annotations

from atlas.derived import Derived
from atlas.numbers.entries import State
from atlas.numbers.structure import Model
from pipeline.drawing import ends, formula, phrases, strip
from pipeline.drawing.canvas import LETTER, Canvas, clean, wrapped
from pipeline.drawing.colours import style
from pipeline.drawing.phrases import size, width
from pipeline.drawing.stacks import Stack, runs_of_stack, source_beside, sources

WIDE = 448
BOLD = 0.7
"""Mean width of a letter of a name in bold as a share of the font's size, capitals and digits among them."""
CONTEXTS = (8192, 32768, 131072)
MOST_LAYERS = 60
"""Distinct layers beyond which a drawing says no more than its formula."""


def draw(derived: Derived, name: str) -> str | None:
    """The SVG of one derived model; nothing where there is no structure to draw."""
    model = derived.model
    if model is None or not derived.fingerprint.d_model:
        return None
    g, names = Canvas(), [s for s in ("decoder", "encoder") if runs_of_stack(model, s)]
    stacks: list[Stack] = []
    for s in names:
        wide = width_of(derived, s)
        stacks.append(Stack(model, s, wide, sum(len(other.letters) for other in stacks)))
    if not stacks or any(len(s.letters) > MOST_LAYERS or not all(x.flow for x in s.letters) for s in stacks):
        return None
    _heading(g, derived, name, stacks)
    ends.draft(g, derived)
    _body(g, derived, stacks)
    _caption(g, derived)
    said = clean(described(derived, name))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="atlas-drawing" viewBox="0 0 {WIDE} {g.y:.0f}" role="img">'
        f"<title>{clean(name)}: architecture</title><desc>{said}</desc>{style()}{''.join(g.out)}</svg>\n"
    )


def _heading(g: Canvas, derived: Derived, name: str, stacks: list[Stack]) -> None:
    """Owner, name, size, and each stack as a formula whose letters have their colours."""
    f, (owner, _, short) = derived.fingerprint, name.rpartition("/")
    points = max(11.0, min(19.0, 420 / (BOLD * max(1, len(short)))))
    g.text(14, 18, owner, "m", room=WIDE - 148)
    g.text(WIDE - 14, 18, f"context {f.max_context:,}" if f.max_context else "no context stated", "m s", "end")
    shown = clean(short, 420 * LETTER / BOLD, points)
    g.out.append(f'<text x="14" y="37" class="t b" style="font-size:{points:.3g}px">{shown}</text>')
    total, active = f.params_total or 0, f.params_active or 0
    said = f"{phrases.count(total)} parameters"
    said += f" + {phrases.count(f.params_towers)} in towers" if f.params_towers else ""
    if active < total * 0.98:
        said += f", {phrases.count(active)} active" + " on average" * _varies(derived)
    drafts = derived.model is not None and ends.is_draft(derived.model)
    g.text(14, 55, said + ", a draft for a larger model" * drafts, "m")
    g.y = 71
    for s in stacks:
        formula.write(g, s.runs, s.letters, f"{s.name.capitalize()}: " if len(stacks) > 1 else "")


def _varies(derived: Derived) -> bool:
    """Whether tokens use different numbers of weights: some choices of a router have none behind them."""
    layers = derived.model.counted() if derived.model else ()
    return any(t.choices for x in layers for p in x.parts for t in p.tensors)


def _body(g: Canvas, derived: Derived, stacks: list[Stack]) -> None:
    assert derived.model is not None  # noqa: S101 - only models are drawn
    g.y += 4
    tied, entered = ends.head(g, derived.model), []
    for n, s in enumerate(stacks):
        if n:
            sources(g, entered, g.y + 14)
            g.y += 14
        if len(stacks) > 1:
            g.text(14, g.y + 12, s.name.capitalize(), "t b k")
        entered = s.draw(g)
        source = ends.feed(
            g, derived, s.name if len(stacks) > 1 else "", s.norm, crosses=bool(entered) and s.name == "decoder"
        )
        if source is not None and len(stacks) == 1:
            source_beside(g, entered, source)
        if n == 0 and tied is not None:
            ends.tie(g, tied, g.y - 13 - _below(derived, s.name if len(stacks) > 1 else ""))
        g.y += 10


def _below(derived: Derived, name: str) -> float:
    """How far the embedding is above the foot where other tables and towers stand below it."""
    canvas, words = Canvas(), ends.tower_words(derived)
    if words:
        ends.tower(canvas, words, None)
    return canvas.y + 32 * len(ends.beside(derived, name))


def _states(model: Model) -> list[State]:
    runs = runs_of_stack(model, "decoder")
    return [s for r in runs for x in r.layers * r.repeats for p in x.parts for s in p.states] if model.has_cache else []


def kept_words(model: Model) -> str:
    """What a sequence keeps: its growth, its windows, fixed states, and what a source leaves."""
    own = _states(model)
    sized = [(s, s.elements * width(s)) for s in own]
    sums = {
        "per token": sum(b / s.stride for s, b in sized if s.kind != "cross" and s.stride and not s.window),
        "in windows": sum(b * s.window / s.stride for s, b in sized if s.kind != "cross" and s.stride and s.window),
        "fixed": sum(b for s, b in sized if not s.stride),
        "per source position": sum(b for s, b in sized if s.kind == "cross"),
    }
    if not model.has_cache:
        decodes = any(r.stack == "decoder" for r in model.runs)
        return f"No KV cache ({'attention is bidirectional' if decodes else 'encoder'})"
    return "Keeps " + (" + ".join(f"{size(n)} {what}" for what, n in sums.items() if n) or "nothing between tokens")


def _caption(g: Canvas, derived: Derived) -> None:
    model = derived.model
    assert model is not None  # noqa: S101 - only models are drawn
    g.y += 12
    for line in wrapped(kept_words(model), WIDE - 28):
        g.text(14, g.y, line, "t b")
        g.y += 16
    own, most = _states(model), derived.fingerprint.max_context or CONTEXTS[-1]
    shown = [c for c in CONTEXTS if c <= most] or [most]
    for n, c in enumerate(shown if own else []):
        g.text(14 + n * 144, g.y, f"at {c >> 10}K" if c >= 1024 else f"at {c}", "m")
        g.text(68 + n * 144, g.y, size(sum(s.bytes_at(c) for s in own)))
    if any(s.kind == "cross" for s in own):
        g.y += 14
        g.text(14, g.y, "and on top what the source leaves, by its positions", "m s")
    g.y += 12 if own else -2
    runs = [r for r in model.runs if r.stack in ("decoder", "encoder")]
    for line in wrapped(strip.key(runs), WIDE - 28, 10.5):
        g.y += 14
        g.text(14, g.y - 8, line, "m s", room=WIDE)


def width_of(derived: Derived, stack: str) -> int:
    """The width of a stack: the model's; of an encoder beside a decoder that of the first norm in its layers."""
    d, model = derived.fingerprint.d_model or 0, derived.model
    if model is None or stack != "encoder" or not runs_of_stack(model, "decoder"):
        return d
    norms = (p.tensors for r in runs_of_stack(model, stack) for x in r.layers for p in x.parts if p.kind == "norm")
    return next((made[0].shape[0] for made in norms if made), d)


def described(derived: Derived, name: str) -> str:
    """The drawing in words: the text alternative."""
    model = derived.model
    assert model is not None  # noqa: S101 - only models are drawn
    said = [name, f"{phrases.count(derived.fingerprint.params_total or 0)} parameters"]
    before = 0
    for stack in ("decoder", "encoder"):
        runs = runs_of_stack(model, stack)
        if runs:
            letters, d = formula.letters_of(runs, before), width_of(derived, stack)
            before += len(letters)
            said.append(
                f"{stack} of {sum(r.repeats * len(r.layers) for r in runs)} layers: {formula.formula(runs, letters)}"
            )
            for x, letter in letters.items():
                said.append(
                    f"{letter}: "
                    + "; ".join(
                        phrases.spoken(p, d) for b in x.flow for p in map(x.parts.__getitem__, (*b.added, *b.parts))
                    )
                )
    return ". ".join([*said, *ends.tower_words(derived), kept_words(model)]).replace("\xa0", " ")
