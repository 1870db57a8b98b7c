"""What a row's `extras` add to a usual part, as a config states it: a function from the part's view to tensors each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from atlas.numbers.structure import Feeding, Mixing, Part, Tensor
from atlas.parts import additions
from atlas.parts.additions import extended, without
from atlas.parts.attention import differential
from atlas.parts.reused import again
from atlas.readers.attention import read_gqa
from atlas.readers.experts import shared_width
from atlas.readers.view import View
from atlas.refusal import contradiction, not_derivable

Extra = Callable[[View, Any], Iterable[Tensor]]


def sure(n: int | None) -> int:
    """A number that the part before states."""
    if n is None:
        raise TypeError("the part states no such number")
    return n


def _wide(m: Mixing) -> int:
    return sure(m.n_q_heads) * sure(m.head_dim)


def gate_proj(v: View, m: Mixing) -> list[Tensor]:
    """A gate as wide as the queries."""
    return additions.gate(_wide(m), v.count("hidden_size"), bias=False)


def gate_proj_biased(v: View, m: Mixing) -> list[Tensor]:
    """The same gate, with a bias where the other projections have one."""
    return additions.gate(_wide(m), v.count("hidden_size"), v.flag("qkv_bias"))


def square_output(v: View, m: Mixing) -> list[Tensor]:
    """No tensor: the output projection is square, so that heads must fill the hidden state."""
    if _wide(m) != v.count("hidden_size"):
        raise contradiction(f"{m.n_q_heads} heads of {m.head_dim} do not fill hidden_size {v.count('hidden_size')}")
    return []


def latent_gates(v: View, _: Mixing) -> list[Tensor]:
    """Low-rank gates on the norms of the latents that queries and keys are made from (GigaChat 3.5)."""
    widths = {"q_a": v.opt_count("q_lora_rank"), "kv_a": v.count("kv_lora_rank")}
    return additions.latent_gates({n: w for n, w in widths.items() if w is not None}, v.count("gated_norm_rank"))


def latent_norms(v: View, _: Feeding) -> list[Tensor]:
    """Norms of the latent width before and after the experts."""
    return additions.latent_norms(v.count("moe_latent_size"))


def gate_bias(_: View, m: Mixing) -> list[Tensor]:
    """One bias per head for the gate."""
    return additions.gate_bias(sure(m.n_q_heads))


def head_gate(v: View, m: Mixing) -> list[Tensor]:
    """One gate per head, where the config has it on."""
    return additions.head_gate(sure(m.n_q_heads), v.count("hidden_size")) if v.flag("use_attention_gate") else []


def lambdas(_: View, m: Mixing) -> list[Tensor]:
    """What weighs the two attentions of a differential pair."""
    return additions.lambdas(sure(m.head_dim))


def dynamic_mask(v: View, m: Mixing) -> list[Tensor]:
    """A mask computed from the values."""
    return additions.dynamic_mask(sure(m.n_kv_heads), sure(m.head_dim), v.flag("qkv_bias"))


def unit_scales(_: View, m: Mixing) -> list[Tensor]:
    """Scales of normalized queries and keys."""
    return additions.unit_scales(_wide(m))


def attention_sub_norm(v: View, _: Mixing) -> list[Tensor]:
    """A norm between attention and its output projection."""
    return additions.attention_sub_norm(v.count("hidden_size"), v.flag("norm_bias"))


def xielu(_: View, f: Feeding) -> list[Tensor]:
    """An activation with learned numbers, where that is the activation."""
    return additions.xielu() if f.activation == "xielu" else []


def hidden_scales(_: View, f: Feeding) -> list[Tensor]:
    """Scales of the gate's and the up projection's outputs."""
    return additions.hidden_scales(f.d_ff)


def ffn_sub_norm(v: View, f: Feeding) -> list[Tensor]:
    """A norm between the activation and the down projection."""
    return additions.ffn_sub_norm(f.d_ff, v.flag("norm_bias"))


def delay_scale(v: View, _: Feeding) -> list[Tensor]:
    """A scale of the network's input by the delay."""
    return additions.delay_scale(v.count("hidden_size"), v.count("delay_width"))


def shared_bias(v: View, f: Feeding) -> list[Tensor]:
    """Biases of the shared experts, where the config has biases."""
    if not (f.n_shared and v.flag("ffn_bias")):
        return []
    return additions.shared_bias(v.count("hidden_size"), shared_width(v, f.n_shared, f.d_ff), f.is_gated)


def latent_bias(v: View, _: Feeding) -> list[Tensor]:
    """Biases of the projections into the width that experts work in and back, where the config has biases."""
    inner = v.opt_count("moe_latent_size")
    return [] if inner is None or not v.flag("ffn_bias") else additions.latent_bias(v.count("hidden_size"), inner)


def some_shared(v: View, f: Feeding) -> list[Tensor]:
    """Nothing of its own; raises `Refused` without shared experts, as the class builds another network then."""
    if not f.n_shared or not shared_width(v, f.n_shared, f.d_ff):
        raise not_derivable("no shared expert is stated, but the class builds one as wide as a dense layer then")
    return []


def output_bias(v: View, _: Feeding) -> list[Tensor]:
    """One bias on the sum of the experts' outputs."""
    return additions.output_bias(v.count("hidden_size"))


def gate_where_named(v: View, m: Mixing) -> list[Tensor]:
    """A gate as wide as the queries, where the config names its activation."""
    return gate_proj(v, m) if v.opt("attention_gate_func") is not None else []


def gate_where_on(v: View, m: Mixing) -> list[Tensor]:
    """A gate as wide as the queries, where the config has it on."""
    return gate_proj(v, m) if v.flag("use_attention_gate") else []


def value_experts(v: View, m: Mixing) -> list[Tensor]:
    """Value projections as experts behind a router of their own."""
    experts, chosen = v.count("value_experts"), v.count("value_experts_per_tok")
    if chosen > experts:
        raise contradiction(f"{chosen} value experts per token out of {experts}")
    width = sure(m.n_kv_heads) * sure(m.v_head_dim)
    return additions.value_experts(v.count("hidden_size"), width, experts, chosen, v.flag("router_correction_bias"))


def down_bias(v: View, _: Feeding) -> list[Tensor]:
    """A bias on the down projection alone."""
    return additions.down_bias(v.count("hidden_size"))


def network_scale(_: View, __: Feeding) -> list[Tensor]:
    """One learned scale of the network's output."""
    return additions.network_scale()


def image_selection(v: View, f: Feeding) -> list[Tensor]:
    """A second correction bias, where a vision tower stands beside the language model."""
    return additions.image_selection(sure(f.n_routed)) if v.config.outer.get("vision_config") else []


def polynomial(_: View, f: Feeding) -> list[Tensor]:
    """An activation with learned weights, per network and per expert."""
    return additions.polynomial(f.n_routed or 0, f.top_k or 0, bool(f.n_shared))


def read_differential(v: View) -> Part:
    """Attention in pairs of heads, the second subtracted from the first: both read the values of two heads."""
    usual = read_gqa(v)
    assert isinstance(usual.info, Mixing)  # noqa: S101 - attention says what it is
    return differential(extended(usual, tuple(lambdas(v, usual.info))))


EXTRAS: dict[str, Extra] = {
    f.__name__: f
    for f in (
        gate_proj, gate_proj_biased, square_output, latent_gates, latent_norms, gate_bias, head_gate, lambdas,
        dynamic_mask, unit_scales, attention_sub_norm, xielu, hidden_scales, ffn_sub_norm, delay_scale,
        shared_bias, latent_bias, some_shared, output_bias, gate_where_named, gate_where_on, value_experts, down_bias,
        network_scale, image_selection, polynomial,
    )
}  # fmt: skip


def with_extras(read: Callable[[View], Part]) -> Callable[[View], Part]:
    """The reader of a usual part, with what the row's `extras` name beside it."""

    def reader(v: View) -> Part:
        usual = read(v)
        if v.opt("drops"):
            usual = without(usual, tuple(v.items("drops")))
        made = extended(usual, tuple(t for n in v.items("extras") for t in EXTRAS[n](v, usual.info)))
        return again(made) if v.opt("again") else made

    return reader
