"""Blocks whose weights several layers share, as a config states them (Zamba)."""

from __future__ import annotations

from atlas.layouts.words import Stored
from atlas.numbers.structure import Part
from atlas.parts.reused import Shared, attention, network
from atlas.readers.feeding import activation
from atlas.readers.view import View, said


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
        int(said(v, Stored).stored),
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
