"""Feed-forward networks: two matrices or three (gated), dense or as experts behind a router."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Part, Tensor, part
from atlas.reading.config import View
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Ffn, Role


class Mlp(NamedTuple):
    """Scalars of one dense feed-forward network."""

    d: int
    d_ff: int
    gated: bool
    bias: bool
    activation: str


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


def matrices(
    prefix: str, d: int, d_ff: int, gated: bool, bias: bool, component: Component, stored: int = 1, touched: int = 1
) -> list[Tensor]:
    """Up and down projections, and a gate where there is one."""
    shapes = {"gate_proj": (d_ff, d)} if gated else {}
    shapes |= {"up_proj": (d_ff, d), "down_proj": (d, d_ff)}
    made = [Tensor(f"{prefix}.{n}.weight", s, component, Role.MATMUL, stored, touched) for n, s in shapes.items()]
    if bias:
        made += [
            Tensor(f"{prefix}.{n}.bias", s[:1], component, Role.VECTOR, stored, touched) for n, s in shapes.items()
        ]
    return made


@lru_cache(maxsize=8192)
def mlp(s: Mlp) -> Part:
    """A dense feed-forward network of these scalars."""
    info = Feeding(Ffn.DENSE, "mlp", s.d_ff, s.activation, s.gated)
    return part("ffn.dense", matrices("mlp", s.d, s.d_ff, s.gated, s.bias, Component.FFN_DENSE), info=info)


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


def read_mlp(v: View) -> Part:
    """A dense feed-forward network as the config states it.

    Where no width is stated and the row knows a ratio, that many times d.
    """
    d, d_ff = v.count("hidden_size"), v.opt_count("intermediate_size")
    ratio = v.opt_count("ffn_ratio") if d_ff is None else None
    if ratio is not None:
        d_ff = v.derived("intermediate_size", ratio * d, f"{ratio} x hidden_size, as no width is stated")
    return mlp(
        Mlp(
            d,
            v.count("intermediate_size") if d_ff is None else d_ff,
            v.flag("is_gated_ffn"),
            v.flag("ffn_bias"),
            activation(v),
        )
    )


def read_moe(v: View) -> Part:
    """Experts as the config states them."""
    n_shared = v.size("n_shared_experts")
    width = v.count("moe_intermediate_size")
    return moe(
        Moe(
            v.count("hidden_size"),
            width,
            v.count("num_experts"),
            v.count("num_experts_per_tok"),
            v.flag("is_gated_ffn"),
            activation(v),
            shared_width(v, n_shared, width),
            n_shared,
            v.flag("shared_expert_gate"),
            v.flag("router_bias"),
            v.flag("router_correction_bias"),
            v.flag("expert_bias"),
            v.opt_count("moe_latent_size"),
        )
    )


def shared_width(v: View, n: int, width: int) -> int:
    """Width of the shared experts: stated on its own, else as wide as a routed one, each."""
    if not n:
        return 0
    stated = v.opt("shared_expert_intermediate_size")
    if stated is not None:
        return v.size("shared_expert_intermediate_size") * (n if v.flag("shared_width_is_each") else 1)
    return v.derived("shared_expert_width", n * width, f"{n} shared x expert width {width}")


CANONICAL = {
    "swish": "silu",
    "gelu_python": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "relu^2": "relu2",
}
"""Other spellings of one function (transformers 5.24, activations.py)."""


def activation(v: View) -> str:
    """The activation that the class builds, under its usual name.

    A row says so where the class takes a word for another function (`activation_words`), or asks no config
    (`activation_built`).
    """
    stated, facts = v.text("hidden_act"), v.rules.facts
    built: str = facts.get("activation_built") or facts.get("activation_words", {}).get(stated, stated)
    found = CANONICAL.get(built, built)
    return v.derived("activation", found, f"what the class builds for {stated}") if found != stated else found
