"""The signs of the drawings, each drawn by the code that draws it in a model, and what it says."""

from __future__ import annotations

from collections.abc import Iterator

from atlas.numbers.entries import State
from atlas.numbers.structure import Feeding, Mixing, Part, Run, Tensor, layer, part
from pipeline.drawing import branches, colours, ends, marks, strip
from pipeline.drawing.canvas import Canvas
from schemas.vocabulary import AttentionKind, Component, Ffn, Mask, Mixer


def _attention(mixer: Mixer, heads: int = 8, kv: int = 2, mask: Mask = Mask.CAUSAL) -> Part:
    return part("legend", [], info=Mixing(mixer, "", AttentionKind.GQA, heads, kv, 1, 1, mask=mask))


def svg(g: Canvas, wide: float, high: float) -> str:
    """A small drawing without words of its own: what it says stands beside it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="atlas-drawing" viewBox="0 0 {wide:g} {high:g}"'
        f' width="{wide:g}" height="{high:g}" aria-hidden="true">{colours.style()}{"".join(g.out)}</svg>'
    )


def swatches() -> Iterator[tuple[str, str]]:
    """Every colour, and what it keeps."""
    for name, shade in colours.SHADES.items():
        g = Canvas()
        with g.group(name):
            g.rect(1, 1, 34, 16, "f", 3)
        yield svg(g, 36, 18), shade.keeps


ICONS = (
    (_attention(Mixer.FULL_ATTENTION), "attention that sees every earlier token"),
    (_attention(Mixer.SLIDING_ATTENTION), "attention over a window of the last tokens"),
    (_attention(Mixer.CHUNKED_ATTENTION), "attention inside chunks"),
    (_attention(Mixer.SPARSE_ATTENTION), "attention that reads a chosen few of all tokens"),
    (_attention(Mixer.COMPRESSED_ATTENTION), "attention over a window and compressed entries beyond it"),
    (_attention(Mixer.FULL_ATTENTION, mask=Mask.BIDIRECTIONAL), "bidirectional attention, as in an encoder"),
    (_attention(Mixer.CROSS_ATTENTION), "attention to a source beside the text"),
    (part("legend", [], info=Mixing(Mixer.SSM, "")), "a recurrent mixer: its state comes round"),
    (
        part("legend", [], info=Feeding(Ffn.DENSE, "", 1, "silu", is_gated=True)),
        "a feed-forward network: widens, narrows",
    ),
    (
        part("legend", [], info=Feeding(Ffn.MOE, "", 1, "silu", is_gated=True, n_routed=8, n_shared=1, top_k=2)),
        "experts: several networks, few of them used",
    ),
)


def icons() -> Iterator[tuple[str, str]]:
    """Every icon, and what it is."""
    for p, said in ICONS:
        g = Canvas()
        with g.group(colours.of_part(p)):
            marks.icon(g, p, 2, 2)
        yield svg(g, 32, 30), said


def cells() -> Iterator[tuple[str, str]]:
    """Cells that count."""
    mla = part("legend", [], info=Mixing(Mixer.FULL_ATTENTION, "", AttentionKind.MLA, 12, None, 1, 1))
    recurrent = part("legend", [], (State("constant", 12, 0, heads=12),), info=Mixing(Mixer.SSM, ""))
    shown = (
        (_attention(Mixer.FULL_ATTENTION, 8, 8), "8 query heads, each with a KV head of its own (MHA)"),
        (_attention(Mixer.FULL_ATTENTION, 8, 2), "8 query heads over 2 KV heads (GQA)"),
        (_attention(Mixer.FULL_ATTENTION, 8, 1), "8 query heads over one KV head (MQA)"),
        (mla, "12 query heads over one latent (MLA)"),
        (
            recurrent,
            "12 recurrent heads, each with a state",
        ),
        (
            part("legend", [], info=Feeding(Ffn.MOE, "", 1, "silu", is_gated=True, n_routed=32, n_shared=1, top_k=4)),
            "32 experts, 4 used by a token (which ones varies), 1 shared at left",
        ),
        (
            part(
                "legend",
                [Tensor("", (1, 1), Component.EXPERTS_ROUTED, stored=24, touched=4, choices=32)],
                info=Feeding(Ffn.MOE, "", 1, "silu", is_gated=True, n_routed=24, top_k=4),
            ),
            "24 experts and, hollow, 8 choices without weights",
        ),
    )
    for p, said in shown:
        g = Canvas()
        with g.group(colours.of_part(p)):
            high = marks.glyph(g, p, 2, 3, marks.GLYPH)
        yield svg(g, 240, high + 4), said


def shapes() -> Iterator[tuple[str, str]]:
    """Shapes of a page."""
    norm, total, head, apart, tie, bars = (Canvas() for _ in range(6))
    norm.y = 3
    branches.pill(norm, "RMSNorm", 2)
    yield (
        svg(norm, 90, 21),
        "a norm, where it stands: below a box before it, above a box behind it, on the line on the stream",
    )
    total.path("M", branches.STREAM, 30, "V", 0)
    branches.plus(total, 1)
    yield (
        svg(total, 140, 30),
        "the residual stream, and the sum that a branch joins; boxes side by side have one at their right",
    )
    head.y = 2
    ends.shape(head, "Embedding", "32,000 → 4096", head=False, left=2, right=236)
    yield svg(head, 240, 30), "embedding and head, broad on the side of the vocabulary"
    apart.rect(2, 2, 90, 22, "g d", 8)
    yield svg(apart, 96, 26), "dashed: stands apart from the total (drafting layers, towers), or is not there (no head)"
    tie.path("M", 20, 2, "H", 4, "V", 26, "H", 20, cls="l d")
    yield svg(tie, 30, 30), "a dashed line from embedding to head: they are one matrix"
    strip.strip(bars, [_kinds()], 0, 68)
    yield svg(bars, 96, 68), STRIP


STRIP = (
    "the stack, the first layer lowest: a bar as long as what a token leaves there, pale where a window ends it;"
    " a cell at its left, dark for experts and pale for a dense network"
)


def _kinds() -> Run:
    """Three layers that differ: full attention and experts, a window and a dense network, a state."""
    full, window = (State("kv", 4, window=w) for w in (None, 8))
    state = State("constant", 12, 0, heads=12)
    experts = Feeding(Ffn.MOE, "", 1, "silu", is_gated=True, n_routed=8, top_k=2)
    dense = Feeding(Ffn.DENSE, "", 1, "silu", is_gated=True)
    mixers = (
        (Mixer.SSM, state, dense),
        (Mixer.SLIDING_ATTENTION, window, dense),
        (Mixer.FULL_ATTENTION, full, experts),
    )
    made = (
        layer((part("legend", [], (s,), info=Mixing(m, "")), part("legend", [], info=network)))
        for m, s, network in mixers
    )
    return Run(1, tuple(made))
