"""Experts that compute nothing: routers choose them, no weights stand behind them (LongCat-Flash, arXiv 2509.01322).

How many real experts a token uses then varies: the number per token is the most there can be, and the mean is that
of a router that takes every choice alike, which is what its correction biases hold it to.
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.ffn import Moe, activation, moe
from atlas.reading.config import View
from schemas.vocabulary import Component, Role


def read_zero_expert_moe(v: View) -> Part:
    """Experts as the config states them, behind a router that also scores the zero experts."""
    real = v.count("num_experts")
    scalars = Moe(
        v.count("hidden_size"),
        v.count("moe_intermediate_size"),
        real,
        v.count("num_experts_per_tok"),
        True,
        activation(v),
    )
    return _routed(moe(scalars), scalars.d, real + v.size("zero_expert_num"), v.flag("router_bias"))


@lru_cache(maxsize=256)
def _routed(p: Part, d: int, choices: int, bias: bool) -> Part:
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
