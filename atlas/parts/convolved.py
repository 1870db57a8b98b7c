"""Short convolutions: alone as a mixer, over queries and keys, and over keys, values and outputs of attention.

Convolved attention is ZAYA's (arXiv 2510.04476), attention with learned relative positions Inkling's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.attention import Gqa, gqa
from atlas.parts.norms import vector
from atlas.parts.state import BF16, FP32, reads
from schemas.vocabulary import Component, Mixer, Role

A = Component.ATTENTION
N = Component.NORM
R = Component.RECURRENT
X = Component.OTHER


@lru_cache(maxsize=1024)
def short_conv(d: int, kernel: int, bias: bool) -> Part:
    """A gated short convolution (LFM2): two gates around a depthwise one, of which `kernel` columns are kept."""
    made = [
        Tensor("conv.in_proj.weight", (3 * d, d), R),
        Tensor("conv.conv.weight", (d, 1, kernel), R),
        Tensor("conv.out_proj.weight", (d, d), R),
    ]
    widths = {"in_proj": 3 * d, "conv": d, "out_proj": d} if bias else {}
    made += [Tensor(f"conv.{n}.bias", (w,), R, Role.VECTOR) for n, w in widths.items()]
    kept = (State("constant", d * kernel, 0, None, BF16, channels=d, kernel=kernel),)
    return part("conv.short", made, kept, reads(kept, 0), Mixing(Mixer.CONV, "conv"))


class Convolved(NamedTuple):
    """Scalars beside those of the attention: the two kernels, and whether projections have biases."""

    usual: Gqa
    depthwise: int
    grouped: int


@lru_cache(maxsize=1024)
def convolved(s: Convolved) -> Part:
    """Half of each value is that of the token before; the columns of the convolutions and that half are kept."""
    u, usual = s.usual, gqa(s.usual)
    held, wide = u.kv_heads * u.head_dim, (u.heads + u.kv_heads) * u.head_dim
    made = [t for t in usual.tensors if "v_proj" not in t.name]
    for half in ("current", "delayed"):
        made.append(Tensor(f"self_attn.v_proj_{half}.weight", (held // 2, u.d), A))
        made += [vector(f"self_attn.v_proj_{half}.bias", held // 2, A)] * u.qkv_bias
    for name, inside, kernel in (("depthwise", 1, s.depthwise), ("grouped", u.head_dim, s.grouped)):
        made += [
            Tensor(f"self_attn.conv_qk_{name}.weight", (wide, inside, kernel), A),
            vector(f"self_attn.conv_qk_{name}.bias", wide, A),
        ]
    made.append(vector("self_attn.qk_norm.temp", u.kv_heads, A))
    kept = tuple(State("constant", n, 0, None, 2) for n in (wide * (s.depthwise + s.grouped - 2), held // 2) if n)
    loads = tuple(Read(0, k.elements, 0, width=k.width) for k in kept)
    return part("attention.convolved", made, (*usual.states, *kept), (*usual.reads, *loads), usual.info)


class Relative(NamedTuple):
    """Scalars of one attention: heads, width of relative features and their reach, convolution columns, window."""

    d: int
    heads: int
    kv_heads: int
    head_dim: int
    features: int
    reach: int
    kernel: int
    window: int | None


def _base(s: Relative, qk_norm: str) -> Part:
    mixer = "full_attention" if s.window is None else "sliding_attention"
    scalars = Gqa(
        s.d,
        s.heads,
        s.kv_heads,
        s.head_dim,
        s.head_dim,
        qk_norm=qk_norm,
        mixer=mixer,
        window=s.window,
        position="relative",
    )
    return gqa(scalars)


def _kept(s: Relative, base: Part) -> tuple[tuple[State, ...], tuple[Read, ...]]:
    """The cache, and the columns of the convolutions of keys, values, attention's and the network's output, in fp32."""
    columns = 2 * (s.kv_heads * s.head_dim + s.d) * s.kernel
    return (*base.states, State("constant", columns, 0, width=FP32)), (*base.reads, Read(0, columns, 0, width=FP32))


@lru_cache(maxsize=512)
def relative(s: Relative) -> Part:
    """Attention of the first generation."""
    base, wide = _base(s, "head"), s.kv_heads * s.head_dim
    made = [
        Tensor("self_attn.r_proj.weight", (s.heads * s.features, s.d), A),
        Tensor("self_attn.rel_logits_proj.proj", (s.features, s.reach), A, touched=s.heads),
        Tensor("self_attn.k_sconv.conv1d.weight", (wide, 1, s.kernel), R),
        Tensor("self_attn.v_sconv.conv1d.weight", (wide, 1, s.kernel), R),
        Tensor("attn_sconv.conv1d.weight", (s.d, 1, s.kernel), R),
    ]
    states, reads = _kept(s, base)
    return part("attention.relative", (*base.tensors, *made), states, reads, base.info)


@lru_cache(maxsize=512)
def relative_gated(s: Relative, leads: bool, rank: int, stored: int, again: int) -> Part:
    """Attention of the later generations.

    `leads` in the first layer, `rank` of the message gates, used from the second round on.
    """
    base, wide, full = _base(s, "none"), s.kv_heads * s.head_dim, s.window is None
    kept = [t for t in base.tensors if not t.name.endswith("_norm.weight")]
    made = [
        Tensor("self_attn.q_proj.norm.weight", (s.heads, s.head_dim), A, Role.VECTOR),
        Tensor("self_attn.o_proj.gate_proj.weight", (s.heads * s.head_dim, s.d), A),
        Tensor("self_attn.sink_proj.weight", (s.heads, s.d), A),
        Tensor("self_attn.relative_position_bias.bias", (s.features, s.reach), A, touched=s.heads),
        Tensor("self_attn.relative_position_bias.linear.weight", (s.heads * s.features, s.d), A),
        Tensor("self_attn.relative_position_bias.norm.weight", (s.heads, s.features), A, Role.VECTOR),
        Tensor("post_attention_convolution.conv1d.weight", (s.d, 1, s.kernel), R),
    ]
    for x in "kv":
        # a full layer computes its kernels from the token and adds these to them: they multiply nothing themselves
        role = Role.VECTOR if full else Role.MATMUL
        made.append(Tensor(f"self_attn.{x}_proj.sconv.weight", (s.kernel, wide), R, role))
        made += [Tensor(f"self_attn.{x}_proj.sconv.weight_proj.weight", (s.kv_heads * s.kernel, s.d), R)] * full
    made += [Tensor("attention_input.query", (3 if full else 1, s.d), A, Role.VECTOR)] * (not leads)
    made += [Tensor(f"input_layernorm.{i}.weight", (s.d,), N, Role.VECTOR) for i in range(3 if full else 1)]
    gates = [t for x in ("q", "k", "v", "mlp") for t in _message_gate(x, s.d, rank)] if rank else []
    tensors = [t._replace(stored=stored) for t in (*kept, *made)] + [
        t._replace(stored=stored, touched=again) for t in gates
    ]
    states, reads = _kept(s, base)
    assert base.info is not None  # noqa: S101 - attention says what it is
    info = base.info._replace(qk_norm="each", has_sinks=True)
    return part("attention.relative_gated", tensors, states, reads, info)


def _message_gate(x: str, d: int, rank: int) -> list[Tensor]:
    shapes = {"down_proj": (rank, 2 * d), "forget_gate_proj": (d, rank), "message_gate_proj": (d, rank)}
    return [Tensor(f"{x}_message_gate.{n}.weight", shape, X) for n, shape in shapes.items()]


@lru_cache(maxsize=256)
def attending_experts(experts: Part, d: int, kernel: int, stored: int) -> Part:
    """Experts that attend over earlier blocks before them, with a norm and a convolution of their own."""
    made = [
        Tensor("mlp_input.query", (1, d), A, Role.VECTOR),
        Tensor("post_attention_layernorm.weight", (d,), N, Role.VECTOR),
        Tensor("post_mlp_convolution.conv1d.weight", (d, 1, kernel), R),
    ]
    tensors = [t._replace(stored=t.stored * stored) for t in (*experts.tensors, *made)]
    return part("ffn.moe_attending", tensors, experts.states, experts.reads, experts.info)


@lru_cache(maxsize=64)
def convolution(d: int, kernel: int) -> Part:
    """The convolution after a network of the first generation; its columns are kept with attention's."""
    return part("conv.after", [Tensor("mlp_sconv.conv1d.weight", (d, 1, kernel), R)])
