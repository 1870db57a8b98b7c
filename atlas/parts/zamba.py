"""Zamba: Mamba layers, and one or a few transformer blocks whose weights are used again and again.

A block reads the hidden state beside the embedding, twice as wide. Its weights are stored where it is used first and
multiply wherever it is used; its cache is kept each time. Low-rank adapters, where there are any, belong to one use
alone (Zamba2, arXiv 2411.15242). The word of such a layer is `hybrid:1` where its block is stored and `hybrid:0`
where it was stored before.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Mixing, Part, Read, State, Tensor, part
from atlas.parts.attention import kind_of
from atlas.parts.ffn import activation
from atlas.parts.recurrent import reads, states
from atlas.reading.config import View
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Ffn, Mixer, Role

A, F, N = Component.ATTENTION, Component.FFN_DENSE, Component.NORM
OTHER, R = Component.OTHER, Component.RECURRENT


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
        "attention.shared", made, (State("kv", held, keys=keys),), (Read(4 * s.heads * s.head_dim, held),), info
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
    made.append(Tensor("linear.weight", (s.d, s.d), OTHER))
    return part("ffn.shared", made, info=Feeding(Ffn.DENSE, "mlp", s.d_ff, s.activation, True))


def _scalars(v: View) -> Shared:
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    wide = v.opt_count("attention_hidden_size") or 2 * d
    head_dim = v.opt_count("attention_head_dim") or 2 * d // heads
    rank = v.opt_count("adapter_rank") or 0
    d_ff = v.opt_count("intermediate_size") or v.derived(
        "intermediate_size", 4 * d, "4 x hidden_size, as no width is stated"
    )
    return Shared(
        d,
        int(v.part_word.partition(":")[2]),
        wide,
        heads,
        v.opt_count("num_key_value_heads") or heads,
        head_dim,
        d_ff,
        activation(v),
        v.flag("ffn_bias"),
        v.flag("use_mem_rope"),
        rank if v.flag("use_shared_attention_adapter") else 0,
        rank,
    )


def read_shared_attention(v: View) -> Part:
    """The shared block's attention as the config states it."""
    return attention(_scalars(v))


def read_shared_network(v: View) -> Part:
    """The shared block's network as the config states it."""
    return network(_scalars(v))


class HeadedMamba(NamedTuple):
    """Scalars of Zamba's Mamba: the inner width in `heads`, each with step size, B and C of its own."""

    d: int
    inner: int
    heads: int
    n: int
    kernel: int
    rank: int
    conv_bias: bool
    bias: bool


@lru_cache(maxsize=512)
def headed_mamba(s: HeadedMamba) -> Part:
    """A Mamba mixer of these scalars; one step costs 6 FLOPs per state element."""
    if s.inner % s.heads:
        raise contradiction(f"inner width {s.inner} does not divide into {s.heads} heads")
    each = s.inner // s.heads
    made = [
        Tensor("mamba.in_proj.weight", (2 * s.inner, s.d), R),
        Tensor("mamba.conv1d.weight", (s.inner, 1, s.kernel), R),
        Tensor("mamba.x_proj_weight", (s.heads, s.rank + 2 * s.n, each), R),
        Tensor("mamba.dt_proj_weight", (s.heads, each, s.rank), R),
        Tensor("mamba.dt_proj_bias", (s.heads, each), R, Role.VECTOR),
        Tensor("mamba.A_log", (s.heads, each, s.n), R, Role.VECTOR),
        Tensor("mamba.D", (s.heads, each), R, Role.VECTOR),
        Tensor("mamba.out_proj.weight", (s.d, s.inner), R),
    ]
    made += [Tensor("mamba.conv1d.bias", (s.inner,), R, Role.VECTOR)] * s.conv_bias
    biases = {"in_proj": 2 * s.inner, "out_proj": s.d} if s.bias else {}
    made += [Tensor(f"mamba.{n}.bias", (w,), R, Role.VECTOR) for n, w in biases.items()]
    kept = states(s.inner, s.kernel, s.inner * s.n)
    return part("ssm.mamba_heads", made, kept, reads(kept, 6 * s.inner * s.n), Mixing(Mixer.SSM, "mamba"))


def read_headed_mamba(v: View) -> Part:
    """Zamba's Mamba as the config states it."""
    d, rank = v.count("hidden_size"), v.opt("mamba_dt_rank")
    if rank in (None, "auto"):
        rank = v.derived("mamba_dt_rank", ceil(d / 16), "hidden_size / 16, rounded up")
    expand = v.count("mamba_expand")
    return headed_mamba(
        HeadedMamba(
            d,
            expand * d,
            v.count("n_mamba_heads"),
            v.count("mamba_d_state"),
            v.count("mamba_d_conv"),
            v.count("mamba_dt_rank") if type(rank) is not int else rank,
            v.flag("mamba_conv_bias"),
            v.flag("mamba_proj_bias"),
        )
    )
