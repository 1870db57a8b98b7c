"""Signs inside a box: an icon (an attention's mask, a returning state, a widening network), and cells that count."""

from __future__ import annotations

from atlas.numbers.structure import Feeding, Mixing, Part
from pipeline.drawing import phrases
from pipeline.drawing.canvas import Canvas
from schemas.vocabulary import Mask, Mixer

GLYPH = 236
"""The widest row of cells."""
GOLDEN = 0.6180339887


def icon(g: Canvas, p: Part, x: float, y: float) -> None:
    """A sign 26 wide: which keys a query sees, a state that comes round, or a network's widening."""
    if not isinstance(p.info, Mixing):
        many = isinstance(p.info, Feeding) and p.info.n_routed
        for n in (4, 2, 0) if many else (0,):
            g.path("M", x + 7 + n, y + 24 - n, "l-7,-11l7,-11h10l7,11l-7,11z", cls="o")
    elif p.info.n_q_heads:
        g.rect(x, y, 26, 26, "g", 2)
        _mask(g, p.info, x, y)
    else:
        g.path("M", x + 21, y + 20, "a11,11 0 1 1 2,-10")
        g.path("M", x + 26, y + 5, "l-3,7l-6,-4z", cls="f")
        g.rect(x + 7.5, y + 8, 10, 10, "f", 1.5)


def _mask(g: Canvas, i: Mixing, x: float, y: float) -> None:
    if i.mixer is Mixer.CROSS_ATTENTION:
        g.rect(x + 2, y + 2, 22, 22, "e", 1)
    elif i.mask is Mask.BIDIRECTIONAL:
        g.rect(x + 2, y + 2, 22, 22, "f", 1)
    elif i.mixer is Mixer.FULL_ATTENTION:
        g.path("M", x + 2, y + 2, "V", y + 24, "H", x + 24, "z", cls="f")
    elif i.mixer is Mixer.SPARSE_ATTENTION:
        seen = [(r, c) for r in range(6) for c in range(r + 1) if (r * 5 + c * 3) % 4 < 2 or c == r]
        g.grid([(x + 2 + c * 3.7, y + 2 + r * 3.7) for r, c in seen], 3.2, 3.2, "f")
    elif i.mixer is Mixer.CHUNKED_ATTENTION:
        for n in range(3):
            g.path("M", x + 2 + 7.3 * n, y + 2 + 7.3 * n, "v7.3h7.3z", cls="f")
    else:
        g.path("M", x + 2, y + 2, "v6L", x + 18, y + 24, "h6z", cls="f")
        for n in range(3 if i.mixer is Mixer.COMPRESSED_ATTENTION else 0):
            g.rect(x + 2 + 5 * n, y + 13 + 4.5 * n, 2.4, 11 - 4.5 * n, "f")


def glyph(g: Canvas, p: Part, x: float, y: float, room: float) -> float:
    """A cell for every head and the KV head below it, for every state, or for every expert. Returns the height."""
    if isinstance(p.info, Mixing):
        return _heads(g, p.info, phrases.state_heads(p), x, y, room)
    if isinstance(p.info, Feeding) and p.info.n_routed:
        return _experts(g, p.info, phrases.empty(p), x, y, room)
    return 0


def _heads(g: Canvas, i: Mixing, own: int | None, x: float, y: float, room: float) -> float:
    n = i.n_q_heads or own or 0
    if not n:
        return 0
    _row(g, n, x, y, min(room, n * 9), "f")
    if not i.n_q_heads:
        return 11
    below = 1 if phrases.is_mla(i) else i.n_kv_heads or n
    _row(g, below, x, y + 7, min(room, n * 9), "o" if phrases.is_mla(i) else "f")
    return 18


def _row(g: Canvas, n: int, x: float, y: float, room: float, cls: str) -> None:
    step = room / n
    g.grid([(x + a * step, y) for a in range(n)], step - min(1.6, step * 0.3), 5, cls)


def _experts(g: Canvas, i: Feeding, empty: int, x: float, y: float, room: float) -> float:
    """At most 64 a row; the chosen ones spread by the golden section, which draws no columns; shared ones apart.

    Choices without weights behind them are last, and hollow.
    """
    full = i.n_routed or 0
    n, shared = full + empty, min(i.n_shared or 0, 8)
    columns, apart = min(n, 64), 8 * shared + 4 if shared else 0
    step, row = min(9.0, (room - apart) / columns), 7 if n <= 64 else 5
    shown = min(n, 64 * 12)
    g.grid([(x + s * 8, y) for s in range(shared)], 6, 6, "f")
    taken = _spread(shown, min(i.top_k or 0, shown))
    for cls in ("e", "g", "f"):
        of = [a for a in range(shown) if cls == ("f" if a in taken else "e" if a < full else "g")]
        cells = [(x + apart + a % columns * step, y + a // columns * row) for a in of]
        g.grid(cells, step * 0.68, row - 1.6, cls)
    return -(-shown // columns) * row + 6


def _spread(n: int, k: int) -> set[int]:
    taken: dict[int, None] = {}
    a = 0
    while len(taken) < k:
        taken[int((a * GOLDEN + 0.31) % 1 * n) if a < 8 * n else a % n] = None
        a += 1
    return set(taken)
