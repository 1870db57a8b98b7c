"""Which layers hold experts, which a dense feed-forward network, which none."""

from __future__ import annotations

from atlas.layouts.common import n_layers
from atlas.layouts.words import Chosen, Kinds, Words
from atlas.reading.config import Config
from atlas.reading.values import entries
from atlas.refusal import bad_value, contradiction

MOST_EXPERTS = 100_000


def dense_first(c: Config) -> Kinds:
    """Dense feed-forward in the first `first_k_dense_replace` layers, experts after (DeepSeek)."""
    n = n_layers(c)
    first = min(c.size("first_k_dense_replace"), n)
    return ("dense",) * first + ("moe",) * (n - first)


def sparse_step(c: Config) -> Kinds:
    """Experts in every `decoder_sparse_step`-th layer that is not in `mlp_only_layers`.

    None where there are 0 (Qwen-MoE).
    """
    n, step = n_layers(c), c.count("decoder_sparse_step")
    if c.opt("num_experts") == 0:
        return ("dense",) * n
    stated = c.opt("mlp_only_layers")
    dense = entries("mlp_only_layers", stated) if stated else []
    if not dense and step == 1:
        return ("moe",) * n
    if not all(type(i) is int for i in dense):
        raise bad_value("mlp_only_layers", dense, "a list of layer indices")
    return tuple("dense" if i in dense or (i + 1) % step else "moe" for i in range(n))


def interleaved_moe(c: Config) -> Kinds:
    """Experts in the layers `moe_layers` lists, else in every `interleave_moe_layer_step`-th (Llama 4)."""
    n = n_layers(c)
    layers = c.opt("moe_layers")
    if layers is None:
        step = c.count("interleave_moe_layer_step")
        layers = c.derived("moe_layers", list(range(step - 1, n, step)), f"every {step}th layer, from layer {step - 1}")
    if not isinstance(layers, list):
        raise bad_value("moe_layers", layers, "a list of layer indices")
    return tuple("moe" if i in layers else "dense" for i in range(n))


def topk_listed(c: Config) -> Words:
    """Experts in every layer, each with its number of experts per token: one number for all, or a list (Hunyuan)."""
    n, stated = n_layers(c), c.need("num_experts_per_tok")
    each = [stated] * n if type(stated) is int else entries("num_experts_per_tok", stated)
    if len(each) != n:
        raise contradiction(f"num_experts_per_tok has {len(each)} entries for {n} layers")
    for k in each:
        if type(k) is not int or not 0 < k <= MOST_EXPERTS:
            raise bad_value("num_experts_per_tok", k, "a number of experts")
    return tuple(Chosen("moe", k) for k in each)


def no_ffn(c: Config) -> Kinds:
    """No feed-forward network in any layer (Mamba)."""
    return ("none",) * n_layers(c)
