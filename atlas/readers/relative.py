"""Attention with learned relative positions, its experts and convolutions, as a config states them (Inkling)."""

from __future__ import annotations

from atlas.layouts.words import Round
from atlas.numbers.structure import Part
from atlas.parts.convolved import Relative, attending_experts, convolution, relative, relative_gated
from atlas.parts.experts import moe, with_shared_scores
from atlas.readers.experts import routed_alone
from atlas.readers.view import View, said


def _scalars(v: View) -> Relative:
    """Windowed layers have heads of their own, and relative positions reach as far as the window."""
    windowed = v.word("mixer") == "sliding_attention"
    names = (
        ("swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim")
        if windowed
        else ("num_attention_heads", "num_key_value_heads", "head_dim")
    )
    heads, kv, width = (v.count(n) for n in names)
    window = v.count("sliding_window_size") if windowed else None
    return Relative(
        v.count("hidden_size"),
        heads,
        kv,
        width,
        v.count("d_rel"),
        window or v.count("rel_extent"),
        v.count("conv_kernel_size"),
        window,
    )


def read_first(v: View) -> Part:
    """Attention of the first generation as the config states it."""
    return relative(_scalars(v))


def read_second(v: View) -> Part:
    """Attention of the later generations as the config states it, its gates booked from the second round on."""
    own = said(v, Round)
    rank = v.count("loop_gate_rank") if own.number else 0
    return relative_gated(_scalars(v), own.leads, rank, int(own.number < 2), 0 if own.number == 2 else 1)


def read_second_network(v: View) -> Part:
    """Experts of the later generations, with what stands before and after them."""
    scalars = routed_alone(v)._replace(correction_bias=True)
    return attending_experts(moe(scalars), scalars.d, v.count("conv_kernel_size"), int(said(v, Round).number < 2))


def read_first_experts(v: View) -> Part:
    """Experts of the first generation, as the config states them."""
    alone, n = routed_alone(v), v.count("n_shared_experts")
    scalars = alone._replace(shared=n * alone.d_ff, n_shared=n, correction_bias=True)
    return with_shared_scores(moe(scalars), scalars)


def read_convolution(v: View) -> Part:
    """The convolution as the config states it."""
    return convolution(v.count("hidden_size"), v.count("conv_kernel_size"))
