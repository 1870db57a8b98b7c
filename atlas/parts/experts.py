"""Experts behind a router: routed and shared, deeply routed, found by keys, of no weights, kept apart by modality.

Each builder says what it adds to the usual experts; some take the usual ones and add to them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Part, Tensor, part
from atlas.parts.attention import Gqa, gqa
from atlas.parts.feeding import matrices
from atlas.parts.norms import vector
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Ffn, Role

N = Component.NORM
ROUTED = Component.EXPERTS_ROUTED
T = Component.ROUTER


class Moe(NamedTuple):
    """Scalars of experts behind a router.

    `shared` is the width of all shared experts together, `n_shared` their number.
    """

    d: int
    d_ff: int
    experts: int
    top_k: int
    gated: bool
    activation: str
    shared: int = 0
    n_shared: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    correction_bias: bool = False
    expert_bias: bool = False
    latent: int | None = None  # the width experts work in, where the hidden state is projected down and up around them


@lru_cache(maxsize=8192)
def moe(s: Moe) -> Part:
    """Experts behind a router of these scalars."""
    if s.top_k > s.experts:
        raise contradiction(f"{s.top_k} experts per token out of {s.experts}")
    made = [Tensor("mlp.gate.weight", (s.experts, s.d), Component.ROUTER)]
    made += [Tensor("mlp.gate.bias", (s.experts,), Component.ROUTER, Role.VECTOR)] * s.router_bias
    made += [
        Tensor("mlp.gate.e_score_correction_bias", (s.experts,), Component.ROUTER, Role.VECTOR)
    ] * s.correction_bias
    inner = s.latent or s.d
    if s.latent:
        made.append(Tensor("mlp.fc1_latent_proj.weight", (s.latent, s.d), Component.OTHER))
        made.append(Tensor("mlp.fc2_latent_proj.weight", (s.d, s.latent), Component.OTHER))
    made += matrices(
        "mlp.experts.{e}", inner, s.d_ff, s.gated, s.expert_bias, Component.EXPERTS_ROUTED, s.experts, s.top_k
    )
    if s.shared:
        made += matrices("mlp.shared_experts", s.d, s.shared, s.gated, False, Component.EXPERTS_SHARED)
    if s.n_shared and s.shared_gate:  # the gate stands beside a shared expert of width 0, too
        made.append(Tensor("mlp.shared_expert_gate.weight", (1, s.d), Component.ROUTER))
    info = Feeding(Ffn.MOE, "moe", s.d_ff, s.activation, s.gated, s.experts, s.n_shared, s.top_k)
    return part("ffn.moe", made, info=info)


@lru_cache(maxsize=256)
def with_table(experts: Part, vocab: int, top_k: int) -> Part:
    """Experts that a fixed table assigns by token; the table is a buffer of the checkpoint."""
    table = Tensor("mlp.gate.tid2eid", (vocab, top_k), Component.BUFFERS, Role.LOOKUP)
    return part(experts.kind, (*experts.tensors, table), experts.states, experts.reads, experts.info)


@lru_cache(maxsize=256)
def with_scaled_router(p: Part, d: int, experts: int) -> Part:
    """Experts with a scaled router and three norms of their own."""
    more = [Tensor("router.scale", (d,), T, Role.VECTOR), Tensor("router.per_expert_scale", (experts,), T, Role.VECTOR)]
    names = ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")
    norms = [Tensor(f"{n}.weight", (d,), N, Role.VECTOR) for n in names]
    return part("ffn.moe_beside", (*p.tensors, *more, *norms), p.states, p.reads, p.info)


@lru_cache(maxsize=256)
def with_shared_scores(experts: Part, s: Moe) -> Part:
    """The router scores the shared experts too, and scales all of them."""
    more = [
        Tensor("mlp.gate.weight_shared", (s.n_shared, s.d), T),
        Tensor("mlp.gate.global_scale", (1,), T, Role.VECTOR),
    ]
    return part("ffn.moe_scored", (*experts.tensors, *more), experts.states, experts.reads, experts.info)


@lru_cache(maxsize=256)
def with_zero_experts(p: Part, d: int, choices: int, bias: bool) -> Part:
    """Experts behind a router that has choices without weights, too (LongCat-Flash, arXiv 2509.01322).

    How many real experts a token uses then varies: the number per token is the most there can be, and the mean is that
    of a router that takes every choice alike, which is what its correction biases hold it to.
    """
    router = [
        Tensor("mlp.router.classifier.weight", (choices, d), Component.ROUTER),
        Tensor("mlp.router.e_score_correction_bias", (choices,), Component.ROUTER, Role.VECTOR),
    ]
    router += [Tensor("mlp.router.classifier.bias", (choices,), Component.ROUTER, Role.VECTOR)] * bias
    kept = tuple(
        t._replace(choices=choices) if t.component is Component.EXPERTS_ROUTED else t
        for t in p.tensors
        if t.component is not Component.ROUTER
    )
    return part("ffn.moe_with_zero_experts", (*router, *kept), p.states, p.reads, p.info)


APART = ("mlp.gate.", "mlp.experts.")


@lru_cache(maxsize=1)
def nothing() -> Part:
    """A layer without the experts that others of its family have."""
    return part("none", [])


@lru_cache(maxsize=256)
def for_two(text: Part, vision: Part) -> Part:
    """The text's experts as usual; those of images are stored, and no token of text uses them."""
    more = tuple(t._replace(name=_of_images(t), touched=0) for t in vision.tensors if t.name.startswith(APART))
    return part("ffn.moe_by_modality", text.tensors + more, text.states, text.reads, text.info)


def _of_images(t: Tensor) -> str:
    return t.name.replace("mlp.", "mlp.vision_moe.", 1)


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
    made = [Tensor(f"mlp.gate.{n}.weight", x, T) for n, x in shapes.items()]
    made += [vector(f"mlp.gate.{n}.bias", x[0], T) for n, x in shapes.items()]
    made += [
        vector("mlp.gate.router_mlp.norm.weight", w, T),
        Tensor("mlp.gate.router_mlp.out_proj.weight", (classes, w), T),
    ]
    made += [vector("mlp.gate.balancing_biases", classes, T)] + [
        vector("mlp.gate.router_states_scale", w, T)
    ] * s.carries
    made += matrices("mlp.experts.{e}", s.d, s.d_ff, True, False, Component.EXPERTS_ROUTED, s.experts, s.top_k)
    return part("ffn.moe", made, info=Feeding(Ffn.MOE, "moe", s.d_ff, s.activation, True, s.experts, 0, s.top_k))


@lru_cache(maxsize=1024)
def retrieved(d: int, d_ff: int, experts: int, top_k: int, bias: bool, activation: str) -> Part:
    """One shared network and many experts of one neuron, found by product keys (after arXiv 2407.04153)."""
    keys = int(experts**0.5)
    made = [Tensor("mlp.router_gate.weight", (2 * keys, d), Component.ROUTER)]
    found = ("mlp.down_embed.weight", "mlp.up_embed.weight")
    made += [Tensor(n, (1, d), Component.EXPERTS_ROUTED, Role.MATMUL, experts, top_k) for n in found]
    for x, shape in {"gate_proj": (d_ff, d), "up_proj": (d_ff, d), "down_proj": (d, d_ff)}.items():
        made.append(Tensor(f"mlp.{x}.weight", shape, Component.EXPERTS_SHARED))
        made += [vector(f"mlp.{x}.bias", shape[0], Component.EXPERTS_SHARED)] * bias
    return part("ffn.retrieved", made, info=Feeding(Ffn.MOE, "moe", 1, activation, True, experts, 1, top_k))


class ExpertAttention(NamedTuple):
    """Scalars of attention whose query and output projections are experts over shared keys and values."""

    d: int
    kv_heads: int
    head_dim: int
    experts: int
    top_k: int
    rotary: int | None


@lru_cache(maxsize=1024)
def expert_attention(s: ExpertAttention) -> Part:
    """Each chosen expert brings `kv_heads` query heads of its own (JetMoE, arXiv 2404.07413, section 2.2)."""
    if s.top_k > s.experts:
        raise contradiction(f"{s.top_k} experts per token out of {s.experts}")
    usual = gqa(Gqa(s.d, s.kv_heads * s.top_k, s.kv_heads, s.head_dim, s.head_dim, rotary_dim=s.rotary))
    wide = s.kv_heads * s.head_dim
    made = [
        Tensor("self_attention.kv_proj.weight", (2 * wide, s.d), Component.ATTENTION),
        Tensor("self_attention.experts.router.layer.weight", (s.experts, s.d), Component.ROUTER),
        Tensor("self_attention.experts.input_linear.weight", (wide, s.d), ROUTED, Role.MATMUL, s.experts, s.top_k),
        Tensor("self_attention.experts.output_linear.weight", (s.d, wide), ROUTED, Role.MATMUL, s.experts, s.top_k),
        vector("self_attention.experts.bias", s.d, ROUTED),
    ]
    return part("attention.experts", made, usual.states, usual.reads, usual.info)
