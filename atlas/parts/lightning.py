"""Lightning attention: linear attention with a fixed decay per head, as in MiniMax-Text-01 (arXiv 2401.04658).

The state is one square per head. transformers keeps it in the width of the values, and holds decay tables as buffers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, State, Tensor, part
from atlas.parts.attention import head_dim
from atlas.parts.recurrent import reads
from atlas.reading.config import View
from schemas.vocabulary import Component, Mixer, Role

R = Component.RECURRENT


class Lightning(NamedTuple):
    """Scalars of one mixer: `heads` of `width`; `block` tokens per step of the reference's tables."""

    d: int
    heads: int
    width: int
    block: int


@lru_cache(maxsize=1024)
def lightning(s: Lightning) -> Part:
    """A mixer of these scalars; one step costs 6 FLOPs per state element: decay, write, read."""
    inner = s.heads * s.width
    made = [Tensor(f"self_attn.{x}_proj.weight", (inner, s.d), R) for x in "qkv"]
    made += [
        Tensor("self_attn.output_gate.weight", (inner, s.d), R),
        Tensor("self_attn.norm.weight", (inner,), R, Role.VECTOR),
        Tensor("self_attn.out_proj.weight", (s.d, inner), R),
    ]
    shapes = {"slope_rate": (s.heads, 1), "query_decay": (s.heads, s.block), "key_decay": (s.heads, s.block)}
    shapes["diagonal_decay"] = (s.heads, s.block * s.block)
    made += [Tensor(f"self_attn.{n}", shape, Component.BUFFERS, Role.VECTOR) for n, shape in shapes.items()]
    size = inner * s.width
    kept = (State("constant", size, 0, width=2, heads=s.heads),)
    return part("linear.lightning", made, kept, reads(kept, 6 * size), Mixing(Mixer.LINEAR_ATTENTION, "lightning"))


def read_lightning(v: View) -> Part:
    """A mixer as the config states it."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    return lightning(Lightning(d, heads, head_dim(v, d, heads), v.count("block_size")))
