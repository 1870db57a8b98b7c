"""Mixers with a state of fixed size beside Mamba-2: Mamba, RG-LRU, RWKV-4 and the gated short convolution.

Gu and Dao 2023 (arXiv 2312.00752); De et al. 2024 (Griffin, arXiv 2402.19427); Peng et al. 2023 (RWKV, 2305.13048).
State sizes are the reference implementation's: convolution windows in the cache's dtype, recurrent states in fp32.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Mixing, Part, State, Tensor, part
from atlas.parts.recurrent import FP32, reads, states
from atlas.reading.config import View
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Ffn, Mixer, Role

R = Component.RECURRENT
BF16 = 2


class Mamba(NamedTuple):
    """Scalars of one Mamba mixer: `n` states per channel, step sizes through `rank`."""

    d: int
    inner: int
    n: int
    kernel: int
    rank: int
    bias: bool
    conv_bias: bool
    norms: bool = False  # of the step, B and C (Jamba)


@lru_cache(maxsize=4096)
def mamba(s: Mamba) -> Part:
    """A Mamba mixer of these scalars; one step costs 6 FLOPs per state element: decay, input, output."""
    made = [
        Tensor("mamba.in_proj.weight", (2 * s.inner, s.d), R),
        Tensor("mamba.conv1d.weight", (s.inner, 1, s.kernel), R),
        Tensor("mamba.x_proj.weight", (s.rank + 2 * s.n, s.inner), R),
        Tensor("mamba.dt_proj.weight", (s.inner, s.rank), R),
        Tensor("mamba.dt_proj.bias", (s.inner,), R, Role.VECTOR),
        Tensor("mamba.A_log", (s.inner, s.n), R, Role.VECTOR),
        Tensor("mamba.D", (s.inner,), R, Role.VECTOR),
        Tensor("mamba.out_proj.weight", (s.d, s.inner), R),
    ]
    made += [Tensor("mamba.conv1d.bias", (s.inner,), R, Role.VECTOR)] * s.conv_bias
    made += [
        Tensor("mamba.in_proj.bias", (2 * s.inner,), R, Role.VECTOR),
        Tensor("mamba.out_proj.bias", (s.d,), R, Role.VECTOR),
    ] * s.bias
    widths = {"dt": s.rank, "b": s.n, "c": s.n} if s.norms else {}
    made += [Tensor(f"mamba.{x}_layernorm.weight", (w,), R, Role.VECTOR) for x, w in widths.items()]
    kept = states(s.inner, s.kernel, s.inner * s.n)
    return part("ssm.mamba", made, kept, reads(kept, 6 * s.inner * s.n), Mixing(Mixer.SSM, "mamba"))


def read_mamba(v: View) -> Part:
    """A Mamba mixer as the config states it."""
    d, rank = v.count("hidden_size"), v.need("mamba_dt_rank")
    inner = _inner_width(v, d)
    width = (
        v.derived("time_step_rank", ceil(d / 16), "hidden_size / 16, rounded up")
        if rank == "auto"
        else v.count("mamba_dt_rank")
    )
    return mamba(
        Mamba(
            d,
            inner,
            v.count("mamba_d_state"),
            v.count("mamba_d_conv"),
            width,
            v.flag("mamba_proj_bias"),
            v.flag("mamba_conv_bias"),
            v.flag("mamba_norms"),
        )
    )


def _inner_width(v: View, d: int) -> int:
    """The stated inner width, which goes before the expansion (Falcon-Mamba-7B states 8,192 beside 16 x 4,096)."""
    stated, expand = v.opt_count("mamba_inner"), v.config.number("mamba_expand") or 0.0
    if stated is not None:
        return stated
    if expand * d < 1:
        raise contradiction(f"an expansion of {expand:g} leaves no inner width")
    return v.derived("mamba_inner", int(expand * d), f"{expand:g} x hidden_size")


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
    kept = (columns, State("constant", s.width, 0, None, FP32))
    return part("linear.rg_lru", made, kept, reads(kept, 4 * s.width), Mixing(Mixer.LINEAR_ATTENTION, "rg_lru"))


def read_rg_lru(v: View) -> Part:
    """An RG-LRU block as the config states it; as wide as the hidden state where no width is stated."""
    d, heads, width = v.count("hidden_size"), v.count("num_attention_heads"), v.opt_count("lru_width")
    if width is None:
        width = v.derived("lru_width", d, "hidden_size, as no width is stated")
    if width % heads:
        raise contradiction(f"a recurrence {width} wide does not split into {heads} blocks")
    return rg_lru(Lru(d, width, heads, v.count("conv1d_width")))


@lru_cache(maxsize=1024)
def rwkv(d: int, width: int) -> Part:
    """RWKV-4's time mixing: numerator, denominator, maximum per channel in fp32, and the last token's state."""
    made = [Tensor(f"attention.{n}.weight", (width, d), R) for n in ("key", "value", "receptance")]
    made.append(Tensor("attention.output.weight", (d, width), R))
    made += [Tensor(f"attention.time_{n}", (width,), R, Role.VECTOR) for n in ("decay", "first")]
    made += [Tensor(f"attention.time_mix_{n}", (1, 1, d), R, Role.VECTOR) for n in ("key", "value", "receptance")]
    kept = (State("constant", d, 0, None, BF16), State("constant", 3 * width, 0, None, FP32))
    return part("linear.rwkv", made, kept, reads(kept, 8 * width), Mixing(Mixer.LINEAR_ATTENTION, "rwkv"))


def read_rwkv(v: View) -> Part:
    """RWKV-4's time mixing as the config states it."""
    d = v.count("hidden_size")
    stated = v.opt_count("attention_hidden_size")
    return rwkv(
        d, v.derived("attention_hidden_size", d, "hidden_size, as none is stated") if stated is None else stated
    )


@lru_cache(maxsize=1024)
def channel_mix(d: int, d_ff: int) -> Part:
    """RWKV-4's channel mixing: squared ReLU behind a receptance gate, with the last token's hidden state kept."""
    f = Component.FFN_DENSE
    shapes = {"key": (d_ff, d), "receptance": (d, d), "value": (d, d_ff)}
    made = [Tensor(f"feed_forward.{n}.weight", x, f) for n, x in shapes.items()]
    made += [Tensor(f"feed_forward.time_mix_{n}", (1, 1, d), f, Role.VECTOR) for n in ("key", "receptance")]
    kept = (State("constant", d, 0, None, BF16),)
    return part("ffn.channel_mix", made, kept, reads(kept, 0), Feeding(Ffn.DENSE, "mlp", d_ff, "relu2", True))


def read_channel_mix(v: View) -> Part:
    """RWKV-4's channel mixing as the config states it; four times the hidden size where no width is stated."""
    d, d_ff = v.count("hidden_size"), v.opt_count("intermediate_size")
    return channel_mix(
        d, v.derived("intermediate_size", 4 * d, "4 x hidden_size, as none is stated") if d_ff is None else d_ff
    )


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


def read_short_conv(v: View) -> Part:
    """A gated short convolution as the config states it."""
    return short_conv(v.count("hidden_size"), v.count("conv_kernel"), v.flag("conv_bias"))
