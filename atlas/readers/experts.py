"""Experts as a config states them."""

from __future__ import annotations

import msgspec

from atlas.layouts.words import Chosen, Experts
from atlas.numbers.structure import Feeding, Part
from atlas.parts.additions import extended, latent_norm
from atlas.parts.experts import (
    ExpertAttention,
    Moe,
    Routed,
    expert_attention,
    for_two,
    moe,
    nothing,
    retrieved,
    routed,
    with_scaled_router,
    with_table,
    with_zero_experts,
)
from atlas.readers.feeding import activation, read_mlp
from atlas.readers.view import View, said
from atlas.reading.values import entries
from atlas.refusal import bad_value, not_derivable


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


def routed_alone(v: View) -> Moe:
    """Scalars of gated experts without any shared one."""
    width, experts, top_k = v.count("moe_intermediate_size"), v.count("num_experts"), v.count("num_experts_per_tok")
    return Moe(v.count("hidden_size"), width, experts, top_k, True, activation(v))


def read_block_moe(v: View) -> Part:
    """Experts whose number, width and top-k their block states."""
    own = said(v, Experts)
    facts = {"num_experts": own.number, "moe_intermediate_size": own.width, "num_experts_per_tok": own.top_k}
    return read_moe(View(v.config, msgspec.structs.replace(v.spec, facts={**v.spec.facts, **facts}), own))


def shared_width(v: View, n: int, width: int) -> int:
    """Width of the shared experts: stated on its own, else as wide as a routed one, each."""
    if not n:
        return 0
    stated = v.opt("shared_expert_intermediate_size")
    if stated is not None:
        return v.size("shared_expert_intermediate_size") * (n if v.flag("shared_width_is_each") else 1)
    return v.derived("shared_expert_width", n * width, f"{n} shared x expert width {width}")


def read_hash_moe(v: View) -> Part:
    """Experts that a fixed table assigns by token; the table is a buffer of the checkpoint."""
    return with_table(read_moe(v), v.count("vocab_size"), v.count("num_experts_per_tok"))


def read_hunyuan_moe(v: View) -> Part:
    """Experts as wide as intermediate_size.

    Files that state another width, or other than one shared expert, are refused: transformers 5.24 reads neither key,
    the code published with the checkpoints reads both.
    """
    width = v.count("intermediate_size")
    _only(v, "moe_intermediate_size", width)
    _only(v, "num_shared_expert", 1)
    _only(v, "moe_layer_num_skipped", 0)
    d, experts, act = v.count("hidden_size"), v.count("num_experts"), activation(v)
    return moe(Moe(d, width, experts, said(v, Chosen).top_k, True, act, width, 1))


def _only(v: View, field: str, wanted: int) -> None:
    stated = v.opt(field)
    if stated is None or stated == wanted:
        return
    if type(stated) is int or any(type(each) is not int or each != wanted for each in entries(field, stated)):
        raise not_derivable(f"{field} is not {wanted} throughout, and implementations differ on what it then means")


def read_for_two(v: View) -> Part:
    """Experts as the config states them: two widths, the text's first; shared experts are as wide as the text's."""
    widths = entries("moe_intermediate_size", v.need("moe_intermediate_size"))
    if len(widths) != 2 or any(type(w) is not int or w < 1 for w in widths):
        raise bad_value("moe_intermediate_size", widths, "two widths, of text and of images")
    if v.flag("ffn_bias"):
        raise not_derivable("use_bias is true: no published model has them, and which are stored is not known")
    n, d, experts = v.size("n_shared_experts"), v.count("hidden_size"), v.count("num_experts")
    top_k = v.count("num_experts_per_tok")
    text = Moe(d, widths[0], experts, top_k, True, activation(v), n * widths[0], n, correction_bias=True)
    return for_two(moe(text), moe(text._replace(d_ff=widths[1], shared=0, n_shared=0)))


def read_normed_moe(v: View) -> Part:
    """Experts; in a latent width where `routed_expert_hidden_size` states one, with a norm if the config says so."""
    usual, latent = read_moe(v), v.opt_count("moe_latent_size")
    if latent is None or not v.flag("latent_moe_use_norm"):
        return usual
    return extended(usual, tuple(latent_norm(latent)))


def read_zero_expert_moe(v: View) -> Part:
    """Experts as the config states them, behind a router that also scores the zero experts."""
    scalars = routed_alone(v)
    choices = scalars.experts + v.size("zero_expert_num")
    return with_zero_experts(moe(scalars), scalars.d, choices, v.flag("router_bias"))


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


def read_experts_beside(v: View) -> Part:
    """Experts beside the layer's network, where `enable_moe_block` is true.

    With three norms of their own and a scaled router.
    """
    if not v.flag("enable_moe_block"):
        return nothing()
    scalars = routed_alone(v)
    return with_scaled_router(moe(scalars), scalars.d, scalars.experts)


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


def read_retrieved(v: View) -> Part:
    """One shared network and many experts of one neuron, found by product keys (Doge, after arXiv 2407.04153)."""
    info = read_mlp(v).info
    width = info.d_ff if isinstance(info, Feeding) else v.count("intermediate_size")
    experts, top_k = v.count("num_experts"), v.count("num_experts_per_tok")
    if top_k > experts:
        raise bad_value("num_experts_per_tok", top_k, f"at most {experts}")
    return retrieved(v.count("hidden_size"), width, experts, top_k, v.flag("ffn_bias"), activation(v))


def read_expert_attention(v: View) -> Part:
    """Attention experts as the config states them."""
    hd = v.count("head_dim")
    return expert_attention(
        ExpertAttention(
            v.count("hidden_size"),
            v.count("num_key_value_heads"),
            hd,
            v.count("num_experts"),
            v.count("num_experts_per_tok"),
            hd,
        )
    )
