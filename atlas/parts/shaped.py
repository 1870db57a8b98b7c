"""Readers of known parts whose scalars follow a family's own rule: MQA by a switch, rounded widths, shared experts."""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Feeding, Part, part
from atlas.parts.attention import Gqa, gqa, head_dim
from atlas.parts.ffn import Mlp, Moe, activation, matrices, mlp, moe
from atlas.parts.mla import read_mla
from atlas.reading.config import View
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Ffn


def read_multi_query(v: View) -> Part:
    """One KV head where `multi_query` is true, one per query head where not (GPT-BigCode)."""
    d, heads, shared = v.count("hidden_size"), v.count("num_attention_heads"), v.flag("multi_query")
    kv = v.derived(
        "num_key_value_heads",
        1 if shared else heads,
        "multi_query: one KV head" if shared else "one KV head per query head",
    )
    hd = head_dim(v, d, heads)
    return gqa(Gqa(d, heads, kv, hd, hd, v.flag("qkv_bias"), v.flag("o_bias"), position=v.text("position")))


def read_mla_derived(v: View) -> Part:
    """Latent attention whose value width is the hidden size over heads, where none is stated (MiniCPM3)."""
    if v.opt_count("v_head_dim") is None:
        d, heads = v.count("hidden_size"), v.count("num_attention_heads")
        if d % heads:
            raise contradiction(f"hidden_size {d} is not a multiple of {heads} heads and no v_head_dim is stated")
        v.derived("v_head_dim", d // heads, f"hidden_size / num_attention_heads = {d} / {heads}")
    return read_mla(v)


def read_block_mlp(v: View) -> Part:
    """Two thirds of the stated width, scaled, rounded up, where `block_auto_adjust_ff_dim` is true (LFM2)."""
    width = v.count("intermediate_size")
    if v.flag("block_auto_adjust_ff_dim"):
        width = _adjusted(v, int(2 * width / 3))
    return mlp(Mlp(v.count("hidden_size"), width, True, False, activation(v)))


def _adjusted(v: View, width: int) -> int:
    scale = v.config.number("block_ffn_dim_multiplier")
    if scale is not None:
        unit = v.count("block_multiple_of")
        width = unit * ((int(scale * width) + unit - 1) // unit)
    return v.derived(
        "effective_intermediate_size", max(width, 1), "2/3 of the stated width, scaled, rounded up to block_multiple_of"
    )


def read_half_mlp(v: View) -> Part:
    """A gated network half as wide as stated: the stated width counts gate and up together (RecurrentGemma)."""
    width = v.derived("effective_intermediate_size", v.count("intermediate_size") // 2, "half of intermediate_size")
    return mlp(Mlp(v.count("hidden_size"), max(width, 1), True, v.flag("ffn_bias"), activation(v)))


def read_granite_moe(v: View) -> Part:
    """Experts with a shared network beside them, whose width 0 means there is none."""
    shared = v.size("shared_expert_intermediate_size")
    return moe(
        Moe(
            v.count("hidden_size"),
            v.count("intermediate_size"),
            v.count("num_experts"),
            v.count("num_experts_per_tok"),
            True,
            activation(v),
            shared,
            v.derived("n_shared_experts", int(shared > 0), "a shared width is stated" if shared else "shared width 0"),
        )
    )


@lru_cache(maxsize=1024)
def shared_mlp(d: int, width: int, act: str) -> Part:
    """The shared network alone, as Granite's dense hybrids keep it: no routed experts, every token uses it."""
    made = matrices("shared_mlp", d, width, True, False, Component.EXPERTS_SHARED)
    return part("ffn.dense", made, info=Feeding(Ffn.DENSE, "mlp", width, act, True))


def read_shared_mlp(v: View) -> Part:
    """The shared network as the config states it."""
    return shared_mlp(v.count("hidden_size"), v.count("shared_expert_intermediate_size"), activation(v))
