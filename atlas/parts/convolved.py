"""Attention whose queries and keys pass short convolutions, experts behind a deep router (ZAYA, arXiv 2510.04476)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Part, Read, State, Tensor, part
from atlas.parts.attention import Gqa, gqa, kv_heads, rotary_dim
from atlas.parts.extras import vector
from atlas.parts.ffn import activation, matrices
from atlas.reading.config import View
from atlas.refusal import bad_value, contradiction
from schemas.vocabulary import Component, Ffn

A, R, X = Component.ATTENTION, Component.ROUTER, Component.OTHER


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


def read_convolved(v: View) -> Part:
    """Convolved attention as the config states it."""
    d, heads, hd = v.count("hidden_size"), v.count("num_attention_heads"), v.count("head_dim")
    kv, mixer, bias = kv_heads(v, heads), v.text("mixer"), v.flag("qkv_bias")
    if kv * hd % 2:
        raise contradiction(f"{kv} KV heads of {hd} cannot be halved")
    window = None if mixer == "full_attention" else v.count("window")
    usual = Gqa(d, heads, kv, hd, hd, bias, bias, "unit", mixer=mixer, window=window, rotary_dim=rotary_dim(v, hd))
    return convolved(Convolved(usual, v.count("cca_time0"), v.count("cca_time1")))


class Routed(NamedTuple):
    """Scalars of experts behind a router of three layers; the router also has a class for skipping."""

    d: int
    d_ff: int
    experts: int
    top_k: int
    router: int
    carries: bool  # whether it weighs the state of the router before it
    activation: str


@lru_cache(maxsize=1024)
def routed(s: Routed) -> Part:
    """Experts of these scalars."""
    w, classes = s.router, s.experts + 1
    shapes = {"down_proj": (w, s.d), "router_mlp.fc1": (w, w), "router_mlp.fc2": (w, w)}
    made = [Tensor(f"mlp.gate.{n}.weight", x, R) for n, x in shapes.items()]
    made += [vector(f"mlp.gate.{n}.bias", x[0], R) for n, x in shapes.items()]
    made += [
        vector("mlp.gate.router_mlp.norm.weight", w, R),
        Tensor("mlp.gate.router_mlp.out_proj.weight", (classes, w), R),
    ]
    made += [vector("mlp.gate.balancing_biases", classes, R)] + [
        vector("mlp.gate.router_states_scale", w, R)
    ] * s.carries
    made += matrices("mlp.experts.{e}", s.d, s.d_ff, True, False, Component.EXPERTS_ROUTED, s.experts, s.top_k)
    return part("ffn.moe", made, info=Feeding(Ffn.MOE, "moe", s.d_ff, s.activation, True, s.experts, 0, s.top_k))


def read_routed(v: View) -> Part:
    """Experts behind a deep router as the config states them."""
    experts, top_k = v.count("num_experts"), v.count("num_experts_per_tok")
    if top_k > experts:
        raise bad_value("num_experts_per_tok", top_k, f"at most {experts}")
    return routed(
        Routed(
            v.count("hidden_size"),
            v.count("moe_intermediate_size"),
            experts,
            top_k,
            v.count("router_hidden_size"),
            not v.opt("is_first"),
            activation(v),
        )
    )


MIXERS: dict[str, Callable[[View], Part]] = {"convolved": read_convolved}
FFNS: dict[str, Callable[[View], Part]] = {"deeply_routed": read_routed}
