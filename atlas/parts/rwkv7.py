"""RWKV-7: a state of keys by values per head that is decayed, corrected and written to; gates through bottlenecks.

Peng et al. 2025 (arXiv 2503.14456); the network sees the token before as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Mixing, Part, State, Tensor, part
from atlas.parts.norms import vector
from atlas.parts.state import BF16, FP32, reads
from schemas.vocabulary import Component, Ffn, Mixer, Role

R = Component.RECURRENT
F = Component.FFN_DENSE


class Rwkv7(NamedTuple):
    """Scalars of one mixer; ranks of the bottlenecks of decay, learning rate, gate and (0 in the first layer) value."""

    d: int
    head_dim: int
    decay: int
    rate: int
    gate: int
    value: int


@lru_cache(maxsize=64)
def rwkv7(s: Rwkv7) -> Part:
    """The mixer; a step decays, recalls, corrects, writes and reads: 2 FLOPs per element of the state for each."""
    made = [Tensor(f"attn.{x}_proj.weight", (s.d, s.d), R) for x in "rkvo"]
    made += [Tensor(f"attn.x_{x}", (1, 1, s.d), R, Role.VECTOR) for x in "rwkvag"]
    made += [vector(f"attn.k_{x}", s.d, R) for x in "ka"]
    made.append(Tensor("attn.r_k", (s.d // s.head_dim, s.head_dim), R, Role.VECTOR))
    made += [vector(f"attn.g_norm.{x}", s.d, R) for x in ("weight", "bias")]
    for x, rank in {"w": s.decay, "a": s.rate, "v": s.value, "g": s.gate}.items():
        made += _bottleneck(x, s.d, rank) if rank else []
    size = s.d * s.head_dim
    kept = (State("constant", s.d, 0, None, BF16), State("constant", size, 0, None, FP32, heads=s.d // s.head_dim))
    return part("linear.rwkv7", made, kept, reads(kept, 2 * 5 * size), Mixing(Mixer.LINEAR_ATTENTION, "rwkv7"))


def _bottleneck(x: str, d: int, rank: int) -> list[Tensor]:
    made = [Tensor(f"attn.{x}_lora.lora.0.weight", (rank, d), R), Tensor(f"attn.{x}_lora.lora.2.weight", (d, rank), R)]
    return made + [vector(f"attn.{x}_lora.lora.2.bias", d, R)] * (x != "g")


@lru_cache(maxsize=64)
def token_mix(d: int, d_ff: int) -> Part:
    """Two matrices around a squared ReLU, over a mix with the token before, which is kept."""
    made = [Tensor("ffn.key.weight", (d_ff, d), F), Tensor("ffn.value.weight", (d, d_ff), F), vector("ffn.x_k", d, F)]
    kept = (State("constant", d, 0, None, BF16),)
    return part("ffn.token_mix", made, kept, reads(kept, 0), Feeding(Ffn.DENSE, "mlp", d_ff, "relu2", False))
