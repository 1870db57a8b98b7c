"""Blocks found by architecture search: every layer has its own KV heads and width, or a plain matrix instead.

Puzzle (arXiv 2411.19146), section 2.
A layer's word carries what differs: `attention:8` has 8 query heads on each KV head, `mlp:14336` that width.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from atlas.numbers.structure import Feeding, Part, Tensor, part
from atlas.parts import extras
from atlas.parts.attention import Gqa, gqa, head_dim
from atlas.parts.ffn import Mlp, activation, mlp
from atlas.reading.config import View
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Ffn


def number_of(v: View) -> int:
    """The number that a layer's word carries."""
    return int(v.part_word.partition(":")[2])


def read_block_attention(v: View) -> Part:
    """Attention whose KV heads are the query heads over those in a group."""
    d, heads, group = v.count("hidden_size"), v.count("num_attention_heads"), number_of(v)
    if heads % group:
        raise contradiction(f"{heads} query heads are no multiple of {group} in a group")
    hd, bias = head_dim(v, d, heads), v.flag("attention_bias")
    return gqa(Gqa(d, heads, heads // group, hd, hd, bias, bias, rotary_dim=hd))


def read_block_heads(v: View) -> Part:
    """Attention with the KV heads that the layer's word carries."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    hd = head_dim(v, d, heads)
    return gqa(Gqa(d, heads, number_of(v), hd, hd, v.flag("qkv_bias"), v.flag("o_bias"), rotary_dim=hd))


def read_block_moe(v: View) -> Part:
    """Experts whose number, width and top-k the layer's word carries, as `moe:16-256-2`."""
    experts, width, top_k = (int(n) for n in v.part_word.partition(":")[2].split("-"))
    own = {"num_experts": experts, "moe_intermediate_size": width, "num_experts_per_tok": top_k}
    spec = msgspec.structs.replace(v.spec, facts={**v.spec.facts, **own})
    return extras.FFNS["moe_plus"](View(v.config, spec, v.part_word))


def read_block_width(v: View) -> Part:
    """A gated network of the width that the layer's word carries."""
    return mlp(Mlp(v.count("hidden_size"), number_of(v), True, v.flag("ffn_bias"), activation(v)))


@lru_cache(maxsize=256)
def matrix(d: int, name: str, component: Component) -> Part:
    """One square matrix where attention or a feed-forward network stood."""
    info = Feeding(Ffn.DENSE, "linear", d, "none", False) if component is Component.FFN_DENSE else None
    return part("linear", [Tensor(f"{name}.weight", (d, d), component)], info=info)


def read_linear_attention(v: View) -> Part:
    """A matrix in attention's place: it mixes no tokens and keeps nothing."""
    return matrix(v.count("hidden_size"), "self_attn.linear_attn", Component.ATTENTION)


def read_linear_mlp(v: View) -> Part:
    """A matrix in the feed-forward network's place."""
    return matrix(v.count("hidden_size"), "mlp.linear_mlp", Component.FFN_DENSE)
