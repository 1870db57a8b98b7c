"""Every layout and every branch of it: short configs, and what stands in each layer, written out by hand.

The rules are those that the layouts' docstrings state, of the classes that the rows cite. Depths are chosen so that a
neighbouring period, offset or bound would give another line.
"""

from __future__ import annotations

from typing import Any

import pytest

from atlas.families import family
from atlas.interpret import reader
from atlas.layouts import FFN_LAYOUTS, FOLLOWING, MIXER_LAYOUTS, words
from atlas.layouts.loops import passes
from atlas.layouts.stacks import STACKS
from atlas.layouts.words import (
    Borrowed,
    Cached,
    Chosen,
    Experts,
    Grouped,
    Heads,
    KvHeads,
    Numbered,
    Round,
    Shaped,
    Stored,
    Wide,
)
from atlas.reading.config import Config
from atlas.refusal import Refused

LETTERS = {
    "F": "full_attention", "S": "sliding_attention", "L": "linear_attention", "N": "full_attention_nope",
    "T": "sliding_attention_nope", "R": "full_with_rope", "C": "chunked_attention", "D": "chunked_attention_nope",
    "I": "indexed_attention", "f": "full", "h": "shared", "M": "mamba", "A": "attention", "V": "conv", "d": "dense",
    "s": "sparse", "m": "moe", "l": "mlp", "a": "mlp_again", "-": "none", "X": "cross_attention",
    "P": "compressed_sparse_attention", "H": "heavily_compressed_attention", "#": "hash_moe", "y": "hybrid",
    "w": "hybrid_sliding", "e": "encoder", "E": "encoder_again", "o": "decoder", "x": "decoder_with_source",
    "1": "first", "2": "other", "Z": "strided_attention", "G": "global", "c": "local", "b": "minimax_m3_sparse",
    "r": "recurrent", "t": "retrieved", "q": "layer", "Q": "layer_again", "z": "last", "u": "linear",
    "i": "first_full_attention", "j": "first_sliding_attention", "k": "full_attention_again",
    "K": "sliding_attention_again", "O": "full_attention_mova", "U": "sliding_attention_mova",
}  # fmt: skip
"""One letter a layer."""

FS = {"F": "full_attention", "S": "sliding_attention"}
FIRST = {"n_dense_first_layers": 1}
WIN = {"use_sliding_window": True, "sliding_window": 8}


def kinds(letters: str) -> list[str]:
    """The words that letters stand for, as a config lists them."""
    return [LETTERS[x] for x in letters]


# model_type, depth, keys, mixers, feed-forward networks ("" where the case is not about them)
PLAIN: list[tuple[str, int, dict[str, Any], str | list[str], str | list[str]]] = [
    ("llama", 2, {}, "FF", "ll"),
    # a window: everywhere, gated, switched, from a layer on, in turn
    ("mistral", 2, {"sliding_window": 8}, "SS", ""),
    ("mistral", 2, {"sliding_window": None}, "FF", ""),
    ("qwen2", 4, {**WIN, "max_window_layers": 1}, "FSSS", ""),
    ("qwen2", 2, {**WIN, "max_window_layers": 9}, "FF", ""),
    ("qwen2", 2, {**WIN, "max_window_layers": 0, "use_sliding_window": False}, "FF", ""),
    ("qwen2", 2, {**WIN, "max_window_layers": 0, "sliding_window": None}, "FF", ""),
    ("qwen2", 3, {**WIN, "max_window_layers": 3, "layer_types": kinds("SFS")}, "SFS", ""),
    ("qwen3_moe", 2, WIN, "SS", "mm"),
    ("qwen3_moe", 2, {"use_sliding_window": False, "sliding_window": 8}, "FF", ""),
    ("qwen3_moe", 2, {"use_sliding_window": True, "sliding_window": None}, "FF", ""),
    ("dots1", 4, {"sliding_window": 8, "max_window_layers": 1, "first_k_dense_replace": 1}, "FSSS", "dsss"),
    ("dots1", 2, {"sliding_window": 8, "max_window_layers": 2}, "FF", ""),
    ("dots1", 2, {"sliding_window": None, "max_window_layers": 0}, "FF", ""),
    ("dots1", 2, {"sliding_window": 8, "max_window_layers": 0, "layer_types": kinds("FS")}, "FS", ""),
    ("ministral", 2, {"sliding_window": 8}, "SS", ""),
    ("ministral", 2, {"sliding_window": 8, "layer_types": kinds("FS")}, "FS", ""),
    ("qwen2_moe", 6, {**WIN, "max_window_layers": 4}, "SFSFFF", "mmmmmm"),
    ("qwen2_moe", 3, {**WIN, "max_window_layers": 2}, "SFF", ""),
    ("qwen2_moe", 2, {**WIN, "use_sliding_window": False}, "FF", ""),
    ("qwen2_moe", 2, {**WIN, "sliding_window": None}, "FF", ""),
    ("qwen2_moe", 2, {**WIN, "layer_types": kinds("FS")}, "FS", ""),
    ("Motif", 5, {**FIRST, **WIN, "sliding_window_pattern": "interleave", "sliding_window_period": 2}, "FSFSF", ""),
    ("Motif", 3, {**FIRST, **WIN, "sliding_window_pattern": "all", "sliding_window_period": 2}, "SSS", ""),
    ("Motif", 2, {**FIRST, **WIN, "sliding_window_pattern": "all", "sliding_window_period": 1}, "SS", ""),
    ("Motif", 2, {**FIRST, **WIN, "sliding_window_pattern": "interleave", "sliding_window_period": 1}, "FF", ""),
    ("Motif", 3, {**FIRST, **WIN, "use_sliding_window": False, "sliding_window_pattern": "all"}, "FFF", ""),
    ("Motif", 3, {**FIRST, **WIN, "sliding_window": None, "sliding_window_pattern": "all"}, "FFF", ""),
    ("k2_horizon", 4, {**WIN, "mova_num_experts": 2, "decoder_sparse_step": 2, "num_experts": 4}, "SUSU", "dmdm"),
    ("k2_horizon", 2, {**WIN, "mova_num_experts": 0, "decoder_sparse_step": 1, "num_experts": 4}, "SS", "mm"),
    ("k2_horizon", 2, {**WIN, "sliding_window": 0, "mova_num_experts": 2, "num_experts": 4}, "OO", ""),
    ("k2_horizon", 2, {**WIN, "sliding_window": None, "mova_num_experts": 2, "num_experts": 4}, "OO", ""),
    ("k2_horizon", 2, {**WIN, "use_sliding_window": False, "mova_num_experts": 2, "num_experts": 4}, "OO", ""),
    # every n-th
    ("gemma3_text", 7, {"sliding_window_pattern": 3}, "SSFSSFS", ""),
    ("gemma3_text", 2, {"layer_types": kinds("FS"), "sliding_window_pattern": 2}, "FS", ""),
    ("qwen3_next", 5, {"full_attention_interval": 4}, "LLLFL", "mmmmm"),
    ("qwen3_next", 2, {"layer_types": kinds("FL")}, "FL", ""),
    ("phi3small", 5, {"dense_attention_every_n_layers": 2}, "ZFZFZ", ""),
    ("phi3small", 5, {"dense_attention_every_n_layers": 3}, "ZZFZZ", ""),
    ("cohere_compass_text", 2, {"layer_types": kinds("SF"), "rope_parameters": {"full_attention": None}}, "SN", ""),
    ("cohere_compass_text", 2, {"layer_types": kinds("SF"), "rope_parameters": {"sliding_attention": None}}, "TF", ""),
    ("cohere_compass_text", 2, {"rope_parameters": {"full_attention": {"rope_type": "default"}}}, "FF", ""),
    # chunks and positions
    ("llama4_text", 5, {"no_rope_layer_interval": 2, "attention_chunk_size": 8, "interleave_moe_layer_step": 2},
     "CNCNC", "dmdmd"),
    ("llama4_text", 4, {"attention_chunk_size": None, "interleave_moe_layer_step": 3}, "FFFN", "ddmd"),
    ("llama4_text", 3, {"no_rope_layers": [1, 0, 1], "attention_chunk_size": 8, "moe_layers": [0]}, "CNC", "mdd"),
    ("llama4_text", 3, {"no_rope_layers": [1, 0, 1], "layer_types": kinds("FCC")}, "FDC", "mmm"),
    ("llama4_text", 4, {"no_rope_layers": [], "layer_types": [], "attention_chunk_size": 8}, "CCCN", ""),
    ("exaone4", 5, {"sliding_window": 8, "sliding_window_pattern": 4}, "SSSNS", ""),
    ("exaone4", 5, {"sliding_window": 8, "sliding_window_pattern": "LLG"}, "SSNSS", ""),
    ("exaone4", 2, {"sliding_window": 8, "sliding_window_pattern": "LLG", "layer_types": kinds("FS")}, "NS", ""),
    ("exaone4", 2, {"sliding_window": 8, "sliding_window_pattern": 2, "layer_types": kinds("FS")}, "NS", ""),
    ("exaone4", 2, {"sliding_window": None, "layer_types": kinds("FF")}, "FF", ""),
    ("smollm3", 5, {"no_rope_layer_interval": 2, "use_sliding_window": False, "no_rope_layers": None}, "FNFNF", ""),
    ("smollm3", 5, {"no_rope_layer_interval": 3, "use_sliding_window": False, "no_rope_layers": None}, "FFNFF", ""),
    ("smollm3", 3, {"no_rope_layers": [0, 1, 1], "use_sliding_window": False, "sliding_window": 8}, "NFF", ""),
    ("smollm3", 3, {"no_rope_layers": [0, 1, 1], "use_sliding_window": True, "sliding_window": None}, "NFF", ""),
    ("smollm3", 3, {"no_rope_layers": [0, 1, 1], **WIN}, "TFF", ""),
    ("smollm3", 3, {"no_rope_layers": [0, 1, 1], **WIN, "layer_types": kinds("FSF")}, "NSF", ""),
    ("gpt_neo", 5, {"attention_types": [[["global", "local"], 2], [["global"], 1]]}, "GcGcG", ""),
    ("gpt_neo", 2, {"attention_types": [[["local"], 0], [["global", "local"], 1]]}, "Gc", ""),
    ("mpt", 2, {}, "FF", ""),
    # the class's own order
    ("lara_mini", 6, {}, "LSLFSL", ""),
    ("cwm", 6, {}, "FSSSFS", ""),
    ("cwm", 2, {"layer_types": kinds("SF")}, "SF", ""),
    ("muse_spark_text", 6, {}, "SNSSSN", ""),
    ("muse_spark_text", 3, {"layer_types": kinds("FSS")}, "FST", ""),
    ("muse_spark_text", 3, {"layer_types": kinds("FSS"), "layer_rope_theta": [0, 1e4, 0.0]}, "NST", ""),
    ("granite_swa", 3, {"layer_types": kinds("FSS"), "layer_rope_theta": [0, 1e4, 0.0]}, "NST", ""),
    ("granite_swa", 3, {"layer_types": kinds("FSS")}, "FSS", ""),
    ("exaone_moe", 3, {"sliding_window": None}, "RRR", ""),
    ("exaone_moe", 5, {"sliding_window": 8, "sliding_window_pattern": 2}, "SFSFS", ""),
    ("exaone_moe", 5, {"sliding_window": 8, "sliding_window_pattern": 3}, "SSFSS", ""),
    ("exaone_moe", 2, {"sliding_window": 8, "layer_types": kinds("FS")}, "FS", ""),
    ("flint", 11, {}, "FFSSSFSSSFF", "ddsssssssss"),
    ("flint", 8, {"decoder_sparse_step": 3}, "FFSSSFSF", "ddsddsdd"),
    ("flint", 3, {"mlp_only_layers": [1], "layer_types": kinds("SFS")}, "SFS", "sds"),
    ("cohere2_moe", 7, {"first_k_dense_replace": 3, "prefix_dense_sliding_window_pattern": 2,
                        "sliding_window_pattern": 3}, "SFSSSFS", "dddssss"),
    ("cohere2_moe", 5, {"first_k_dense_replace": 4, "prefix_dense_sliding_window_pattern": 3,
                        "sliding_window_pattern": 3}, "SSFSS", "dddds"),
    ("cohere2_moe", 6, {"first_k_dense_replace": 2, "prefix_dense_sliding_window_pattern": 1,
                        "sliding_window_pattern": 2}, "RRSFSF", "ddssss"),
    ("cohere2_moe", 3, {"first_k_dense_replace": 1, "prefix_dense_sliding_window_pattern": 2,
                        "layer_types": kinds("FSF")}, "FSF", "dss"),
    ("cohere2_moe", 2, {"first_k_dense_replace": 1, "prefix_dense_sliding_window_pattern": 1,
                        "layer_types": kinds("FF"), "mlp_layer_types": kinds("sd")}, "FR", "sd"),
    ("modernbert", 7, {"global_attn_every_n_layers": 3}, "iSSFSSF", ""),
    ("modernbert", 3, {"global_attn_every_n_layers": 3, "layer_types": kinds("SFS")}, "jFS", ""),
    ("lfm3", 9, {}, "VVFVSVFVS", ""),
    ("lfm3", 2, {"layer_types": kinds("FV")}, "FV", ""),
    ("olmo_hybrid", 5, {}, "LLLFL", ""),
    ("olmo_hybrid", 3, {}, "LLF", ""),
    ("olmo_hybrid", 3, {"rope_parameters": {"rope_type": "default"}}, "LLF", ""),
    ("olmo_hybrid", 1, {}, "F", ""),
    ("olmo_hybrid", 2, {"layer_types": kinds("LL")}, "LL", ""),
    ("olmo_hybrid", 4, {"rope_parameters": {"rope_theta": None}}, "LLLN", ""),
    ("olmo_hybrid", 4, {"rope_parameters": {"rope_theta": 1e4}}, "LLLF", ""),
    ("gpt_neox_japanese", 3, {}, "FFz", ""),
    # latents, indexers, delta rules
    ("deepseek_v3", 4, {"first_k_dense_replace": 1}, "FFFF", "dsss"),
    ("deepseek_v3", 2, {"first_k_dense_replace": 9}, "FF", "dd"),
    ("kimi_k2", 3, {"moe_layer_freq": 1, "first_k_dense_replace": 2}, "FFF", "dds"),
    ("kimi_k2", 3, {"moe_layer_freq": [1, 0, 1], "first_k_dense_replace": 2}, "FFF", "sds"),
    ("deepseek_v32", 3, {"mlp_layer_types": kinds("sds"), "first_k_dense_replace": 2}, "III", "sds"),
    ("deepseek_v2", 2, {"kv_lora_rank": 16}, ["mla", "mla"], ""),
    ("deepseek_v2", 2, {"kv_lora_rank": None, "use_mla": False}, ["heads", "heads"], ""),
    ("glm_moe_dsa", 6, {"index_topk_freq": 3, "index_skip_topk_offset": 2}, "ffhhfh", ""),
    ("glm_moe_dsa", 3, {"index_topk_freq": 0, "index_skip_topk_offset": 1}, "fff", ""),
    ("glm_moe_dsa", 3, {"indexer_types": ["full", "shared", "full"]}, "fhf", ""),
    ("glm_moe_dsa", 3, {"index_topk_pattern": "FSF"}, "fhf", ""),
    ("kimi_linear", 9, {}, "LLLLFLLLF", "dssssssss"),
    ("kimi_linear", 2, {"layer_types": kinds("FL")}, "FL", ""),
    ("kimi_linear", 3, {"linear_attn_config": {"full_attn_layers": [3], "kda_layers": [1, 2]}}, "LLF", ""),
    ("kimi_linear", 5, {"linear_attn_config": {"full_attn_layers": [3]}}, "LLLLF", ""),
    ("mimo_v2_flash", 7, {}, "FSSSSFS", "dssssss"),
    ("mimo_v2_flash", 3, {"hybrid_layer_pattern": [0, 1, 0]}, "FSF", ""),
    ("mimo_v2_flash", 2, {"layer_types": kinds("SF")}, "SF", ""),
    ("mimo_v2", 8, {}, "FSSSSSFF", ""),
    ("mimo_v2", 9, {}, "FSSSSSFSF", ""),
    ("beam", 8, {}, "SSSSSFSF", ""),
    ("mimo_v2", 14, {}, "FSSSSSFSSSSSFF", ""),
    ("mimo_v2", 3, {"hybrid_layer_pattern": [0, 1, 0]}, "FSF", ""),
    ("mimo_v2", 5, {"hybrid_block_size": 2}, "SFSFS", ""),
    ("mimo_v2", 5, {"hybrid_block_size": 3}, "SSFSS", ""),
    ("mimo_v2", 3, {"hybrid_block_size": 1}, "FFF", ""),
    ("minimax", 3, {}, "FLF", ""),
    ("minimax", 2, {"layer_types": kinds("LF")}, "LF", ""),
    ("minimax_text_01", 3, {"attn_type_list": [0, 0, 1]}, "LLF", ""),
    ("bailing_hybrid", 5, {"layer_group_size": 2}, "LFLFL", ""),
    ("bailing_hybrid", 5, {"layer_group_size": 3}, "LLFLL", ""),
    ("bailing_hybrid", 2, {"layer_group_size": 2, "layer_types": kinds("FL")}, "FL", ""),
    ("bailing_moe_v3", 8, {"first_k_dense_replace": 1, "layer_group_size": 3}, "LLFLLFFF", ""),
    ("bailing_moe_v3", 6, {"first_k_dense_replace": 1, "layer_group_size": 3}, "LLFLLF", ""),
    ("glm5_next_text", 8, {"indexer_types": ["full"] * 8}, "LLLfLLLf", ""),
    ("glm5_next_text", 3, {"layer_types": kinds("LIL"), "indexer_types": ["shared", "full", "full"]}, "LfL", ""),
    ("dots3_note_text", 10, {}, "IISSSISSSI", ""),
    ("dots3_note_text", 6, {"use_dsa": False}, "FFSSSF", ""),
    ("dots3_note_text", 3, {"use_sliding_window": False}, "III", ""),
    ("dots3_note_text", 3, {"layer_types": kinds("SIF")}, "SIF", ""),
    ("dots3_note_text", 3, {"layer_types": kinds("SIF"), "use_dsa": True}, "SII", ""),
    ("dots3_note_text", 3, {"layer_types": kinds("SIF"), "use_dsa": False}, "SFF", ""),
    ("deepseek_v4", 6, {}, "HHHPHP", "###mmm"),
    ("deepseek_v4", 3, {"compress_ratios": [0, 4, 128]}, "SPH", ""),
    ("deepseek_v4", 3, {"compress_ratios": [0, 4, 128, 4], "num_hash_layers": 9}, "SPH", "###"),
    ("deepseek_v4", 2, {"layer_types": kinds("PSH"), "mlp_layer_types": kinds("m#m")}, "PS", "m#"),
    # other mixers
    ("bamba", 4, {"attn_layer_indices": [1]}, "MAMM", ""),
    ("bamba", 2, {"attn_layer_indices": None}, "MM", ""),
    ("bamba", 2, {"layer_types": ["full_attention", "linear_attention"], "attn_layer_indices": []}, "AM", ""),
    ("granitemoehybrid", 2, {"num_local_experts": 2}, "MM", "mm"),
    ("granitemoehybrid", 2, {"layer_types": ["mamba", "attention"], "num_local_experts": 0}, "MA", ["shared"] * 2),
    ("jamba", 7, {"attn_layer_period": 3, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1,
                  "num_experts": 4}, "MAMMAMM", "dmdmdmd"),
    ("jamba", 2, {"num_experts": 1}, "MM", "dd"),
    ("jamba", 2, {"num_experts": 2, "expert_layer_period": 1, "expert_layer_offset": 0}, "MM", "mm"),
    ("lfm2", 3, {"full_attn_idxs": [1]}, "VAV", ""),
    ("lfm2", 2, {"full_attn_idxs": None, "layer_types": None}, "AA", ""),
    ("lfm2", 2, {"layer_types": ["conv", "full_attention"]}, "VA", ""),
    ("mllama_text_model", 3, {"cross_attention_layers": [1]}, "FXF", ""),
    ("mllama_text_model", 2, {"cross_attention_layers": None}, "", ""),
    ("recurrent_gemma", 5, {"block_types": ["recurrent", "attention"]}, "rArAr", ""),
    ("solar_open2", 6, {"gqa_interval": 3, "linear_attn_config": {"num_heads": 2}}, "FLLLFL", "ssssss"),
    ("solar_open2", 3, {"gqa_layers": [1]}, "LFL", ""),
    ("solar_open2", 2, {"gqa_layers": [0, 1]}, "FF", ""),
    ("solar_open2", 2, {"layer_types": kinds("LF")}, "LF", ""),
    ("gigachat3_5", 3, {"full_attention_layers": [2]}, "LLF", ""),
    ("gigachat3_5", 2, {"full_attention_layers": [0, 1]}, "FF", ""),
    ("gigachat3_5", 2, {"full_attention_layers": None, "layer_types": kinds("FL")}, "FL", ""),
    ("nemotron_h", 4, {"hybrid_override_pattern": "M*-E"}, "MAlm", "--lm"),
    ("nemotron_h", 3, {"layers_block_type": ["mamba", "attention", "mlp"]}, "MAl", "--l"),
    ("nemotron_h", 1, {"hybrid_override_pattern": "*"}, "A", "-"),
    ("minicpm_sala", 2, {"mixer_types": ["lightning-attn", "minicpm4"]}, "", ""),
    # experts
    ("deepseek", 3, {"first_k_dense_replace": 2}, "", "ddm"),
    ("deepseek", 2, {"first_k_dense_replace": 5}, "", "dd"),
    ("qwen2_moe", 5, {"decoder_sparse_step": 2, "num_experts": 4}, "", "dmdmd"),
    ("qwen2_moe", 5, {"decoder_sparse_step": 3, "num_experts": 4}, "", "ddmdd"),
    ("qwen2_moe", 3, {"decoder_sparse_step": 2, "num_experts": 4, "mlp_only_layers": [1]}, "", "ddd"),
    ("qwen2_moe", 3, {"decoder_sparse_step": 1, "num_experts": 4, "mlp_only_layers": [0]}, "", "dmm"),
    ("qwen2_moe", 2, {"decoder_sparse_step": 1, "num_experts": 0}, "", "dd"),
    ("ernie4_5_moe", 7, {"moe_layer_interval": 2, "moe_layer_start_index": 2, "moe_layer_end_index": 5}, "", "dddmdmd"),
    ("ernie4_5_moe", 4, {"moe_layer_interval": 1, "moe_layer_start_index": 1, "moe_layer_end_index": -1}, "", "dmmm"),
    ("ernie4_5_moe", 4, {"moe_layer_interval": 3, "moe_layer_start_index": 0, "moe_layer_end_index": 3}, "", "ddmd"),
    ("ernie4_5_moe", 4, {"moe_layer_interval": 1, "moe_layer_start_index": 0, "moe_layer_end_index": 0}, "", "mddd"),
    ("doge", 2, {"is_moe": True}, "", "tt"),
    ("doge", 2, {"is_moe": False}, "", "ll"),
    ("zaya", 3, {}, "", "1mm"),
    ("inkling_text", 8, {"dense_mlp_idx": 2}, "wwwwwyww", "ddssssss"),
    ("inkling_text", 3, {"local_layer_ids": [1]}, "ywy", ""),
    ("inkling_text", 2, {"layer_types": kinds("yw"), "mlp_layer_types": kinds("sd")}, "yw", "sd"),
    ("nllb-moe", 5, {"decoder_sparse_step": 2, "decoder_layers": 5}, "", "lmlml"),
    ("nllb-moe", 5, {"decoder_sparse_step": 3, "decoder_layers": 5}, "", "llmll"),
    ("nllb-moe", 2, {"decoder_sparse_step": 0, "decoder_layers": 2}, "", "ll"),
    ("switch_transformers", 7, {"decoder_sparse_step": 3, "num_decoder_layers": 7}, "1222222", "lmllmll"),
    ("switch_transformers", 2, {"decoder_sparse_step": 1, "num_decoder_layers": 2}, "", "mm"),
    ("switch_transformers", 2, {"decoder_sparse_step": 0, "num_decoder_layers": 2}, "", "ll"),
    ("switch_transformers", 6, {"num_decoder_layers": 6, "num_sparse_decoder_layers": 2}, "", "lmllml"),
    ("switch_transformers", 4, {"num_decoder_layers": 4, "num_sparse_decoder_layers": 0}, "", "lmll"),
    ("step3p5", 4, {"moe_layers_enum": "1, 3", "moe_num_experts": 4}, "FFFF", "dsds"),
    ("step3p5", 4, {"moe_layers_enum": [0]}, "FFFF", "sddd"),
    ("step3p5", 2, {"moe_layers_enum": "0,000000001"}, "FF", "ss"),
    ("step3p5", 4, {"num_nextn_predict_layers": 1, "mlp_layer_types": kinds("dsdsd")}, "FFFF", "dsds"),
    ("step3p5", 4, {"mlp_layer_types": kinds("ssds")}, "FFFF", "ssds"),
    ("step3p5", 4, {}, "FFFF", "ddds"),
    ("minimax_m3", 2, {"sparse_attention_config": {"sparse_attention_freq": [0, 1]}}, "Fb", ""),
    ("minimax_m3", 2, {"layer_types": kinds("bF"), "sparse_attention_config": {"sparse_attention_freq": [0, 1]}}, "bF",
     ""),
    ("minimax_m3", 2, {}, "FF", ""),
    # stacks and rounds
    ("bert", 2, {}, "ee", ""),
    ("bert", 2, {"is_decoder": True}, "oo", ""),
    ("bert", 2, {"is_decoder": True, "add_cross_attention": True}, "xx", ""),
    ("albert", 6, {"num_hidden_groups": 1}, "eEEEEE", "laaaaa"),
    ("albert", 6, {"num_hidden_groups": 3}, "eEeEeE", "lalala"),
    ("albert", 5, {"num_hidden_groups": 2}, "eEEeE", ""),
    ("albert", 2, {"num_hidden_groups": 2}, "ee", ""),
    ("hrm_text", 2, {"H_cycles": 1, "L_cycles": 1}, "qqqq", "llll"),
    ("hrm_text", 1, {"H_cycles": 2, "L_cycles": 3}, "qQQqQQQQ", "laalaaaa"),
    ("hrm_text", 12, {"H_cycles": 3, "L_cycles": 1, "num_layers_per_stack": 2}, "qqqqQQQQQQQQ", ""),
    ("dory", 4, {"n_input_layers": 1, "n_output_layers": 1, "n_recurrent_loops": 3}, "SSSKKKKF", "lllaaaal"),
    ("dory", 4, {"n_input_layers": 1, "n_output_layers": 2, "n_recurrent_layers": 1, "n_recurrent_loops": 1}, "SSSF",
     ""),
    ("dory", 6, {"layer_types": ["full_attention", "mlp"] * 3, "n_input_layers": 2, "n_output_layers": 2,
                 "n_recurrent_layers": 2}, "FFkF", "llal"),
]  # fmt: skip


def config(model_type: str, depth: int, keys: dict[str, Any]) -> Config:
    """A reader of a short config with this depth under every usual name."""
    return reader({"model_type": model_type, "hidden_size": 64, **depths(model_type, depth), **keys})


def depths(model_type: str, depth: int) -> dict[str, int]:
    """The depth, under the name that the row reads first."""
    return {family(model_type).keys.get("num_hidden_layers", ("num_hidden_layers",))[0]: depth}


def named(case: tuple[str, int, dict[str, Any], Any, Any]) -> str:
    """What a case is called."""
    return f"{case[0]}-{case[1]}-{case[2]}"


@pytest.mark.parametrize("case", PLAIN, ids=named)
def test_each_layer_is_what_the_rule_says(case: tuple[str, int, dict[str, Any], Any, Any]) -> None:
    """One letter a layer, for mixers and for feed-forward networks."""
    model_type, depth, keys, mixers, ffns = case
    found = words(config(model_type, depth, keys))
    if mixers:
        assert [m for m, _ in found] == (mixers if isinstance(mixers, list) else kinds(mixers))
    if ffns:
        assert [f for _, f in found] == (ffns if isinstance(ffns, list) else kinds(ffns))


HALF = {"no_op": False, "replace_with_linear": False}
GONE, MATRIX = {"no_op": True, "replace_with_linear": False}, {"no_op": False, "replace_with_linear": True}
WIDTHS = {"intermediate_size": 9, "num_kv_shared_layers": 0}


def halves(attention: list[Any], ffn: list[Any]) -> dict[str, Any]:
    """Blocks of an attention half and a feed-forward half each."""
    return {"block_configs": [{"attention": a, "ffn": f} for a, f in zip(attention, ffn, strict=True)]}


def cached(letters: str, sources: list[int | None], *shape: int | None) -> list[Cached]:
    """Layers of one geometry, each with the layer whose cache it reads."""
    return [Cached(LETTERS[x], s, *shape) for x, s in zip(letters, sources, strict=True)]


F, S = "full_attention", "sliding_attention"
MADE: list[tuple[str, int, dict[str, Any], list[Any], list[Any]]] = [
    # groups and widths by block: 2 x 1.0 x 64 / 3 = 42.7, up to 256; 2 x 13.0 x 64 / 3 = 554.7, up to 768
    ("nemotron-nas", 4, halves([{**HALF, "n_heads_in_group": 8}, GONE, MATRIX, {**HALF, "n_heads_in_group": 1}],
                               [{**HALF, "ffn_mult": 1.0}, {**HALF, "ffn_mult": 13.0}, GONE, MATRIX]),
     [Grouped("attention", 8), "none", "linear", Grouped("attention", 1)],
     [Wide("mlp", 256), Wide("mlp", 768), "none", "linear"]),
    # 2 x 12.0 x 64 / 3 = 512 is a multiple already; a stated width is taken as it is
    ("nemotron-nas", 2, halves([GONE, GONE], [{**HALF, "ffn_mult": 12.0}, {**HALF, "intermediate_size": 100}]),
     [], [Wide("mlp", 512), Wide("mlp", 100)]),
    ("nemotron-nas", 2, halves([{**HALF, "n_heads_in_group": 4096}, GONE],
                               [{**HALF, "intermediate_size": 10_000_000}, {**HALF, "intermediate_size": 1}]),
     [Grouped("attention", 4096), "none"], [Wide("mlp", 10_000_000), Wide("mlp", 1)]),
    # heads of its own in a layer that lists them
    ("laguna", 2, {"layer_types": kinds("SF"), "num_attention_heads_per_layer": [8, 16]},
     [Heads(S, 8), Heads(F, 16)], ["dense", "sparse"]),
    ("laguna", 2, {"num_attention_heads_per_layer": [1, 100_000]}, [Heads(F, 1), Heads(F, 100_000)], []),
    ("laguna", 2, {"layer_types": kinds("SF")}, [S, F], []),
    ("step3p5", 2, {"layer_types": kinds("SF"), "num_attention_heads": 8, "num_sliding_attention_heads": 12},
     [Heads(S, 12), F], []),
    ("step3p5", 2, {"layer_types": kinds("SF"), "num_attention_heads": 8}, [Heads(S, 8), F], []),
    ("step3p5", 2, {"layer_types": kinds("SF"), "num_attention_heads": 8, "num_nextn_predict_layers": None},
     [Heads(S, 8), F], []),
    ("step3p5", 2, {"layer_types": kinds("SFS"), "num_attention_heads": 8, "num_nextn_predict_layers": 1},
     [Heads(S, 8), F], []),
    ("step3p5", 2, {"layer_types": kinds("FS"), "num_attention_heads": 8, "num_nextn_predict_layers": 1},
     [F, Heads(S, 8)], []),
    # OpenELM: 0.5 x 64 = 32 stays; 0.8 x 64 = 51.2 is nearer to 48, which is not below 46.08
    ("openelm", 2, {"model_dim": 64, "num_query_heads": [4, 8], "num_kv_heads": [2, 4], "head_dim": 16,
                    "ffn_multipliers": [0.5, 0.8], "ffn_dim_divisor": 16},
     [Shaped(F, 4, 2), Shaped(F, 8, 4)], [Wide("mlp", 32), Wide("mlp", 48)]),
    # one number for all: 1.22 x 64 = 78.08 goes to 64 of 64, which is below 70.27, so one unit more
    ("openelm", 2, {"model_dim": 64, "num_query_heads": 100_000, "num_kv_heads": 1, "head_dim": 16,
                    "ffn_multipliers": 1.22, "ffn_dim_divisor": 64},
     [Shaped(F, 100_000, 1)] * 2, [Wide("mlp", 128)] * 2),
    # 0.1 x 64 = 6.4 is at least a unit; 0.75 x 64 = 48 lies half-way between 32 and 64, and goes up
    ("openelm", 2, {"model_dim": 64, "num_query_heads": 1, "num_kv_heads": 1, "head_dim": 16,
                    "ffn_multipliers": [0.1, 0.75], "ffn_dim_divisor": 32}, [], [Wide("mlp", 32), Wide("mlp", 64)]),
    # 12.625 x 64 = 808 lies half-way between 800 and 816, and goes up
    ("openelm", 1, {"model_dim": 64, "num_query_heads": 1, "num_kv_heads": 1, "head_dim": 16,
                    "ffn_multipliers": 12.625, "ffn_dim_divisor": 16}, [], [Wide("mlp", 816)]),
    # 0.65 x 64 = 41.6 is nearer to 32 than to 64, but 32 is below 37.44; 1.25 x 64 = 80, and 0.9 x 80 = 72 is 72
    ("openelm", 1, {"model_dim": 64, "num_query_heads": 1, "num_kv_heads": 1, "head_dim": 16,
                    "ffn_multipliers": 0.65, "ffn_dim_divisor": 32}, [], [Wide("mlp", 64)]),
    ("openelm", 1, {"model_dim": 64, "num_query_heads": 1, "num_kv_heads": 1, "head_dim": 16,
                    "ffn_multipliers": 1.25, "ffn_dim_divisor": 36}, [], [Wide("mlp", 72)]),
    # experts a token takes, layer by layer
    ("hunyuan_v1_moe", 2, {"moe_topk": 3}, [], [Chosen("moe", 3)] * 2),
    ("hunyuan_v1_moe", 2, {"moe_topk": [1, 100_000]}, [], [Chosen("moe", 1), Chosen("moe", 100_000)]),
    # caches of earlier layers
    ("gemma3n_text", 5, {**WIDTHS, "layer_types": kinds("SFSFS"), "num_kv_shared_layers": 2},
     cached("SFSFS", [None, None, None, 1, 2]), [Wide("mlp", 9)] * 5),
    ("gemma3n_text", 6, {**WIDTHS}, cached("SSSSFS", [None] * 6), []),
    ("gemma3n_text", 2, {**WIDTHS, "layer_types": kinds("FF"), "num_kv_shared_layers": 1, "intermediate_size": [1, 2]},
     cached("FF", [None, 0]), [Wide("mlp", 1), Wide("mlp", 2)]),
    ("gemma3n_text", 2, {**WIDTHS, "layer_types": kinds("SS"), "num_kv_shared_layers": 1, "intermediate_size": [3, 5]},
     cached("SS", [None, 0]), [Wide("mlp", 3), Wide("mlp", 5)]),
    ("gemma4_text", 3, {"layer_types": kinds("SFS"), "num_kv_shared_layers": 1, "head_dim": 8, "global_head_dim": 16,
                        "num_key_value_heads": 4, "num_global_key_value_heads": 2, "attention_k_eq_v": True,
                        "intermediate_size": 9, "use_double_wide_mlp": True},
     [Cached(S, None, 8, 4), Cached(F, None, 16, 2), Cached(F, 1, 16, 2)],
     [Wide("mlp", 9), Wide("mlp", 9), Wide("mlp", 18)]),
    ("gemma4_text", 7, {"num_kv_shared_layers": 0, "head_dim": 8, "global_head_dim": 16, "num_key_value_heads": 4,
                        "num_global_key_value_heads": 2, "attention_k_eq_v": False, "intermediate_size": 9,
                        "use_double_wide_mlp": False, "sliding_window_pattern": 6},
     [Cached(S, None, 8, 4)] * 5 + [Cached(F, None, 16, 4)] * 2, [Wide("mlp", 9)] * 7),
    ("gemma4_text", 2, {"layer_types": kinds("SF"), "num_kv_shared_layers": 0, "head_dim": 8, "num_key_value_heads": 4,
                        "per_layer_config": {"1": {"head_dim": 5}, "0": {"num_key_value_heads": 1}}},
     [Cached(S, None, 8, 1), Cached(F, None, 5, 4)], []),
    ("gemma4_text", 2, {"layer_types": kinds("SF"), "num_kv_shared_layers": 0, "head_dim": 8, "num_key_value_heads": 4,
                        "per_layer_config": {"000001": {"head_dim": 1}}},
     [Cached(S, None, 8, 4), Cached(F, None, 1, 4)], []),
    ("gemma4_assistant_text", 3, {"layer_types": kinds("FSS"), "head_dim": 8, "global_head_dim": 16,
                                  "num_key_value_heads": 4, "num_global_key_value_heads": None,
                                  "intermediate_size": 9, "num_kv_shared_layers": 3, "attention_k_eq_v": False,
                                  "use_double_wide_mlp": False},
     [Cached(F, 0, 16, 4), Cached(S, 0, 8, 4), Cached(F, 0, 16, 4)], []),
    ("gemma4_assistant_text", 2, {"layer_types": kinds("SF"), "head_dim": 8, "global_head_dim": 16,
                                  "num_key_value_heads": 4, "num_kv_shared_layers": 0, "attention_k_eq_v": False,
                                  "use_double_wide_mlp": False, "intermediate_size": 9},
     [Cached(S, 0, 8, 4), Cached(F, 0, 16, 4)], []),
    # a shared block, stored where it is used first
    ("zamba", 9, {"attn_layer_period": 3, "attn_layer_offset": 1},
     [*["linear_attention"] * 2, Stored("hybrid", stored=True), "linear_attention", Stored("hybrid", stored=False),
      *["linear_attention"] * 2, Stored("hybrid", stored=False), "linear_attention"], ["none"] * 9),
    ("zamba", 2, {"layers_block_type": ["hybrid", "mamba"]}, [Stored("hybrid", stored=True), "linear_attention"], []),
    ("zamba", 3, {"attn_layer_period": 3, "attn_layer_offset": 2},
     [*["linear_attention"] * 2, Stored("hybrid", stored=True)], []),
    ("zamba", 4, {"attn_layer_period": 3, "attn_layer_offset": 0},
     [*["linear_attention"] * 2, Stored("hybrid", stored=True), Stored("hybrid", stored=False)], []),
    ("zamba2", 54, {"num_mem_blocks": 2},
     [Stored("hybrid", stored=i < 13) if i in (6, 12, 18, 24, 30, 36, 42, 47, 51) else "linear_attention"
      for i in range(54)], []),
    ("zamba2", 4, {"layers_block_type": ["hybrid", "hybrid", "mamba", "hybrid"], "num_mem_blocks": 2,
                   "hybrid_layer_ids": [0, 1, 3]},
     [Stored("hybrid", stored=True), Stored("hybrid", stored=True), "linear_attention", Stored("hybrid", stored=False)],
     []),
    # tables of n-grams, numbered in the order of their layers, which are counted from 1
    ("qwen4_exp_text", 4, {"layer_types": kinds("LLFL"), "ple_layer_ids": [4, 1]},
     [Numbered("linear_with_ngrams", 0), "linear_attention", F, Numbered("linear_with_ngrams", 1)], []),
    # rounds: layers 1 and 2 of 4 run four times, the fourth like the third
    ("inkling2_text", 4, {"layer_types": kinds("ywyw"), "loop_layer_index_start": 1, "loop_layer_index_end": 3,
                          "loop_num_passes": 4}, [], []),
    # compressed caches
    ("deepseek_v41_text", 7, {"compress_ratios": [0, 4, 4, 8, 4096, 8, 0, 9], "kv_source_layer_ids": [1, 3, 4, 5],
                              "index_source_layer_ids": [3, 5], "engram_layer_ids": [0, 4],
                              "engram_num_embeddings": [10, 20]},
     [Borrowed("window_engram", rows=10), Borrowed("compressed", 4, None, makes=True),
      Borrowed("compressed", 4, 1), Borrowed("compressed", 8, None, makes=True, index="keys"),
      Borrowed("compressed_engram", 4096, None, makes=True, index="read", rows=20),
      Borrowed("compressed", 8, None, makes=True, index="keys"), Borrowed("window")], []),
    ("deepseek_v41_text", 2, {"compress_ratios": [4, 4], "kv_source_layer_ids": [0], "index_source_layer_ids": [1],
                              "engram_layer_ids": []},
     [Borrowed("compressed", 4, None, makes=True), Borrowed("compressed", 4, 0, index="choice")], []),
    ("deepseek_v41_text", 1, {"compress_ratios": [0], "kv_source_layer_ids": [], "index_source_layer_ids": [],
                              "engram_layer_ids": [0], "engram_num_embeddings": [1]},
     [Borrowed("window_engram", 0, None, makes=False, index="", rows=1)], []),
    ("deepseek_v41_text", 1, {"compress_ratios": [4096], "kv_source_layer_ids": [0], "index_source_layer_ids": []},
     [Borrowed("compressed", 4096, None, makes=True, index="", rows=0)], []),
    ("mistral_large4_text", 4, {"no_rope_layer_interval": 2, "index_topk_freq": 3, "index_skip_topk_offset": 1},
     ["rope_full", "nope_shared", "rope_shared", "nope_full"], []),
    ("mistral_large4_text", 5, {"no_rope_layer_interval": 3, "index_topk_freq": 1, "index_skip_topk_offset": 1},
     ["rope_full", "rope_full", "nope_full", "rope_full", "rope_full"], []),
    ("mistral_large4_text", 2, {"no_rope_layers": [0, 1], "indexer_types": ["full", "shared"],
                                "kv_source_layers": [0, 1]}, ["nope_full", "rope_shared"], []),
]  # fmt: skip


@pytest.mark.parametrize("case", MADE, ids=named)
def test_a_layer_that_differs_from_its_kind_says_in_what(case: tuple[str, int, dict[str, Any], Any, Any]) -> None:
    """Records of heads, widths, sources and rounds."""
    model_type, depth, keys, mixers, ffns = case
    found = words(config(model_type, depth, keys))
    assert not mixers or [m for m, _ in found] == mixers
    assert not ffns or [f for _, f in found] == ffns


def test_later_rounds_are_alike_from_the_third_on() -> None:
    """Layers 1 and 2 of 4 run four times: 1 + 4 x 2 + 1 places, the fourth round like the third; layer 0 leads."""
    keys = {"layer_types": kinds("ywyw"), "loop_layer_index_start": 1, "loop_layer_index_end": 3, "loop_num_passes": 4}
    found = words(config("inkling2_loop_text", 4, keys))
    middle = [Round(k, r) for r in (1, 2, 3, 3) for k in kinds("wy")]
    assert [m for m, _ in found] == [Round("hybrid", 0, leads=True), *middle, Round("hybrid_sliding", 0)]
    assert [f for _, f in found] == [Round("sparse", r) for r in (0, 1, 1, 2, 2, 3, 3, 3, 3, 0)]


REFUSED: list[tuple[str, int, dict[str, Any]]] = [
    ("llama", 4097, {}),
    ("qwen2", 3, {**WIN, "max_window_layers": 3, "layer_types": kinds("SF")}),
    ("qwen2", 2, {**WIN, "max_window_layers": 3, "layer_types": ["full_attention", "unheard_of"]}),
    ("qwen2", 2, {**WIN, "max_window_layers": 3, "layer_types": ["full_attention", 1]}),
    ("qwen2_moe", 2, {"decoder_sparse_step": 1, "num_experts": 4, "mlp_only_layers": ["0"]}),
    ("Motif", 2, {**FIRST, **WIN, "sliding_window_pattern": "some"}),
    ("llama4_text", 2, {"no_rope_layers": [1]}),
    ("llama4_text", 2, {"no_rope_layers": [1, 1], "layer_types": kinds("C")}),
    ("llama4_text", 2, {"no_rope_layers": [1, 2]}),
    ("llama4_text", 2, {"no_rope_layers": [1, 1], "layer_types": kinds("CS")}),
    ("llama4_text", 2, {"moe_layers": 1}),
    ("exaone4", 2, {"sliding_window": None, "layer_types": kinds("FS")}),
    ("exaone4", 2, {"sliding_window": None, "layer_types": None}),
    ("exaone4", 2, {"sliding_window": 8, "sliding_window_pattern": "LX"}),
    ("smollm3", 2, {"no_rope_layers": [1], "use_sliding_window": False}),
    ("smollm3", 2, {"no_rope_layers": [1, 2], "use_sliding_window": False}),
    ("smollm3", 2, {"no_rope_layers": [1, 1], "use_sliding_window": False, "layer_types": kinds("FS")}),
    ("gpt_neo", 2, {"attention_types": [[["global"], 1]]}),
    ("gpt_neo", 2, {"attention_types": [[["global"], 3]]}),
    ("gpt_neo", 1, {"attention_types": [[["global"], -1], [["global"], 1]]}),
    ("gpt_neo", 2, {"attention_types": [["global", 2]]}),
    ("gpt_neo", 1, {"attention_types": [[["everywhere"], 1]]}),
    ("mpt", 2, {"no_bias": False}),
    ("mpt", 2, {"attn_config": {"alibi": False}}),
    ("mpt", 2, {"attn_config": {"qk_ln": True}}),
    ("mpt", 2, {"expansion_ratio": 3}),
    ("mpt", 2, {"attn_config": {"attn_type": "multiquery_attention"}}),
    ("granite_swa", 2, {"layer_rope_theta": [1.0]}),
    ("kimi_k2", 2, {"moe_layer_freq": 2}),
    ("kimi_k2", 2, {"moe_layer_freq": [1]}),
    ("kimi_k2", 2, {"moe_layer_freq": [1, 2]}),
    ("deepseek_v2", 2, {"kv_lora_rank": None}),
    ("glm_moe_dsa", 4, {"index_topk_freq": 2, "index_skip_topk_offset": 0}),
    ("glm_moe_dsa", 2, {"indexer_types": ["full"]}),
    ("glm_moe_dsa", 2, {"indexer_types": ["full", "half"]}),
    ("glm_moe_dsa", 2, {"indexer_types": ["shared", "full"]}),
    ("kimi_linear", 2, {"linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1, 2]}}),
    ("kimi_linear", 2, {"linear_attn_config": {"full_attn_layers": [2], "kda_layers": [0]}}),
    ("mimo_v2_flash", 2, {"hybrid_layer_pattern": [0]}),
    ("mimo_v2_flash", 2, {"num_attention_heads": 8, "swa_num_attention_heads": 4}),
    ("mimo_v2_flash", 2, {"head_dim": 8, "swa_head_dim": 4}),
    ("mimo_v2_flash", 2, {"v_head_dim": 8, "swa_v_head_dim": 4}),
    ("mimo_v2_flash", 2, {"num_key_value_heads": 4, "swa_num_key_value_heads": 4}),
    ("glm5_next_text", 4, {"indexer_types": ["full", "full", "full", "shared"]}),
    ("glm5_next_text", 4, {"layer_types": kinds("LLSL"), "indexer_types": ["full"] * 4}),
    ("mistral_large4_text", 2, {"no_rope_layers": [1, 1], "indexer_types": ["full"] * 2, "kv_source_layers": [0, 0]}),
    ("deepseek_v4", 2, {"compress_ratios": [4]}),
    ("deepseek_v4", 2, {"compress_ratios": [4, 5]}),
    ("deepseek_v4", 2, {"layer_types": kinds("PF")}),
    ("bamba", 2, {"layer_types": ["mamba"]}),
    ("bamba", 2, {"layer_types": ["mamba", "conv"]}),
    ("bamba", 2, {"layer_types": ["mamba", 1]}),
    ("bamba", 2, {"attn_layer_indices": ["1"]}),
    ("recurrent_gemma", 2, {"block_types": []}),
    ("recurrent_gemma", 2, {"block_types": ["recurrent", "other"]}),
    ("recurrent_gemma", 2, {"block_types": ["recurrent", 1]}),
    ("solar_open2", 2, {"gqa_layers": [2]}),
    ("gigachat3_5", 2, {"full_attention_layers": [2]}),
    ("gigachat3_5", 2, {"full_attention_layers": [1], "layer_types": kinds("FL")}),
    ("nemotron_h", 2, {"hybrid_override_pattern": "MX"}),
    ("nemotron_h", 2, {"hybrid_override_pattern": ""}),
    ("nemotron_h", 2, {"hybrid_override_pattern": "M" * 4097}),
    ("nemotron_h", 3, {}),
    ("ernie4_5_moe", 2, {"moe_layer_end_index": "1"}),
    ("step3p5", 2, {"moe_layers_enum": "1,x"}),
    ("step3p5", 2, {"layer_types": kinds("FSS")}),
    ("step3p5", 2, {"layer_types": kinds("FSS"), "num_nextn_predict_layers": 2}),
    ("step3p5", 2, {"layer_types": kinds("FSS"), "num_nextn_predict_layers": None}),
    ("step3p5", 2, {"moe_layers_enum": "0,0000000001"}),
    ("laguna", 2, {"num_attention_heads_per_layer": [8]}),
    ("laguna", 2, {"layer_types": kinds("FSS")}),
    ("laguna", 2, {"num_attention_heads_per_layer": [8, 0]}),
    ("laguna", 2, {"num_attention_heads_per_layer": [8, 100_001]}),
    ("laguna", 2, {"num_attention_heads_per_layer": [8, True]}),
    ("hunyuan_v1_moe", 2, {"moe_topk": [1]}),
    ("qwen4_exp_text", 2, {"layer_types": kinds("LL"), "ple_layer_ids": [True]}),
    *(("openelm", 1, {"model_dim": 64, "num_query_heads": 1, "num_kv_heads": x, "ffn_multipliers": 1.0,
                      "ffn_dim_divisor": 16}) for x in (True, None, "1", [1, 1])),
    ("hunyuan_v1_moe", 2, {"moe_topk": [1, 0]}),
    ("hunyuan_v1_moe", 2, {"moe_topk": [1, 100_001]}),
    ("gemma3n_text", 2, {**WIDTHS, "layer_types": kinds("SS"), "num_kv_shared_layers": 2}),
    ("gemma3n_text", 3, {**WIDTHS, "layer_types": kinds("SSF"), "num_kv_shared_layers": 1}),
    ("gemma3n_text", 2, {**WIDTHS, "intermediate_size": [3]}),
    ("gemma3n_text", 2, {**WIDTHS, "intermediate_size": [3, 0]}),
    ("gemma4_assistant_text", 3, {"num_kv_shared_layers": 2}),
    ("gemma4_assistant_text", 2, {"layer_types": kinds("F"), "num_kv_shared_layers": 2}),
    *(("gemma4_text", 2, {"layer_types": kinds("SF"), "num_kv_shared_layers": 0, "per_layer_config": x})
      for x in ({"2": {}}, {"x": {}}, {"0000001": {}}, {"1": {"head_dim": 0}}, {"1": {"head_dim": True}})),
    ("zamba", 2, {"layers_block_type": ["hybrid"]}),
    ("zamba", 2, {"layers_block_type": ["hybrid", "attention"]}),
    ("zamba2", 53, {}),
    ("zamba2", 2, {"layers_block_type": ["mamba", "hybrid"], "hybrid_layer_ids": [0]}),
    ("qwen4_exp_text", 2, {"layer_types": kinds("LF"), "ple_layer_ids": [2]}),
    ("qwen4_exp_text", 2, {"layer_types": kinds("LL"), "ple_layer_ids": [3]}),
    ("qwen4_exp_text", 2, {"layer_types": kinds("LL"), "ple_layer_ids": [0]}),
    ("albert", 2, {"inner_group_num": 2}),
    ("albert", 2, {"num_hidden_groups": 3}),
    ("hrm_text", 15, {"num_layers_per_stack": 2, "H_cycles": 2, "L_cycles": 3}),
    ("hrm_text", 513, {"H_cycles": 2, "L_cycles": 3}),  # 513 x 2 x 4 = 4,104
    ("dory", 4, {"n_input_layers": 2, "n_output_layers": 2}),
    ("dory", 4, {"n_input_layers": 1, "n_output_layers": 1, "n_recurrent_layers": 1}),
    ("dory", 4, {"n_input_layers": 1, "n_output_layers": 1, "recurrent_kv_cache_mode": "last_loop"}),
    ("dory", 4, {"n_input_layers": 1, "n_output_layers": 1, "n_recurrent_loops": 1025}),
    ("inkling2_loop_text", 4, {"loop_layer_index_start": 0, "loop_layer_index_end": 2, "loop_num_passes": 2}),
    ("inkling2_loop_text", 4, {"loop_layer_index_start": 2, "loop_layer_index_end": 2, "loop_num_passes": 2}),
    ("inkling2_loop_text", 4, {"loop_layer_index_start": 1, "loop_layer_index_end": 5, "loop_num_passes": 2}),
    ("inkling2_loop_text", 4, {"loop_layer_index_start": 1, "loop_layer_index_end": 3, "loop_num_passes": 2047}),
    ("deepseek_v41_text", 2, {"compress_ratios": [0], "kv_source_layer_ids": [], "index_source_layer_ids": []}),
    ("deepseek_v41_text", 1, {"compress_ratios": [4097], "kv_source_layer_ids": [0], "index_source_layer_ids": []}),
    ("deepseek_v41_text", 1, {"compress_ratios": [0], "kv_source_layer_ids": [0], "index_source_layer_ids": []}),
    ("deepseek_v41_text", 1, {"compress_ratios": [0], "kv_source_layer_ids": [], "index_source_layer_ids": [0]}),
    ("deepseek_v41_text", 2, {"compress_ratios": [4, 4], "kv_source_layer_ids": [1], "index_source_layer_ids": []}),
    ("deepseek_v41_text", 2, {"compress_ratios": [4, 8], "kv_source_layer_ids": [0], "index_source_layer_ids": []}),
    *(("deepseek_v41_text", 1, {"compress_ratios": [0], "kv_source_layer_ids": [], "index_source_layer_ids": [],
                                "engram_layer_ids": [0], "engram_num_embeddings": x}) for x in ([], [0], [True])),
    ("nemotron-nas", 2, halves([GONE], [GONE])),
    *(("nemotron-nas", 1, halves([{**HALF, "n_heads_in_group": x}], [GONE])) for x in (0, 4097, True, None)),
    *(("nemotron-nas", 1, halves([GONE], [{**HALF, **x}])) for x in (
        {"ffn_mult": 0.0}, {"ffn_mult": 1001.0}, {"ffn_mult": 1.0, "intermediate_size": 8}, {},
        {"intermediate_size": 0}, {"intermediate_size": 10_000_001}, {"ffn_mult": 1.0, "sparsify": ["x"]},
    )),
    ("nemotron-nas", 1, halves([{"no_op": False, "n_heads_in_group": 1}], [GONE])),
    ("nemotron-nas", 1, halves([{**HALF, "n_heads_in_group": 1, "sparsify": True}], [GONE])),
    ("openelm", 2, {"model_dim": 64, "num_query_heads": [1], "num_kv_heads": 1, "ffn_multipliers": 1.0}),
    ("openelm", 1, {"model_dim": 64, "num_query_heads": 100_001, "num_kv_heads": 1, "ffn_multipliers": 1.0,
                    "ffn_dim_divisor": 16}),
    ("openelm", 1, {"model_dim": 64, "num_query_heads": 0, "num_kv_heads": 1, "ffn_multipliers": 1.0,
                    "ffn_dim_divisor": 16}),
    ("openelm", 2, {"model_dim": 64, "num_query_heads": 1, "num_kv_heads": 1, "ffn_multipliers": [1.0],
                    "ffn_dim_divisor": 16}),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}"[:90])
def test_layers_that_cannot_be_are_refused(case: tuple[str, int, dict[str, Any]]) -> None:
    """Lists of another length, words and numbers of no layer, switches that only remote code reads."""
    with pytest.raises(Refused):
        words(config(*case))


GREATEST: list[tuple[str, int, dict[str, Any]]] = [
    ("llama", 4096, {}),
    ("hrm_text", 512, {"H_cycles": 2, "L_cycles": 3}),  # 512 x 2 x 4 = 4,096
    ("dory", 4, {"n_input_layers": 1, "n_output_layers": 1, "n_recurrent_loops": 1024}),  # 4 x 1,024
    ("inkling2_loop_text", 4, {"loop_layer_index_start": 1, "loop_layer_index_end": 3, "loop_num_passes": 2046}),
    ("mpt", 2, {"expansion_ratio": 4}),
    ("nemotron_h", 4096, {"hybrid_override_pattern": "M" * 4096}),
    ("nemotron-nas", 1, halves([GONE], [{**HALF, "ffn_mult": 1000.0}])),
    ("nemotron-nas", 1, halves([{**HALF, "n_heads_in_group": 1, "sparsify": False, "window": None}], [GONE])),
    ("mimo_v2_flash", 2, {"num_attention_heads": 8, "swa_num_attention_heads": 8, "num_key_value_heads": 4,
                          "swa_num_key_value_heads": 8}),
    ("gemma4_text", 2, {"layer_types": kinds("SF"), "num_kv_shared_layers": 1 - 1}),
]  # fmt: skip


@pytest.mark.parametrize("case", GREATEST, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}"[:90])
def test_the_last_that_fits_is_not_refused(case: tuple[str, int, dict[str, Any]]) -> None:
    """4,096 layers in all, and the other bounds from inside."""
    assert words(config(*case))


def test_every_layout_has_a_case() -> None:
    """A layout that no case above asks for fails here by name."""
    asked = {family(case[0]) for cases in (PLAIN, MADE) for case in cases} | {family("inkling2_loop_text")}
    left = {*MIXER_LAYOUTS} - {f.layout for f in asked}
    assert left <= {"one_layer", "blocks_listed", "block_kinds"}, left
    left = {*FFN_LAYOUTS, *FOLLOWING} - {f.ffn_layout for f in asked}
    assert left <= {"bailing", "blocks_listed", "block_experts"}, left


AGREED: list[tuple[str, int, dict[str, Any], str, Any]] = [
    # SmolLM's class states no window; use_rope is the switch of Solar Open 2
    ("solar_open2", 2, {"use_rope": True}, "position", "rope"),
    ("solar_open2", 2, {"use_rope": False}, "position", "nope"),
    # the current token counts too: 8 + 1
    ("Motif", 2, {**FIRST, **WIN, "sliding_window_pattern": "all"}, "window", 9),
    # 2 x (3 + 1) rounds of 1
    ("hrm_text", 1, {"H_cycles": 2, "L_cycles": 3}, "num_hidden_layers", 8),
    ("hrm_text", 3, {"H_cycles": 2, "L_cycles": 3}, "num_hidden_layers", 24),
    ("hrm_text", 3, {"H_cycles": 2, "L_cycles": 3}, "num_layers_per_stack", 3),
    ("gemma4_text", 2, {"layer_types": kinds("FF"), "num_kv_shared_layers": 1, "intermediate_size": 9,
                        "use_double_wide_mlp": True}, "intermediate_size[shared]", 18),
    ("ernie4_5_moe", 4, {"moe_layer_end_index": -1}, "moe_layer_end", 3),
    ("mimo_v2", 2, {"num_attention_heads": 6}, "swa_num_attention_heads", 6),
    ("mimo_v2", 2, {"num_attention_heads": 6, "swa_num_attention_heads": 3}, "swa_num_attention_heads", 3),
    ("mimo_v2", 2, {"head_dim": 6, "swa_v_head_dim": None}, "swa_head_dim", 6),
    ("qwen2", 3, {**WIN, "max_window_layers": 1}, "effective_window", 8),
    ("qwen2", 3, {**WIN, "use_sliding_window": False}, "effective_window", None),
    ("gemma3n_text", 5, {**WIDTHS, "layer_types": kinds("SFSFS"), "num_kv_shared_layers": 2}, "kv_shared_from", [1, 2]),
    ("dory", 5, {"n_input_layers": 1, "n_output_layers": 1}, "middle_layers", 3),
    ("deepseek_v2", 2, {"kv_lora_rank": 16}, "attention", "mla"),
    ("deepseek_v2", 2, {"kv_lora_rank": None, "use_mla": False}, "attention", "heads"),
]  # fmt: skip


@pytest.mark.parametrize("case", AGREED, ids=named)
def test_what_a_layout_derives_is_noted(case: tuple[str, int, dict[str, Any], str, Any]) -> None:
    """Numbers that follow from the layers stand among the answers."""
    model_type, depth, keys, field, value = case
    read = config(model_type, depth, keys)
    words(read)
    assert read.values[field] == value


BLOCKED = {"model_type": "llama", "architectures": ["AnyModel"], "base_architecture": "LlamaForCausalLM",
           "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}  # fmt: skip
LISTED = halves([{}, {"no_op": True}], [{"intermediate_size": 7}, {"no_op": True}])
PRUNED = {"model_type": "nemotron_h", "hybrid_override_pattern": "ME-", "num_hidden_layers": 3, "hidden_size": 64,
          "n_routed_experts": 8, "moe_intermediate_size": 6, "num_experts_per_tok": 2}  # fmt: skip
DRAFT = {"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64}


@pytest.mark.parametrize(("keys", "expected"), [
    (BLOCKED | LISTED, [(KvHeads("attention", 2), Wide("mlp", 7)), ("none", "none")]),
    (BLOCKED | halves([{"num_key_value_heads": 1}, {"no_op": False}], [{"intermediate_size": 1, "no_op": False}] * 2),
     [(KvHeads("attention", 1), Wide("mlp", 1)), (KvHeads("attention", 2), Wide("mlp", 1))]),
    (BLOCKED | LISTED | {"base_architecture": "LlamaModel"}, None),
    (BLOCKED | LISTED | {"base_architecture": "QwenForCausalLM"}, None),
    (BLOCKED | LISTED | {"num_hidden_layers": 3}, None),
    (BLOCKED | halves([{"no_op": 1}, {}], [{"intermediate_size": 7}] * 2), None),
    (BLOCKED | halves([{"n_heads_in_group": 2}, {}], [{"intermediate_size": 7}] * 2), None),
    (BLOCKED | halves([{}, {}], [{"intermediate_size": 7}, {}]), None),
    (PRUNED | {"block_configs": [{}, {"block_type": "moe", "n_routed_experts": 4, "moe_intermediate_size": 5,
                                      "num_experts_per_tok": 1}, {"block_type": "mlp"}]},
     [("mamba", "none"), (Experts("moe", 4, 5, 1), Experts("moe", 4, 5, 1)), ("mlp", "mlp")]),
    (PRUNED | {"block_configs": [{}, {}, {}]}, [("mamba", "none"), (Experts("moe", 8, 6, 2),) * 2, ("mlp", "mlp")]),
    (PRUNED | {"block_configs": [{}, {}]}, None),
    (PRUNED | {"block_configs": [{"block_type": "moe"}, {}, {}]}, None),
    (PRUNED | {"block_configs": [{"n_routed_experts": 4}, {}, {}]}, None),
    (PRUNED | {"block_configs": [{}, {"num_key_value_heads": 4}, {}]}, None),
    (DRAFT | {"num_hidden_layers": 1}, [("full_attention", "mlp")]),
    (DRAFT | {"num_hidden_layers": 2}, None),
])  # fmt: skip
def test_classes_made_of_a_familys_layers(keys: dict[str, Any], expected: list[Any] | None) -> None:
    """Blocks listed for any model, pruned experts, drafts of one layer; None where the file is refused."""
    if expected is None:
        with pytest.raises(Refused):
            words(reader(keys))
        return
    found = list(words(reader(keys)))
    assert [m for m, _ in found] == [m for m, _ in expected]
    wide = [f for _, f in expected]
    assert [f for _, f in found] == wide or [m for m, _ in found] == wide or keys["model_type"] == "nemotron_h"


@pytest.mark.parametrize(("keys", "stacks"), [
    ({"model_type": "bart"}, ("decoder",)),
    ({"model_type": "bart", "architectures": ["BartForConditionalGeneration"]}, ("decoder", "encoder")),
    ({"model_type": "bart", "architectures": ["BartForCausalLM"]}, ("decoder",)),
    ({"model_type": "bart", "architectures": []}, ("decoder",)),
    ({"model_type": "t5", "architectures": []}, ("decoder", "encoder")),
    ({"model_type": "t5", "architectures": ["T5EncoderModel"]}, ("encoder",)),
    ({"model_type": "t5", "architectures": ["T5ForTokenClassification"]}, ("encoder",)),
    ({"model_type": "t5"}, ("decoder", "encoder")),
    ({"model_type": "trocr"}, ("decoder",)),
    ({"model_type": "bert"}, ("encoder",)),
    ({"model_type": "bert", "is_decoder": True}, ("decoder",)),
    ({"model_type": "llama"}, ("decoder",)),
])  # fmt: skip
def test_which_stacks_a_class_has(keys: dict[str, Any], stacks: tuple[str, ...]) -> None:
    """By the class named, by `is_decoder`, or one; BART with no class named is the causal one."""
    read = reader(keys)
    assert STACKS[read.rules.stacks](read) == stacks
    assert STACKS[read.rules.stacks](read) == stacks  # asked again, the answer stands


def test_passes_over_the_whole_stack_are_bounded() -> None:
    """Four passes over 1,024 layers are 4,096; five are too many, and one pass says nothing of itself."""
    read = reader({"model_type": "ouro", "total_ut_steps": 4, "num_hidden_layers": 2})
    assert passes(read, 1024) == 4
    assert read.values["cache_layers"] == 4096
    with pytest.raises(Refused):
        passes(read, 1025)
    twice = reader({"model_type": "ouro", "total_ut_steps": 2, "num_hidden_layers": 2})
    assert (passes(twice, 3), twice.values["cache_layers"]) == (2, 6)
    once = reader({"model_type": "ouro", "total_ut_steps": 1, "num_hidden_layers": 2})
    assert passes(once, 2) == 1
    assert "cache_layers" not in once.values


def test_a_layer_outside_of_all_rounds_leads_only_where_it_is_the_first() -> None:
    """Fields that a record leaves out: no lead, no ratio, nothing made, no rows."""
    rounds = [m for m, _ in words(config("inkling2_text", 2, {})) if isinstance(m, Round)]
    assert [m.leads for m in rounds] == [True, False]
    assert not Round("hybrid", 0).leads
    plain = Borrowed("window")
    assert (plain.ratio, plain.makes, plain.rows) == (0, False, 0)
