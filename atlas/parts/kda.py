"""Kimi Delta Attention: a delta rule whose decay is one number per channel, from a low-rank gate.

Kimi Linear (arXiv 2510.26692), section 3. State per head: a square of the head's width, in fp32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Tensor, part
from atlas.parts.recurrent import reads, states
from atlas.reading.config import View
from schemas.vocabulary import Component, Mixer, Role

R = Component.RECURRENT


class Kda(NamedTuple):
    """Scalars of one mixer: `heads` of `width`, a convolution over `kernel` columns; `decays` if not one per head."""

    d: int
    heads: int
    width: int
    kernel: int
    low_rank: bool = True  # the decay through a bottleneck as wide as a head
    low_rank_gate: bool = True  # the output gate too
    decays: int | None = None


@lru_cache(maxsize=4096)
def kda(s: Kda) -> Part:
    """A mixer of these scalars; one step costs 8 FLOPs per state element (decay, recall, correct, read)."""
    inner = s.heads * s.width
    made = [Tensor(f"self_attn.{x}_proj.weight", (inner, s.d), R) for x in "qkv"]
    made += [
        Tensor("self_attn.conv1d.weight", (3 * inner, 1, s.kernel), R),
        Tensor("self_attn.b_proj.weight", (s.heads, s.d), R),
        Tensor("self_attn.A_log", (s.decays or s.heads,), R, Role.VECTOR),
        Tensor("self_attn.dt_bias", (inner,), R, Role.VECTOR),
        Tensor("self_attn.o_norm.weight", (s.width,), R, Role.VECTOR),
        Tensor("self_attn.o_proj.weight", (s.d, inner), R),
    ]
    for x, low_rank in (("f", s.low_rank), ("g", s.low_rank_gate)):
        narrow = {f"{x}_a_proj": (s.width, s.d), f"{x}_b_proj": (inner, s.width)}
        shapes = narrow if low_rank else {f"{x}_proj": (inner, s.d)}
        made += [Tensor(f"self_attn.{n}.weight", shape, R) for n, shape in shapes.items()]
    size = inner * s.width
    kept = states(3 * inner, s.kernel, size, s.heads)
    return part("linear.kda", made, kept, reads(kept, 8 * size), Mixing(Mixer.LINEAR_ATTENTION, "kda"))


def read_kda(v: View) -> Part:
    """A mixer as the config states it."""
    heads, width, kernel = v.count("linear_num_heads"), v.count("linear_head_dim"), v.count("linear_conv_kernel_dim")
    low_rank = v.opt("full_rank_gates") is not True
    return kda(Kda(v.count("hidden_size"), heads, width, kernel, low_rank, low_rank))
