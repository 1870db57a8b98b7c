"""Mixers with a recurrent state of fixed size: delta rules, decaying and gated linear recurrences, matrix LSTMs.

Yang et al. 2024 (arXiv 2412.06464); Kimi Linear (arXiv 2510.26692), section 3; lightning attention, as in MiniMax-01
(arXiv 2401.04658); De et al. 2024 (Griffin, arXiv 2402.19427); Peng et al. 2023 (RWKV, 2305.13048).
State sizes are the reference implementation's: convolution windows in the cache's dtype, recurrent states in fp32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Mixing, Part, State, Tensor, part
from atlas.parts.norms import vector
from atlas.parts.state import BF16, FP32, reads, states
from schemas.vocabulary import Component, Ffn, Mixer, Role

R = Component.RECURRENT


class GatedDelta(NamedTuple):
    """Scalars of one gated delta-rule mixer."""

    d: int
    k_heads: int
    v_heads: int
    k_dim: int
    v_dim: int
    kernel: int


@lru_cache(maxsize=4096)
def gated_delta(s: GatedDelta) -> Part:
    """A gated delta-rule mixer of these scalars.

    One step costs 8 FLOPs per state element (decay, recall, correct, read).
    """
    keys, values = s.k_heads * s.k_dim, s.v_heads * s.v_dim
    conv = 2 * keys + values
    made = [
        Tensor("linear_attn.in_proj_qkv.weight", (conv, s.d), R),
        Tensor("linear_attn.in_proj_z.weight", (values, s.d), R),
        Tensor("linear_attn.in_proj_b.weight", (s.v_heads, s.d), R),
        Tensor("linear_attn.in_proj_a.weight", (s.v_heads, s.d), R),
        Tensor("linear_attn.conv1d.weight", (conv, 1, s.kernel), R),
        Tensor("linear_attn.A_log", (s.v_heads,), R, Role.VECTOR),
        Tensor("linear_attn.dt_bias", (s.v_heads,), R, Role.VECTOR),
        Tensor("linear_attn.norm.weight", (s.v_dim,), R, Role.VECTOR),
        Tensor("linear_attn.out_proj.weight", (s.d, values), R),
    ]
    size = s.v_heads * s.k_dim * s.v_dim
    kept = states(conv, s.kernel, size, s.v_heads)
    return part("linear.gated_delta", made, kept, reads(kept, 8 * size), Mixing(Mixer.LINEAR_ATTENTION, "gdn"))


class Kda(NamedTuple):
    """Scalars of one mixer: `heads` of `width`, a convolution over `kernel` columns; `decays` if not one per head."""

    d: int
    heads: int
    width: int
    kernel: int
    low_rank: bool  # the decay through a bottleneck as wide as a head
    low_rank_gate: bool  # the output gate too
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


@lru_cache(maxsize=256)
def lightning_normed(d: int, heads: int, width: int, qk_norm: bool) -> Part:
    """The mixer with norms of queries and keys and no stored decay; its kernel keeps the state in fp32 (Ling 2.5)."""
    inner = heads * width
    shapes = {
        "q_proj": (inner, d),
        "k_proj": (inner, d),
        "v_proj": (inner, d),
        "g_proj": (inner, d),
        "dense": (d, inner),
    }
    made = [Tensor(f"linear_attn.{n}.weight", shape, R) for n, shape in shapes.items()]
    norms = {"g_norm": inner} | ({"q_norm": width, "k_norm": width} if qk_norm else {})
    made += [Tensor(f"linear_attn.{n}.weight", (w,), R, Role.VECTOR) for n, w in norms.items()]
    size = inner * width
    kept = (State("constant", size, 0, width=FP32),)
    return part("linear.lightning", made, kept, reads(kept, 6 * size), Mixing(Mixer.LINEAR_ATTENTION, "lightning"))


class Mlstm(NamedTuple):
    """Scalars of one matrix LSTM: widths of queries and keys together, and of values, over all heads."""

    d: int
    heads: int
    qk: int
    v: int
    bias: bool


@lru_cache(maxsize=1024)
def mlstm(s: Mlstm) -> Part:
    """A matrix LSTM; per head a matrix, a normalizer and a maximum are kept (arXiv 2405.04517, section 2.3).

    One step costs 6 FLOPs per element of the matrix: decay, input, output, a multiply-add each.
    """
    shapes = {"q": (s.qk, s.d), "k": (s.qk, s.d), "v": (s.v, s.d), "ogate_preact": (s.v, s.d), "out_proj": (s.d, s.v)}
    made = [Tensor(f"mlstm_layer.{n}.weight", x, R) for n, x in shapes.items()]
    for gate in ("igate_preact", "fgate_preact"):
        made += [
            Tensor(f"mlstm_layer.{gate}.weight", (s.heads, s.d), R),
            vector(f"mlstm_layer.{gate}.bias", s.heads, R),
        ]
    made.append(vector("mlstm_layer.multihead_norm.weight", s.v, R))
    if s.bias:
        made += [vector(f"mlstm_layer.{n}.bias", x[0], R) for n, x in shapes.items()]
        made.append(vector("mlstm_layer.multihead_norm.bias", s.v, R))
    matrix = s.qk * s.v // s.heads
    kept = tuple(State("constant", n, 0, None, 2) for n in (s.qk, s.heads, matrix))
    return part("linear.mlstm", made, kept, reads(kept, 6 * matrix), Mixing(Mixer.LINEAR_ATTENTION, "mlstm"))


class Lru(NamedTuple):
    """Scalars of one RG-LRU block: a gated linear recurrence of `width`, its gates in `heads` blocks."""

    d: int
    width: int
    heads: int
    kernel: int


@lru_cache(maxsize=1024)
def rg_lru(s: Lru) -> Part:
    """An RG-LRU block of these scalars; a step costs 4 FLOPs per state element: decay and input."""
    block = (s.heads, s.width // s.heads, s.width // s.heads)
    shapes = {
        "linear_x.weight": (s.width, s.d), "linear_y.weight": (s.width, s.d), "linear_out.weight": (s.d, s.width),
        "conv_1d.weight": (s.width, 1, s.kernel), "rg_lru.input_gate_weight": block,
        "rg_lru.recurrent_gate_weight": block,
    }  # fmt: skip
    vectors = {
        "linear_x.bias": s.width, "linear_y.bias": s.width, "linear_out.bias": s.d, "conv_1d.bias": s.width,
        "rg_lru.input_gate_bias": s.width, "rg_lru.recurrent_gate_bias": s.width, "rg_lru.recurrent_param": s.width,
    }  # fmt: skip
    made = [Tensor(f"temporal_block.{n}", x, R) for n, x in shapes.items()]
    made += [Tensor(f"temporal_block.{n}", (x,), R, Role.VECTOR) for n, x in vectors.items()]
    columns = State("constant", s.width * (s.kernel - 1), 0, None, BF16, channels=s.width, kernel=s.kernel)
    kept = (columns, State("constant", s.width, 0, None, FP32, heads=s.heads))
    return part("linear.rg_lru", made, kept, reads(kept, 4 * s.width), Mixing(Mixer.LINEAR_ATTENTION, "rg_lru"))


@lru_cache(maxsize=1024)
def rwkv(d: int, width: int) -> Part:
    """RWKV-4's time mixing: numerator, denominator, maximum per channel in fp32, and the last token's state."""
    made = [Tensor(f"attention.{n}.weight", (width, d), R) for n in ("key", "value", "receptance")]
    made.append(Tensor("attention.output.weight", (d, width), R))
    made += [Tensor(f"attention.time_{n}", (width,), R, Role.VECTOR) for n in ("decay", "first")]
    made += [Tensor(f"attention.time_mix_{n}", (1, 1, d), R, Role.VECTOR) for n in ("key", "value", "receptance")]
    kept = (State("constant", d, 0, None, BF16), State("constant", 3 * width, 0, None, FP32))
    return part("linear.rwkv", made, kept, reads(kept, 8 * width), Mixing(Mixer.LINEAR_ATTENTION, "rwkv"))


@lru_cache(maxsize=1024)
def channel_mix(d: int, d_ff: int) -> Part:
    """RWKV-4's channel mixing: squared ReLU behind a receptance gate, with the last token's hidden state kept."""
    f = Component.FFN_DENSE
    shapes = {"key": (d_ff, d), "receptance": (d, d), "value": (d, d_ff)}
    made = [Tensor(f"feed_forward.{n}.weight", x, f) for n, x in shapes.items()]
    made += [Tensor(f"feed_forward.time_mix_{n}", (1, 1, d), f, Role.VECTOR) for n in ("key", "receptance")]
    kept = (State("constant", d, 0, None, BF16),)
    return part("ffn.channel_mix", made, kept, reads(kept, 0), Feeding(Ffn.DENSE, "mlp", d_ff, "relu2", True))
