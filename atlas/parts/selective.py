"""Selective state spaces: Mamba, Mamba-2, and Mamba in heads.

Gu and Dao 2023 (arXiv 2312.00752); Dao and Gu 2024 (arXiv 2405.21060).
State sizes are those of the reference implementation: a convolution window of `kernel` columns in the cache's dtype,
and the recurrent state in fp32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Tensor, part
from atlas.parts.state import reads, states
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Mixer, Role

R = Component.RECURRENT


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
    kept = states(conv, s.kernel, size, s.heads, s.groups, 2 * s.groups * s.n)
    return part("ssm.mamba2", made, kept, reads(kept, 6 * size), Mixing(Mixer.SSM, "mamba2"))


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
    kept = states(s.inner, s.kernel, s.inner * s.n, s.inner)
    return part("ssm.mamba", made, kept, reads(kept, 6 * s.inner * s.n), Mixing(Mixer.SSM, "mamba"))


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
    kept = states(s.inner, s.kernel, s.inner * s.n, s.heads)
    return part("ssm.mamba_heads", made, kept, reads(kept, 6 * s.inner * s.n), Mixing(Mixer.SSM, "mamba"))
