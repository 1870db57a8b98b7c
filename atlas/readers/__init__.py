"""Readers: from a config, seen as one part sees it, to the scalars of a builder in `atlas.parts`, and to its part.

A row names them: `MIXERS` and `FFNS` for the parts of a layer, `ENDS` for what stands outside the stack. Touch a reader
to change which keys say what; the weights themselves stand in the builders.
"""

from __future__ import annotations

from collections.abc import Callable

from atlas.numbers.structure import Part
from atlas.readers import (
    additions,
    attention,
    both_ways,
    ends,
    ends_apart,
    ends_beside,
    ends_encoder,
    ends_pair,
    experts,
    feeding,
    heads,
    latent,
    relative,
    reused,
    state,
    streams,
)
from atlas.readers.ends import Made
from atlas.readers.view import View
from atlas.reading.config import Config

Reader = Callable[[View], Part]
EndsReader = Callable[[Config], Made]

MIXERS: dict[str, Reader] = {
    "gqa": attention.read_gqa,
    "gqa_plus": additions.with_extras(attention.read_gqa),
    "differential": additions.read_differential,
    "gated": attention.read_gated,
    "gemma_attention": attention.read_layered,
    "mimo_window": attention.read_window,
    "convolved": attention.read_convolved,
    "block_attention": heads.read_block_attention,
    "qwen": heads.read_qwen,
    "chatglm": heads.read_chatglm,
    "rotary_elements": heads.read_rotary_elements,
    "minicpmv": heads.read_minicpmv,
    "hf_olmo": heads.read_hf_olmo,
    "both_ways": both_ways.read_both_ways,
    "back": both_ways.read_back,
    "over_source": both_ways.read_over_source,
    "longformer": both_ways.read_longformer,
    "transient": both_ways.read_transient,
    "ngram": both_ways.read_ngram,
    "relative_memory": both_ways.read_relative_memory,
    "gated_cross": both_ways.read_gated_cross,
    "mla": latent.read_mla,
    "dsa": latent.read_dsa,
    "latent": latent.read_latent,
    "latent_plain": latent.read_latent_plain,
    "latent_scaled": latent.read_scaled,
    "kimi_full": latent.read_full,
    "block_sparse": latent.read_block_sparse,
    "compressed": latent.read_compressed,
    "inkling_first": relative.read_first,
    "inkling_second": relative.read_second,
    "mamba": state.read_mamba,
    "mamba2": state.read_mamba2,
    "headed_mamba": state.read_headed_mamba,
    "gated_delta": state.read_gated_delta,
    "kda": state.read_kda,
    "kimi_delta": state.read_delta,
    "lightning": state.read_lightning,
    "mlstm": state.read_mlstm,
    "rg_lru": state.read_rg_lru,
    "rwkv": state.read_rwkv,
    "short_conv": state.read_short_conv,
    "expert_attention": experts.read_expert_attention,
    "linear_attention": feeding.read_linear_attention,
    "shared_attention": reused.read_shared_attention,
    "shared_network": reused.read_shared_network,
    "hyper_connection": streams.read_connection,
    "kimi_residual": streams.read_residual,
    "norm": streams.read_norm,
    "norm_gate": streams.read_gated_norm,
    "scales": streams.read_scales,
}
FFNS: dict[str, Reader] = {
    "mlp": feeding.read_mlp,
    "mlp_plus": additions.with_extras(feeding.read_mlp),
    "wide_mlp": feeding.read_wide_mlp,
    "block_mlp": feeding.read_block_mlp,
    "half_mlp": feeding.read_half_mlp,
    "shared_mlp": feeding.read_shared_mlp,
    "hf_olmo_mlp": feeding.read_hf_olmo_mlp,
    "residual_mlp": feeding.read_residual_mlp,
    "linear_mlp": feeding.read_linear_mlp,
    "language_adapters": feeding.read_adapters,
    "channel_mix": state.read_channel_mix,
    "moe": experts.read_moe,
    "moe_plus": additions.with_extras(experts.read_moe),
    "hash_moe": experts.read_hash_moe,
    "hunyuan_moe": experts.read_hunyuan_moe,
    "for_two": experts.read_for_two,
    "kimi_experts": experts.read_normed_moe,
    "zero_expert_moe": experts.read_zero_expert_moe,
    "granite_moe": experts.read_granite_moe,
    "experts_beside": experts.read_experts_beside,
    "deeply_routed": experts.read_routed,
    "retrieved": experts.read_retrieved,
    "inkling_experts": relative.read_first_experts,
    "inkling_convolution": relative.read_convolution,
    "inkling_second_network": relative.read_second_network,
    "hyper_connection": streams.read_connection,
    "altup": streams.read_altup,
    "kimi_residual": streams.read_residual,
    "norm": streams.read_norm,
    "norm_gate": streams.read_gated_norm,
    "per_layer_input": streams.read_per_layer_input,
    "scales": streams.read_scales,
}
ENDS: dict[str, EndsReader] = {
    **ends.ENDS,
    **ends_beside.ENDS,
    **ends_apart.ENDS,
    **ends_encoder.ENDS,
    **ends_pair.ENDS,
}
