"""Dense feed-forward networks as a config states them."""

from __future__ import annotations

from atlas.layouts.words import Wide
from atlas.numbers.structure import Part
from atlas.parts.feeding import Mlp, adapters, matrix, mlp, shared_mlp
from atlas.readers.view import View, said
from atlas.refusal import bad_value, contradiction, not_derivable
from schemas.vocabulary import Component

CANONICAL = {
    "swish": "silu",
    "gelu_python": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "relu^2": "relu2",
    "swiglu": "silu",
    "gegelu": "quick_gelu",
}
"""Other spellings of one function (transformers 5.24, activations.py)."""


def activation(v: View) -> str:
    """The activation that the class builds, under its usual name.

    A row says so where the class takes a word for another function (`activation_words`), or asks no config
    (`activation_built`).
    """
    stated, facts = v.word("hidden_act"), v.rules.facts
    built: str = facts.get("activation_built") or facts.get("activation_words", {}).get(stated, stated)
    found = CANONICAL.get(built, built)
    return v.derived("activation", found, f"what the class builds for {stated}") if found != stated else found


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
            v.opt_count("ffn_kernel_size"),
        )
    )


def read_wide_mlp(v: View) -> Part:
    """The layer's network, of the width its word gives."""
    width = said(v, Wide).width
    return mlp(Mlp(v.count("hidden_size"), width, v.flag("is_gated_ffn"), v.flag("ffn_bias"), activation(v)))


def read_matrix(v: View) -> Part:
    """A square matrix in the place of attention or of the network: it mixes no tokens and keeps nothing."""
    (name,) = v.items("names")
    return matrix(v.count("hidden_size"), str(name), Component(v.word("component")))


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


def read_shared_mlp(v: View) -> Part:
    """The shared network as the config states it."""
    return shared_mlp(v.count("hidden_size"), v.count("shared_expert_intermediate_size"), activation(v))


def read_hf_olmo_mlp(v: View) -> Part:
    """A gated network: mlp_hidden_size, else mlp_ratio x d_model, counts gate and up together."""
    if v.word("activation_type") != "swiglu":
        raise bad_value("activation_type", v.opt("activation_type"), "swiglu")
    d, both = v.count("hidden_size"), v.opt_count("mlp_hidden_size")
    both = v.count("mlp_ratio") * d if both is None else both
    if both % 2:
        raise contradiction(f"a fused width of {both} has no halves")
    width = v.derived("intermediate_size", both // 2, "half of mlp_hidden_size, else of mlp_ratio x d_model")
    return mlp(Mlp(d, width, True, False, "silu"))


def read_adapters(v: View) -> Part:
    """A small network per language behind the feed-forward; a token runs through that of its language (X-MOD)."""
    d, n = v.count("hidden_size"), len(v.items("languages"))
    if not n or v.flag("adapter_layer_norm"):
        raise not_derivable("adapters without languages, or with norms of their own, are not described")
    return adapters(d, d // v.count("adapter_reduction_factor"), n)
