"""Weights used again: a part run once more, and transformer blocks that several layers share.

A shared block reads the hidden state beside the embedding, twice as wide. Its weights are stored where it is used
first and multiply wherever it is used; its cache is kept each time. Low-rank adapters, where there are any, belong to
one use alone (Zamba2, arXiv 2411.15242).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Mixing, Part, Read, State, Tensor, part
from atlas.parts.attention import kind_of
from schemas.vocabulary import Component, Ffn, Mixer, Role

A = Component.ATTENTION
F = Component.FFN_DENSE
N = Component.NORM
X = Component.OTHER


@lru_cache(maxsize=4096)
def again(p: Part) -> Part:
    """The part run once more with the weights it already has: nothing stored, the same work, a cache of its own."""
    return part(p.kind, tuple(t._replace(stored=0) for t in p.tensors), p.states, p.reads, p.info)


class Shared(NamedTuple):
    """Scalars of one use of a shared block: `stored` once or not at all, `rank` of its adapters (0: none)."""

    d: int
    stored: int
    wide: int  # the width of what attention reads
    heads: int
    kv_heads: int
    head_dim: int
    d_ff: int
    activation: str
    bias: bool
    rotary: bool
    attention_rank: int
    ffn_rank: int


@lru_cache(maxsize=512)
def attention(s: Shared) -> Part:
    """The block's attention with its norm, and this use's adapters."""
    kind, keys = kind_of(s.heads, s.kv_heads), s.kv_heads * s.head_dim
    shapes = {
        "q_proj": (s.heads * s.head_dim, s.wide),
        "k_proj": (keys, s.wide),
        "v_proj": (keys, s.wide),
        "o_proj": (s.d, s.heads * s.head_dim),
    }
    made = [Tensor(f"shared_transformer.self_attn.{n}.weight", x, A, stored=s.stored) for n, x in shapes.items()]
    made.append(Tensor("shared_transformer.input_layernorm.weight", (s.wide,), N, Role.VECTOR, s.stored))
    if s.attention_rank:
        for x in "qkv":
            made += _adapter(f"shared_transformer.self_attn.linear_{x}_adapter", s.wide, s.wide, s.attention_rank, A)
    info = Mixing(
        Mixer.FULL_ATTENTION,
        kind.value,
        kind,
        s.heads,
        s.kv_heads,
        s.head_dim,
        s.head_dim,
        None,
        "rope" if s.rotary else "nope",
        s.head_dim if s.rotary else None,
    )
    held = 2 * keys
    return part(
        "attention.shared",
        made,
        (State("kv", held, keys=keys, heads=s.kv_heads),),
        (Read(4 * s.heads * s.head_dim, held),),
        info,
    )


def _adapter(prefix: str, into: int, out: int, rank: int, component: Component) -> list[Tensor]:
    return [Tensor(f"{prefix}.0.weight", (rank, into), component), Tensor(f"{prefix}.1.weight", (out, rank), component)]


@lru_cache(maxsize=512)
def network(s: Shared) -> Part:
    """The block's gated network with its norm, this use's adapter, and the projection to the Mamba layer after it."""
    shapes = {"gate_proj": (s.d_ff, s.d), "up_proj": (s.d_ff, s.d), "down_proj": (s.d, s.d_ff)}
    made = [Tensor(f"shared_transformer.feed_forward.{n}.weight", x, F, stored=s.stored) for n, x in shapes.items()]
    if s.bias:
        made += [
            Tensor(f"shared_transformer.feed_forward.{n}.bias", x[:1], F, Role.VECTOR, s.stored)
            for n, x in shapes.items()
        ]
    made.append(Tensor("shared_transformer.pre_ff_layernorm.weight", (s.d,), N, Role.VECTOR, s.stored))
    if s.ffn_rank:
        made += _adapter("shared_transformer.feed_forward.gate_up_proj_adapter", s.d, 2 * s.d_ff, s.ffn_rank, F)
    made.append(Tensor("linear.weight", (s.d, s.d), X))
    return part("ffn.shared", made, info=Feeding(Ffn.DENSE, "mlp", s.d_ff, s.activation, True))
