"""Four shapes of one budget: the same vocabulary, head size and sharing of KV heads, and depth against width."""

from __future__ import annotations

from typing import NamedTuple

BUDGET = 45_000_000
VOCABULARY = 8_192
HEAD_DIM = 64
SHARING = 2
"""Query heads to a KV head."""

_MULTIPLE = 64
_DEEPEST = 80


class Shape(NamedTuple):
    """A decoder with SwiGLU, grouped queries and one tied token table; no biases, no positions."""

    name: str
    width: int
    heads: int
    kv_heads: int
    ffn: int
    layers: int

    @property
    def matrices(self) -> int:
        """Weights of all matrices, the token table once; norms are left out."""
        return VOCABULARY * self.width + self.layers * _block(self.width, self.ffn)

    def cache_bytes_per_token(self, width: int = 2) -> int:
        """Keys and values of all layers, at so many bytes an element."""
        return 2 * self.layers * self.kv_heads * HEAD_DIM * width


def _block(d: int, ffn: int) -> int:
    """Weights of a block's matrices: queries and output, keys and values, gate, up and down."""
    return 2 * d * d + 2 * d * d // SHARING + 3 * d * ffn


def _of_width(name: str, d: int) -> Shape:
    """The shape of a width: 8/3 of it in the feed-forward network, to the nearest 64; as deep as the budget asks."""
    heads, ffn = d // HEAD_DIM, round(8 * d / 3 / _MULTIPLE) * _MULTIPLE
    shapes = (Shape(name, d, heads, heads // SHARING, ffn, n) for n in range(2, _DEEPEST))
    return min(shapes, key=lambda s: abs(s.matrices - BUDGET))


def shapes() -> tuple[Shape, ...]:
    """From wide and shallow to thin and deep."""
    widths = {"wide, shallow": 768, "balanced": 640, "thin, deep": 512, "very thin, deep": 384}
    return tuple(_of_width(name, d) for name, d in widths.items())
