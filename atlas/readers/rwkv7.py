"""RWKV-7 as a config states it."""

from __future__ import annotations

from atlas.numbers.structure import Part
from atlas.parts.rwkv7 import Rwkv7, rwkv7, token_mix
from atlas.readers.view import View
from atlas.refusal import contradiction, not_derivable

MODES = ("chunk", "fused_recurrent")


def read_rwkv7(v: View) -> Part:
    """The mixer. Two published codes go by this model_type, and the other one stores more in the first layer."""
    if v.opt("attn_mode") not in MODES:
        raise not_derivable(
            f"attn_mode is none of {', '.join(MODES)}: files of other code store a bottleneck more in the first layer"
        )
    d, width = v.count("hidden_size"), v.count("head_dim")
    stated = v.opt("value_dim")
    if stated is not None and set(v.items("value_dim")) != {d}:
        raise not_derivable("value_dim is not hidden_size in every layer: no published model has it")
    if d % width:
        raise contradiction(f"hidden_size {d} is not a multiple of heads of {width}")
    decay, rate, gate = (v.count(f"{x}_low_rank_dim") for x in ("decay", "a", "gate"))
    return rwkv7(Rwkv7(d, width, decay, rate, gate, 0 if v.flag("is_first") else v.count("v_low_rank_dim")))


def read_token_mix(v: View) -> Part:
    """The network; four times the hidden size by its ratio, up to a multiple of 32, where no width is stated."""
    d, d_ff = v.count("hidden_size"), v.opt_count("intermediate_size")
    if d_ff is None:
        ratio = v.config.number("hidden_ratio") or 4.0
        d_ff = v.derived(
            "intermediate_size", -(-int(d * ratio) // 32) * 32, f"{ratio:g} x hidden_size, a multiple of 32"
        )
    return token_mix(d, d_ff)
