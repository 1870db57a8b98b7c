"""Parts: small shape functions. Each has a cached builder from plain numbers and a reader that takes them from a config.

A row names a reader; `MIXERS` and `FFNS` list them.
"""

from __future__ import annotations

from collections.abc import Callable

from atlas.config import View
from atlas.parts import (
    altup,
    attention,
    blocks,
    both_ways,
    compressed,
    convolved,
    cross,
    ends_bert,
    ends_more,
    ends_pairs,
    extras,
    ffn,
    gated,
    gemma,
    hunyuan,
    hyper,
    inkling,
    kda,
    kimi,
    latent_more,
    lightning,
    memory,
    mimo,
    mistral_large,
    mla,
    recurrent,
    selective,
    shaped,
    sparse,
    vendored,
    zamba,
    zero_experts,
)
from atlas.parts.ends import ENDS
from atlas.structure import Part

Reader = Callable[[View], Part]

MIXERS: dict[str, Reader] = {
    "gqa": attention.read_gqa,
    "falcon": attention.read_falcon,
    "mla": mla.read_mla,
    "dsa": sparse.read_dsa,
    "kda": kda.read_kda,
    "kimi_full": kimi.read_full,
    "kimi_delta": kimi.read_delta,
    "kimi_residual": kimi.read_residual,
    "latent": latent_more.read_latent,
    "latent_scaled": mistral_large.read_scaled,
    "inkling_first": inkling.read_first,
    "inkling_second": inkling.read_second,
    "gated": gated.read_gated,
    "block_sparse": gated.read_block_sparse,
    "latent_plain": latent_more.read_latent_plain,
    "norm_gate": hyper.read_gated_norm,
    "lightning": lightning.read_lightning,
    "headed_mamba": zamba.read_headed_mamba,
    "shared_attention": zamba.read_shared_attention,
    "shared_network": zamba.read_shared_network,
    "mimo_window": mimo.read_window,
    "compressed": compressed.read_compressed,
    "hyper_connection": hyper.read_connection,
    "mamba2": recurrent.read_mamba2,
    "gated_delta": recurrent.read_gated_delta,
    "mla_derived": shaped.read_mla_derived,
    "gated_cross": cross.read_gated_cross,
    "molmo": cross.read_molmo,
    "multi_query": shaped.read_multi_query,
    "mamba": selective.read_mamba,
    "rg_lru": selective.read_rg_lru,
    "rwkv": selective.read_rwkv,
    "short_conv": selective.read_short_conv,
    "qwen": vendored.read_qwen,
    "chatglm": vendored.read_chatglm,
    "baichuan": vendored.read_baichuan,
    "biased": vendored.read_biased,
    "rotary_elements": vendored.read_rotary_elements,
    "hf_olmo": vendored.read_hf_olmo,
    "internlm3": vendored.read_internlm3,
    "minicpmv": vendored.read_minicpmv,
    "block_attention": blocks.read_block_attention,
    "linear_attention": blocks.read_linear_attention,
}
FFNS: dict[str, Reader] = {
    "mlp": ffn.read_mlp,
    "moe": ffn.read_moe,
    "kimi_experts": kimi.read_experts,
    "kimi_residual": kimi.read_residual,
    "hash_moe": hyper.read_hash_moe,
    "hunyuan_moe": hunyuan.read_experts,
    "inkling_experts": inkling.read_first_experts,
    "inkling_convolution": inkling.read_convolution,
    "inkling_second_network": inkling.read_second_network,
    "norm_gate": hyper.read_gated_norm,
    "zero_expert_moe": zero_experts.read_zero_expert_moe,
    "hyper_connection": hyper.read_connection,
    "block_mlp": shaped.read_block_mlp,
    "half_mlp": shaped.read_half_mlp,
    "granite_moe": shaped.read_granite_moe,
    "shared_mlp": shaped.read_shared_mlp,
    "channel_mix": selective.read_channel_mix,
    "block_width": blocks.read_block_width,
    "hf_olmo_mlp": vendored.read_hf_olmo_mlp,
    "residual_mlp": vendored.read_residual_mlp,
    "linear_mlp": blocks.read_linear_mlp,
}
MIXERS |= extras.MIXERS | memory.MIXERS | both_ways.MIXERS | convolved.MIXERS
FFNS |= gemma.FFNS | {"altup": altup.read_altup}
MIXERS |= gemma.MIXERS
FFNS |= extras.FFNS | convolved.FFNS
ENDS.update(ends_more.ENDS | ends_bert.ENDS | ends_pairs.ENDS)
ENDS.update({"streams": hyper.decoder_of_streams, "per_layer": gemma.per_layer_ends, "altup": altup.altup_ends, "inkling": inkling.inkling_ends, "kimi": kimi.ends_with_residual, "frequencies": mistral_large.ends_with_frequencies})
