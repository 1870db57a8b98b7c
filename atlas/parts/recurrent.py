"""Mixers with a state of fixed size: Mamba-2 and gated delta rule.

State sizes are those of the reference implementation: a convolution window of `kernel` columns in the cache's dtype,
and the
recurrent state in fp32 (Dao and Gu 2024, arXiv 2405.21060; Yang et al. 2024, arXiv 2412.06464).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.reading.config import View
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Mixer, Role

R = Component.RECURRENT
FP32 = 4


def states(conv_width: int, kernel: int, recurrent: int) -> tuple[State, State]:
    """The convolution window and the recurrent state of one layer."""
    columns = State("constant", conv_width * kernel, 0, None, 2, channels=conv_width, kernel=kernel)
    return columns, State("constant", recurrent, 0, None, FP32)


class Mamba2(NamedTuple):
    """Scalars of one Mamba-2 mixer: `heads` of `head_dim`, `groups` of B and C with `n` states each."""

    d: int
    heads: int
    head_dim: int
    groups: int
    n: int
    kernel: int
    conv_bias: bool
    in_bias: bool
    out_bias: bool
    gated_norm: bool = True


@lru_cache(maxsize=4096)
def mamba2(s: Mamba2) -> Part:
    """A Mamba-2 mixer of these scalars.

    One step costs 6 FLOPs per state element: decay, input, output, a multiply-add each.
    """
    inner = s.heads * s.head_dim
    conv = inner + 2 * s.groups * s.n
    made = [
        Tensor("mamba.in_proj.weight", (inner + conv + s.heads, s.d), R),
        Tensor("mamba.conv1d.weight", (conv, 1, s.kernel), R),
        Tensor("mamba.A_log", (s.heads,), R, Role.VECTOR),
        Tensor("mamba.D", (s.heads,), R, Role.VECTOR),
        Tensor("mamba.dt_bias", (s.heads,), R, Role.VECTOR),
        Tensor("mamba.out_proj.weight", (s.d, inner), R),
    ]
    made += [Tensor("mamba.norm.weight", (inner,), R, Role.VECTOR)] * s.gated_norm
    made += [Tensor("mamba.conv1d.bias", (conv,), R, Role.VECTOR)] * s.conv_bias
    made += [Tensor("mamba.in_proj.bias", (inner + conv + s.heads,), R, Role.VECTOR)] * s.in_bias
    made += [Tensor("mamba.out_proj.bias", (s.d,), R, Role.VECTOR)] * s.out_bias
    size = inner * s.n
    kept = states(conv, s.kernel, size)
    return part("ssm.mamba2", made, kept, reads(kept, 6 * size), Mixing(Mixer.SSM, "mamba2"))


def reads(kept: tuple[State, ...], flops: int) -> tuple[Read, ...]:
    """Every state is loaded once a token; the arithmetic is booked on the last."""
    last = len(kept) - 1
    return tuple(Read(flops if i == last else 0, s.elements, 0, width=s.width) for i, s in enumerate(kept))


def read_mamba2(v: View) -> Part:
    """A Mamba-2 mixer as the config states it."""
    d, heads = v.count("hidden_size"), v.count("mamba_n_heads")
    inner = _inner(v, d)
    width = v.opt("mamba_d_head")
    if width in (None, "auto") and inner is not None:
        width = v.derived("mamba_d_head", inner // heads, f"inner width over heads = {inner} / {heads}")
    else:
        width = v.count("mamba_d_head")
    if inner is not None and inner != heads * width:
        raise contradiction(f"inner width {inner} is not {heads} heads of {width}")
    return mamba2(
        Mamba2(
            d,
            heads,
            width,
            v.count("mamba_n_groups"),
            v.count("mamba_d_state"),
            v.count("mamba_d_conv"),
            v.flag("mamba_conv_bias"),
            v.flag("mamba_proj_bias"),
            v.flag("mamba_out_bias"),
            v.flag("mamba_rms_norm"),
        )
    )


def _inner(v: View, d: int) -> int | None:
    """The stated inner width, else the hidden size times the stated expansion; None where heads alone decide."""
    stated = v.opt_count("mamba_d_ssm")
    if stated is not None:
        return stated
    expand = v.config.number("mamba_expand")
    return None if expand is None else v.derived("mamba_d_ssm", int(expand * d), f"{expand:g} x hidden_size")


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
    kept = states(conv, s.kernel, size)
    return part("linear.gated_delta", made, kept, reads(kept, 8 * size), Mixing(Mixer.LINEAR_ATTENTION, "gdn"))


def read_gated_delta(v: View) -> Part:
    """A gated delta-rule mixer as the config states it."""
    return gated_delta(
        GatedDelta(
            v.count("hidden_size"),
            v.count("linear_num_key_heads"),
            v.count("linear_num_value_heads"),
            v.count("linear_key_head_dim"),
            v.count("linear_value_head_dim"),
            v.count("linear_conv_kernel_dim"),
        )
    )
