"""Tensors that stand beside a usual part: gates, learned scales, sublayer norms, activations with weights.

Every function gives the tensors of one addition; `extended` makes a part of them and the usual ones.
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.norms import vector
from schemas.vocabulary import Component, Role

A = Component.ATTENTION
F = Component.FFN_DENSE
N = Component.NORM


@lru_cache(maxsize=8192)
def extended(p: Part, more: tuple[Tensor, ...]) -> Part:
    """The part with more tensors."""
    return part(p.kind, p.tensors + more, p.states, p.reads, p.info)


def gate(wide: int, d: int, bias: bool) -> list[Tensor]:
    """A projection as wide as the queries whose sigmoid gates the output of attention."""
    made = [Tensor("self_attn.gate_proj.weight", (wide, d), A)]
    return [*made, *[vector("self_attn.gate_proj.bias", wide, A)] * bias]


def latent_gates(widths: dict[str, int], rank: int) -> list[Tensor]:
    """Down to `rank` and up again, on the norm of each latent."""
    shapes = {f"{n}_layernorm.{s}": x for n, w in widths.items() for s, x in (("down", (rank, w)), ("up", (w, rank)))}
    return [Tensor(f"self_attn.{n}.weight", shape, A) for n, shape in shapes.items()]


def gate_bias(heads: int) -> list[Tensor]:
    """One bias per head for that gate."""
    return [vector("self_attn.gate_bias", heads, A)]


def head_gate(heads: int, d: int) -> list[Tensor]:
    """One gate per head."""
    return [Tensor("self_attn.g_proj.weight", (heads, d), A)]


def lambdas(head_dim: int) -> list[Tensor]:
    """Four vectors that weigh the two attentions of a differential pair (arXiv 2410.05258)."""
    return [vector(f"self_attn.lambda_{x}", head_dim, A) for x in ("q1", "k1", "q2", "k2")]


def dynamic_mask(kv_heads: int, head_dim: int, bias: bool) -> list[Tensor]:
    """The weights that compute Doge's dynamic mask from the values."""
    made = [vector("self_attn.A", kv_heads, A)]
    made.append(Tensor("self_attn.dt_proj.weight", (kv_heads, kv_heads * head_dim), A))
    return made + [vector("self_attn.dt_proj.bias", kv_heads, A)] * bias


def unit_scales(wide: int) -> list[Tensor]:
    """Scales of normalized queries and keys, and of the gate (arXiv 2410.01131)."""
    return [vector("self_attn.sqk", wide, A), vector("self_attn.s_gate", wide, A)]


def relative_bias(buckets: int, heads: int) -> list[Tensor]:
    """A table with one bias per bucket of distances and head."""
    return [Tensor("self_attn.relative_attention_bias.weight", (buckets, heads), A, Role.LOOKUP)]


def relative_tables(reach: int, head_dim: int, heads: int) -> list[Tensor]:
    """A key and a value for every distance up to `reach` either way, which all heads share (arXiv 1803.02155)."""
    shape = (1, 2 * reach + 1, head_dim)
    return [Tensor(f"self_attn.emb_rel_{x}", shape, A, touched=heads) for x in "kv"]


def global_projections(p: Part) -> list[Tensor]:
    """Projections of their own for tokens that see everything (Longformer)."""
    kept = (t for t in p.tensors if "o_proj" not in t.name)
    return [t._replace(name=t.name.replace("_proj", "_proj_global")) for t in kept]


def global_sums(p: Part, d: int) -> list[Tensor]:
    """A norm and relative positions of their own for sums of blocks (LongT5)."""
    made = [vector("self_attn.global_input_layer_norm.weight", d, A)]
    tables = (t for t in p.tensors if "relative" in t.name)
    return made + [t._replace(name=t.name.replace("relative", "global_relative")) for t in tables]


def value_convolution(heads: int, kernel: int) -> list[Tensor]:
    """A convolution over the tokens of the values, one kernel per head (Nystromformer)."""
    return [Tensor("self_attn.conv.weight", (heads, 1, kernel, 1), A)]


def relative_projection(wide: int, d: int) -> list[Tensor]:
    """A projection to relative positions, with its bias (ProphetNet)."""
    made = [Tensor("self_attn.relative_pos_embeddings.weight", (wide, d), A)]
    return [*made, vector("self_attn.relative_pos_embeddings.bias", wide, A)]


def attention_sub_norm(d: int, bias: bool) -> list[Tensor]:
    """A norm between attention and its output projection."""
    return _sub_norm("self_attn.attn_sub_norm", d, A, bias)


def ffn_sub_norm(d_ff: int, bias: bool) -> list[Tensor]:
    """A norm between the activation and the down projection."""
    return _sub_norm("mlp.ffn_sub_norm", d_ff, N, bias)


def _sub_norm(name: str, width: int, component: Component, bias: bool) -> list[Tensor]:
    return [vector(f"{name}.{w}", width, component) for w in (("weight", "bias") if bias else ("weight",))]


def xielu() -> list[Tensor]:
    """An activation with two learned numbers, and two fixed ones that the checkpoint keeps (arXiv 2411.13010)."""
    learned = [vector(f"mlp.act_fn.{x}", 1, F) for x in ("alpha_p", "alpha_n")]
    return learned + [vector(f"mlp.act_fn.{x}", 1, Component.BUFFERS) for x in ("beta", "eps")]


def hidden_scales(d_ff: int) -> list[Tensor]:
    """Scales of the gate's and the up projection's outputs."""
    return [vector("mlp.suv_gate", d_ff, F), vector("mlp.suv_up", d_ff, F)]


def delay_scale(d: int, width: int) -> list[Tensor]:
    """Two matrices that turn the delay into a scale of the network's input (Voxtral Realtime)."""
    return [Tensor("ada_rms_norm.linear1.weight", (width, d), F), Tensor("ada_rms_norm.linear2.weight", (d, width), F)]


def shared_bias(d: int, width: int, gated: bool) -> list[Tensor]:
    """Biases of shared experts that are `width` wide together."""
    shapes = {"gate_proj": width} if gated else {}
    shapes |= {"up_proj": width, "down_proj": d}
    return [vector(f"mlp.shared_experts.{n}.bias", w, Component.EXPERTS_SHARED) for n, w in shapes.items()]


def latent_bias(d: int, inner: int) -> list[Tensor]:
    """Biases of the projections into the width that experts work in and back."""
    widths = {"fc1_latent_proj": inner, "fc2_latent_proj": d}
    return [vector(f"mlp.{n}.bias", w, Component.OTHER) for n, w in widths.items()]


def latent_norms(inner: int) -> list[Tensor]:
    """Norms of the latent width before and after the experts."""
    return [
        vector("mlp.pre_expert_norm.weight", inner, N),
        vector("mlp.experts.post_expert_norm.weight", inner, Component.EXPERTS_ROUTED),
    ]


def latent_norm(inner: int) -> list[Tensor]:
    """A norm of the latent width behind the experts (Kimi K3)."""
    return [vector("mlp.routed_expert_norm.weight", inner, N)]


def output_bias(d: int) -> list[Tensor]:
    """One bias on the sum of the experts' outputs."""
    return [vector("mlp.bias", d, F)]


@lru_cache(maxsize=1024)
def without(p: Part, names: tuple[str, ...]) -> Part:
    """The part without the tensors that have one of these names in theirs."""
    kept = tuple(t for t in p.tensors if not any(f".{n}." in t.name for n in names))
    return part(p.kind, kept, p.states, p.reads, p.info)


def value_experts(d: int, width: int, experts: int, chosen: int, bias: bool) -> list[Tensor]:
    """Value projections as experts behind a router of their own; the value kept is of the usual width (K2 Horizon)."""
    made = [Tensor("self_attn.v_router.weight", (experts, d), Component.ROUTER)]
    made += [vector("self_attn.v_router.bias", experts, Component.ROUTER)] * bias
    name = "self_attn.v_experts.{e}.weight"
    return [*made, Tensor(name, (width, d), Component.EXPERTS_ROUTED, Role.MATMUL, experts, chosen)]


def polynomial(experts: int, chosen: int, shared: bool) -> list[Tensor]:
    """An activation with three learned weights and a bias, per network and per expert (PolyNorm)."""
    sizes = {"weight": 3, "bias": 1}
    if not experts:
        return [vector(f"mlp.act_fn.{x}", n, Component.FFN_DENSE) for x, n in sizes.items()]
    name, routed = "mlp.experts.{e}.act_fn", Component.EXPERTS_ROUTED
    made = [Tensor(f"{name}.{x}", (n,), routed, Role.VECTOR, experts, chosen) for x, n in sizes.items()]
    beside = [vector(f"mlp.shared_experts.act_fn.{x}", n, Component.EXPERTS_SHARED) for x, n in sizes.items()]
    return made + beside * shared


def image_selection(experts: int) -> list[Tensor]:
    """A second correction bias, for tokens of images."""
    return [vector("mlp.gate.image_correction_bias", experts, Component.ROUTER)]


def network_scale() -> list[Tensor]:
    """One learned scale of the network's output."""
    return [vector("mlp.global_scale", 1, Component.FFN_DENSE)]


def down_bias(d: int) -> list[Tensor]:
    """A bias on the down projection alone."""
    return [vector("mlp.down_proj.bias", d, Component.FFN_DENSE)]
