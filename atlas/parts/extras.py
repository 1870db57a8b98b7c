"""Tensors that a few families add to a usual part: gates, learned scales, sublayer norms, activations with weights.

A row names them in `extras`; every name here is one function from the part's view and facts to its tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from atlas.numbers.structure import Feeding, Mixing, Part, Tensor, part
from atlas.parts.attention import read_alike
from atlas.parts.ends import norm
from atlas.parts.ffn import activation, read_mlp, read_moe, shared_width
from atlas.reading.config import View
from atlas.refusal import bad_value, contradiction, not_derivable
from schemas.vocabulary import Component, Ffn, Role

A, F, N, X = Component.ATTENTION, Component.FFN_DENSE, Component.NORM, Component.OTHER
Extra = Callable[[View, Any], Iterable[Tensor]]


def vector(name: str, width: int, component: Component) -> Tensor:
    """A vector of weights."""
    return Tensor(name, (width,), component, Role.VECTOR)


@lru_cache(maxsize=8192)
def extended(p: Part, more: tuple[Tensor, ...]) -> Part:
    """The part with more tensors."""
    return part(p.kind, p.tensors + more, p.states, p.reads, p.info)


@lru_cache(maxsize=4096)
def again(p: Part) -> Part:
    """The part run once more with the weights it already has: nothing stored, the same work, a cache of its own."""
    return part(p.kind, tuple(t._replace(stored=0) for t in p.tensors), p.states, p.reads, p.info)


def sure(n: int | None) -> int:
    """A number that the part before states."""
    if n is None:
        raise TypeError("the part states no such number")
    return n


def _wide(m: Mixing) -> int:
    return sure(m.n_q_heads) * sure(m.head_dim)


def gate_proj(v: View, m: Mixing) -> list[Tensor]:
    """A projection as wide as the queries whose sigmoid gates the output of attention."""
    return [Tensor("self_attn.gate_proj.weight", (_wide(m), v.count("hidden_size")), A)]


def gate_proj_biased(v: View, m: Mixing) -> list[Tensor]:
    """The same gate, with a bias where the other projections have one."""
    return [*gate_proj(v, m), *[vector("self_attn.gate_proj.bias", _wide(m), A)] * v.flag("qkv_bias")]


def square_output(v: View, m: Mixing) -> list[Tensor]:
    """No tensor: the output projection is square, so that heads must fill the hidden state."""
    if _wide(m) != v.count("hidden_size"):
        raise contradiction(f"{m.n_q_heads} heads of {m.head_dim} do not fill hidden_size {v.count('hidden_size')}")
    return []


def latent_norms(v: View, _: Feeding) -> list[Tensor]:
    """Norms of the latent width before and after the experts."""
    width = v.count("moe_latent_size")
    return [
        vector("mlp.pre_expert_norm.weight", width, N),
        vector("mlp.experts.post_expert_norm.weight", width, Component.EXPERTS_ROUTED),
    ]


def gate_bias(_: View, m: Mixing) -> list[Tensor]:
    """One bias per head for that gate."""
    return [vector("self_attn.gate_bias", sure(m.n_q_heads), A)]


def head_gate(v: View, m: Mixing) -> list[Tensor]:
    """One gate per head, where the config has it on."""
    return [Tensor("self_attn.g_proj.weight", (sure(m.n_q_heads), v.count("hidden_size")), A)] * v.flag(
        "use_attention_gate"
    )


def lambdas(_: View, m: Mixing) -> list[Tensor]:
    """Four vectors that weigh the two attentions of a differential pair (arXiv 2410.05258)."""
    return [vector(f"self_attn.lambda_{x}", sure(m.head_dim), A) for x in ("q1", "k1", "q2", "k2")]


def read_differential(v: View) -> Part:
    """Attention in pairs of heads, the second subtracted from the first: both read the values of two heads."""
    usual = read_alike(v)
    assert isinstance(usual.info, Mixing)  # noqa: S101 - attention says what it is
    return differential(extended(usual, tuple(lambdas(v, usual.info))))


@lru_cache(maxsize=256)
def differential(p: Part) -> Part:
    """The same weights and cache, each head's values two heads wide (arXiv 2410.05258, equation 1)."""
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention says what it is
    more = 2 * sure(p.info.n_q_heads) * sure(p.info.v_head_dim)
    reads = tuple(r._replace(flops=r.flops + more) for r in p.reads)
    return part("attention.differential", p.tensors, p.states, reads, p.info)


def dynamic_mask(v: View, m: Mixing) -> list[Tensor]:
    """The weights that compute Doge's dynamic mask from the values."""
    heads = sure(m.n_kv_heads)
    made = [vector("self_attn.A", heads, A)]
    made.append(Tensor("self_attn.dt_proj.weight", (heads, heads * sure(m.head_dim)), A))
    return made + [vector("self_attn.dt_proj.bias", heads, A)] * v.flag("qkv_bias")


def unit_scales(_: View, m: Mixing) -> list[Tensor]:
    """Scales of normalized queries and keys, and of the gate (arXiv 2410.01131)."""
    return [vector("self_attn.sqk", _wide(m), A), vector("self_attn.s_gate", _wide(m), A)]


def attention_sub_norm(v: View, _: Mixing) -> list[Tensor]:
    """A norm between attention and its output projection."""
    return _sub_norm(v, "self_attn.attn_sub_norm", v.count("hidden_size"), A)


def _sub_norm(v: View, name: str, width: int, component: Component) -> list[Tensor]:
    words = ("weight", "bias") if v.flag("norm_bias") else ("weight",)
    return [vector(f"{name}.{w}", width, component) for w in words]


def xielu(_: View, f: Feeding) -> list[Tensor]:
    """An activation with two learned numbers, and two fixed ones that the checkpoint keeps (arXiv 2411.13010)."""
    if f.activation != "xielu":
        return []
    learned = [vector(f"mlp.act_fn.{x}", 1, F) for x in ("alpha_p", "alpha_n")]
    return learned + [vector(f"mlp.act_fn.{x}", 1, Component.BUFFERS) for x in ("beta", "eps")]


def hidden_scales(_: View, f: Feeding) -> list[Tensor]:
    """Scales of the gate's and the up projection's outputs."""
    return [vector("mlp.suv_gate", f.d_ff, F), vector("mlp.suv_up", f.d_ff, F)]


def ffn_sub_norm(v: View, f: Feeding) -> list[Tensor]:
    """A norm between the activation and the down projection."""
    return _sub_norm(v, "mlp.ffn_sub_norm", f.d_ff, N)


def delay_scale(v: View, _: Feeding) -> list[Tensor]:
    """Two matrices that turn the delay into a scale of the network's input (Voxtral Realtime)."""
    d, width = v.count("hidden_size"), v.count("delay_width")
    return [Tensor("ada_rms_norm.linear1.weight", (width, d), F), Tensor("ada_rms_norm.linear2.weight", (d, width), F)]


def shared_bias(v: View, f: Feeding) -> list[Tensor]:
    """Biases of the shared experts, where the config has biases."""
    if not (f.n_shared and v.flag("ffn_bias")):
        return []
    width = shared_width(v, f.n_shared, f.d_ff)
    shapes = {"gate_proj": width} if f.is_gated else {}
    shapes |= {"up_proj": width, "down_proj": v.count("hidden_size")}
    return [vector(f"mlp.shared_experts.{n}.bias", w, Component.EXPERTS_SHARED) for n, w in shapes.items()]


def latent_bias(v: View, _: Feeding) -> list[Tensor]:
    """Biases of the projections into the width that experts work in and back, where the config has biases."""
    inner = v.opt_count("moe_latent_size")
    if inner is None or not v.flag("ffn_bias"):
        return []
    widths = {"fc1_latent_proj": inner, "fc2_latent_proj": v.count("hidden_size")}
    return [vector(f"mlp.{n}.bias", w, Component.OTHER) for n, w in widths.items()]


def some_shared(v: View, f: Feeding) -> list[Tensor]:
    """Nothing of its own; raises `Refused` without shared experts, as the class builds another network then."""
    if not f.n_shared or not shared_width(v, f.n_shared, f.d_ff):
        raise not_derivable("no shared expert is stated, but the class builds one as wide as a dense layer then")
    return []


def output_bias(v: View, _: Feeding) -> list[Tensor]:
    """One bias on the sum of the experts' outputs."""
    return [vector("mlp.bias", v.count("hidden_size"), F)]


EXTRAS: dict[str, Extra] = {
    f.__name__: f
    for f in (
        gate_proj, gate_proj_biased, square_output, latent_norms, gate_bias, head_gate, lambdas, dynamic_mask,
        unit_scales, attention_sub_norm, xielu, hidden_scales, ffn_sub_norm, delay_scale,
        shared_bias, latent_bias, some_shared, output_bias,
    )
}  # fmt: skip


def _with(read: Callable[[View], Part]) -> Callable[[View], Part]:
    def reader(v: View) -> Part:
        usual = read(v)
        made = extended(usual, tuple(t for n in v.items("extras") for t in EXTRAS[n](v, usual.info)))
        return again(made) if v.opt("again") else made

    return reader


def read_scales(v: View) -> Part:
    """Vectors as wide as the hidden state that stand beside the sublayers: residual scales and the like."""
    width = v.count("hidden_size")
    made = _vectors(tuple(v.items("names")), width)
    return again(made) if v.opt("again") else made


def read_norm(v: View) -> Part:
    """Norms that stand within a sublayer's parts."""
    made = _norms(tuple(v.items("names")), v.count("hidden_size"), v.word("norm_class"), v.flag("norm_bias"))
    made = within(made, Component(v.word("component"))) if v.opt("component") else made
    return again(made) if v.opt("again") else made


@lru_cache(maxsize=256)
def within(p: Part, component: Component) -> Part:
    """The same weights, booked with another component, as the reference books a norm inside attention's module."""
    return part(p.kind, tuple(t._replace(component=component) for t in p.tensors))


@lru_cache(maxsize=1024)
def _norms(names: tuple[str, ...], width: int, cls: str, bias: bool) -> Part:
    return part("norm", [t for n in names for t in norm(n, width, cls, bias).tensors])


def read_adapters(v: View) -> Part:
    """A small network per language behind the feed-forward; a token runs through that of its language (X-MOD)."""
    d, n = v.count("hidden_size"), len(v.items("languages"))
    if not n or v.flag("adapter_layer_norm"):
        raise not_derivable("adapters without languages, or with norms of their own, are not described")
    return _adapters(d, d // v.count("adapter_reduction_factor"), n)


@lru_cache(maxsize=256)
def _adapters(d: int, width: int, n: int) -> Part:
    made: list[Tensor] = []
    for name, out, inside in (("dense1", width, d), ("dense2", d, width)):
        made.append(Tensor(f"output.adapter_modules.{{l}}.{name}.weight", (out, inside), F, Role.MATMUL, n, 1))
        made.append(Tensor(f"output.adapter_modules.{{l}}.{name}.bias", (out,), F, Role.VECTOR, n, 1))
    return part("adapters", made)


@lru_cache(maxsize=1024)
def _vectors(names: tuple[str, ...], width: int) -> Part:
    return part("scales", [vector(n, width, X) for n in names])


@lru_cache(maxsize=1024)
def _retrieved(d: int, d_ff: int, experts: int, top_k: int, bias: bool, activation: str) -> Part:
    keys = int(experts**0.5)
    made = [Tensor("mlp.router_gate.weight", (2 * keys, d), Component.ROUTER)]
    found = ("mlp.down_embed.weight", "mlp.up_embed.weight")
    made += [Tensor(n, (1, d), Component.EXPERTS_ROUTED, Role.MATMUL, experts, top_k) for n in found]
    for x, shape in {"gate_proj": (d_ff, d), "up_proj": (d_ff, d), "down_proj": (d, d_ff)}.items():
        made.append(Tensor(f"mlp.{x}.weight", shape, Component.EXPERTS_SHARED))
        made += [vector(f"mlp.{x}.bias", shape[0], Component.EXPERTS_SHARED)] * bias
    return part("ffn.retrieved", made, info=Feeding(Ffn.MOE, "moe", 1, activation, True, experts, 1, top_k))


def read_retrieved(v: View) -> Part:
    """One shared network and many experts of one neuron, found by product keys (Doge, after arXiv 2407.04153)."""
    info = read_mlp(v).info
    width = info.d_ff if isinstance(info, Feeding) else v.count("intermediate_size")
    experts, top_k = v.count("num_experts"), v.count("num_experts_per_tok")
    if top_k > experts:
        raise bad_value("num_experts_per_tok", top_k, f"at most {experts}")
    return _retrieved(v.count("hidden_size"), width, experts, top_k, v.flag("ffn_bias"), activation(v))


MIXERS = {
    "gqa_plus": _with(read_alike),
    "differential": read_differential,
    "scales": read_scales,
    "norm": read_norm,
}
FFNS = {
    "mlp_plus": _with(read_mlp),
    "moe_plus": _with(read_moe),
    "scales": read_scales,
    "language_adapters": read_adapters,
    "norm": read_norm,
    "retrieved": read_retrieved,
}
