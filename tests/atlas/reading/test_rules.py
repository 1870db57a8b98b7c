"""Every rule by which a field follows from other keys, each way it can go, with the arithmetic of its docstring."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.families import available, family, known
from atlas.interpret import reader
from atlas.reading.derivations import DERIVATIONS, settle
from atlas.refusal import Refused

BOTH = "use_bidirectional_attention"
CASES: list[tuple[str, dict[str, Any], str, Any]] = [
    # half of 9 is 4, and the token itself; half of 8 the same way
    ("gemma3_text", {"sliding_window": 9, BOTH: True}, "window", 5),
    ("gemma3_text", {"sliding_window": 8, BOTH: False}, "window", 8),
    ("gemma4_unified_text", {"sliding_window": 9, BOTH: "all"}, "window", 5),
    ("gemma4_unified_text", {"sliding_window": 9, BOTH: "vision"}, "window", 9),
    ("mimo_v2_flash", {"sliding_window_size": 7}, "window", 8),
    ("mimo_v2_flash", {"sliding_window": 7}, "window", 7),
    ("dots3_note_text", {}, "window", 512),
    ("dots3_note_text", {"sliding_window_size": 7}, "window", 7),
    ("dots3_note_text", {"sliding_window": 9, "sliding_window_size": 7}, "window", 9),
    ("modernbert-decoder", {"local_attention": 9}, "sliding_window", 4),
    ("modernbert", {"local_attention": 9}, "sliding_window", 9),
    ("granitemoehybrid", {"position_embedding_type": "rope"}, "position", "rope"),
    ("granitemoehybrid", {"position_embedding_type": "nope"}, "position", "nope"),
    ("granitemoehybrid", {"position_embedding_type": None}, "position", "nope"),
    ("deberta-v2", {"position_biased_input": True}, "position", "learned"),
    ("deberta-v2", {"position_biased_input": False}, "position", "relative"),
    ("esm", {"position_embedding_type": "absolute"}, "position", "learned"),
    ("esm", {"position_embedding_type": "rotary"}, "position", "rope"),
    ("falcon", {"alibi": True}, "position", "alibi"),
    ("falcon", {"alibi": False}, "position", "rope"),
    ("baichuan", {"hidden_size": 4096, "num_attention_heads": 32}, "position", "rope"),
    ("baichuan", {"hidden_size": 5120, "num_attention_heads": 32}, "position", "alibi"),
    ("baichuan", {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8}, "num_key_value_heads", 32),
    ("gpt_bigcode", {"multi_query": True, "n_head": 6}, "num_key_value_heads", 1),
    ("gpt_bigcode", {"multi_query": False, "n_head": 6}, "num_key_value_heads", 6),
    ("falcon", {"multi_query": True, "num_attention_heads": 6}, "num_key_value_heads", 1),
    ("falcon", {"multi_query": False, "num_attention_heads": 6}, "num_key_value_heads", 6),
    ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2}, "num_key_value_heads", 2),
    ("hgrn2", {"hidden_size": 96, "expand_ratio": 32, "num_heads": 5}, "num_attention_heads", 3),
    ("hgrn2", {"hidden_size": 96, "expand_ratio": None, "num_heads": 5}, "num_attention_heads", 5),
    ("chatglm", {"rope_ratio": 50}, "rope_theta", 500000.0),
    ("deepseek_v4", {}, "compress_rate_sparse", 4),
    ("deepseek_v4", {}, "compress_rate_heavy", 128),
    ("deepseek_v4", {"compress_rates": {"compressed_sparse_attention": 8}}, "compress_rate_sparse", 8),
    ("deepseek_v4", {"compress_rates": {"heavily_compressed_attention": 64}}, "compress_rate_heavy", 64),
    ("deepseek_v4", {"compress_rates": {"heavily_compressed_attention": 64}}, "compress_rate_sparse", 4),
    ("deepseek_v4", {"head_dim": 96, "partial_rotary_factor": None, "qk_rope_head_dim": None}, "qk_rope_head_dim", 12),
    ("deepseek_v4", {"head_dim": 96, "partial_rotary_factor": 0.5, "qk_rope_head_dim": None}, "qk_rope_head_dim", 48),
    ("deepseek_v4", {"head_dim": 96, "qk_rope_head_dim": 32}, "qk_rope_head_dim", 32),
    ("molmo2_text", {"qk_norm_type": "qwen3"}, "qk_norm", "head"),
    ("molmo2_text", {"qk_norm_type": "olmo"}, "qk_norm", "full"),
    ("molmo2_text", {"norm_after": True}, "norm_placement", "post_sublayer"),
    ("molmo2_text", {"norm_after": False}, "norm_placement", "pre"),
    ("opt", {"do_layer_norm_before": True}, "norm_placement", "pre"),
    ("opt", {"do_layer_norm_before": False}, "norm_placement", "post"),
    ("opt", {"do_layer_norm_before": True, "_remove_final_layer_norm": False}, "final_norm", True),
    ("opt", {"do_layer_norm_before": True, "_remove_final_layer_norm": True}, "final_norm", False),
    ("opt", {"do_layer_norm_before": False, "_remove_final_layer_norm": False}, "final_norm", False),
    ("opt", {"layer_norm_elementwise_affine": False}, "norm_class", "nonparametric_layernorm"),
    ("opt", {"layer_norm_elementwise_affine": True}, "norm_class", "layernorm"),
    ("xmod", {"pre_norm": True}, "norm_placement", "pre"),
    ("xmod", {"pre_norm": False}, "norm_placement", "post"),
    ("cohere2_moe", {"rms_norm_eps": 1e-6}, "norm_class", "rmsnorm"),
    ("cohere2_moe", {"rms_norm_eps": None}, "norm_class", "layernorm"),
    ("esm", {"emb_layer_norm_before": True}, "embedding_norm", True),
    ("esm", {"emb_layer_norm_before": None}, "embedding_norm", False),
    ("esm", {"emb_layer_norm_before": False}, "embedding_norm", False),
    ("xlstm", {"use_bias": True}, "norm_bias", True),
    ("xlstm", {"use_bias": False}, "norm_bias", False),
    ("hyperclovax", {"use_post_norm": True}, "norm_placement", "sandwich"),
    ("hyperclovax", {"use_post_norm": False}, "norm_placement", "pre"),
    # 96 / 6 where none is stated
    ("minicpm3", {"hidden_size": 96, "num_attention_heads": 6, "v_head_dim": None}, "v_head_dim", 16),
    ("minicpm3", {"hidden_size": 96, "num_attention_heads": 6, "v_head_dim": 5}, "v_head_dim", 5),
    ("olmo_hybrid", {"num_attention_heads": 6}, "linear_num_key_heads", 6),
    ("olmo_hybrid", {"num_attention_heads": 6, "linear_num_key_heads": 2}, "linear_num_key_heads", 2),
    ("olmo_hybrid", {"num_attention_heads": 6}, "linear_num_value_heads", 6),
    ("olmo_hybrid", {"num_attention_heads": 6, "linear_num_value_heads": 3}, "linear_num_value_heads", 3),
    # 0.75 x 100 / 6 = 12.5
    ("olmo_hybrid", {"hidden_size": 100, "num_attention_heads": 6}, "linear_key_head_dim", 12),
    ("olmo_hybrid", {"hidden_size": 100, "num_attention_heads": 6, "linear_key_head_dim": 7}, "linear_key_head_dim", 7),
    ("olmo_hybrid", {"linear_key_head_dim": 7}, "linear_value_head_dim", 14),
    ("olmo_hybrid", {"linear_key_head_dim": 7, "linear_value_head_dim": 9}, "linear_value_head_dim", 9),
    ("granitemoe_swa", {"shared_intermediate_size": 0}, "n_shared_experts", 0),
    ("granitemoe_swa", {"shared_intermediate_size": 1}, "n_shared_experts", 1),
    ("granitemoe_swa", {"shared_intermediate_size": 96}, "n_shared_experts", 1),
    ("moshi", {"ffn_dim": 22}, "intermediate_size", 11),
    # 2 x 97 / 3 = 64.7, 64 is a multiple of 8; 2 x 100 / 3 = 66.7, up to 72
    ("neobert", {"intermediate_size": 97}, "intermediate_size", 64),
    ("neobert", {"intermediate_size": 100}, "intermediate_size", 72),
    # 2.5 x 96 = 240, up to a multiple of 64; 2 x 96 = 192 is one
    ("xlstm", {"hidden_size": 96, "ffn_proj_factor": 2.5, "ffn_round_up_to_multiple_of": 64}, "intermediate_size", 256),
    ("xlstm", {"hidden_size": 96, "ffn_proj_factor": 2.0, "ffn_round_up_to_multiple_of": 64}, "intermediate_size", 192),
    # 96 x 4 x 2 / 3 = 256; x 5: 320, up to 512
    ("gla", {"hidden_size": 96, "hidden_ratio": None, "intermediate_size": None}, "intermediate_size", 256),
    ("gla", {"hidden_size": 96, "hidden_ratio": 5, "intermediate_size": None}, "intermediate_size", 512),
    ("gla", {"hidden_size": 96, "intermediate_size": 7}, "intermediate_size", 7),
    ("inkling_text", {"dense_intermediate_size": 9, "intermediate_size": 7}, "intermediate_size", 9),
    ("inkling_text", {"dense_intermediate_size": 9, "intermediate_size": 7}, "moe_intermediate_size", 7),
    ("inkling_text", {"intermediate_size": 7, "moe_intermediate_size": 5}, "moe_intermediate_size", 5),
    ("inkling_text", {"intermediate_size": 7, "moe_intermediate_size": 5}, "intermediate_size", 7),
    ("bailing_moe", {"architectures": ["BailingMoeForCausalLM"]}, "qk_norm_switch", False),
    ("bailing_moe", {"architectures": ["BailingMoeV2ForCausalLM"], "use_qk_norm": True}, "qk_norm_switch", True),
    ("mt5", {"feed_forward_proj": "gated-gelu"}, "is_gated_ffn", True),
    ("mt5", {"feed_forward_proj": "relu"}, "is_gated_ffn", False),
    ("mt5", {"feed_forward_proj": "relu", "is_gated_act": True}, "is_gated_ffn", True),
    ("mt5", {"feed_forward_proj": "gated-gelu", "is_gated_act": False}, "is_gated_ffn", False),
    ("mt5", {"feed_forward_proj": "gated-gelu"}, "hidden_act", "gelu_new"),
    ("mt5", {"feed_forward_proj": "gated-silu"}, "hidden_act", "silu"),
    ("mt5", {"feed_forward_proj": "relu"}, "hidden_act", "relu"),
    ("mt5", {"feed_forward_proj": "gated-gelu", "dense_act_fn": "silu"}, "hidden_act", "silu"),
    ("longcat_flash", {"num_layers": 7}, "num_hidden_layers", 7),
    ("longcat_flash", {"num_hidden_layers": 9}, "num_hidden_layers", 4),
    ("longcat_flash", {"num_hidden_layers": 14, "num_layers": 7}, "num_hidden_layers", 7),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}-{case[3]}")
def test_a_field_follows_from_its_keys(case: tuple[str, dict[str, Any], str, Any]) -> None:
    """The answer of a rule, of the type that it is."""
    model_type, keys, field, value = case
    found = settle(reader({"model_type": model_type, **keys})).opt(field)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("model_type", "keys"), [
    ("baichuan", {"hidden_size": 4608, "num_attention_heads": 32}),
    ("minicpm3", {"hidden_size": 100, "num_attention_heads": 6, "v_head_dim": None}),
    ("mt5", {"feed_forward_proj": "gated-gelu-tanh"}),
    ("mt5", {"feed_forward_proj": "wide-gelu"}),
    ("xlstm", {"ffn_proj_factor": 0.0}),
    ("xlstm", {"ffn_proj_factor": 1001.0}),
])  # fmt: skip
def test_keys_from_which_nothing_follows_are_refused(model_type: str, keys: dict[str, Any]) -> None:
    """Widths that do not divide, activations of no known form, a width that no key decides."""
    with pytest.raises(Refused):
        settle(reader({"model_type": model_type, **keys}))


def test_the_greatest_factor_is_none_too_many() -> None:
    """A thousand times the hidden size is taken."""
    read = settle(reader({"model_type": "xlstm", "hidden_size": 64, "ffn_proj_factor": 1000.0}))
    assert read.opt("intermediate_size") == 64000


def test_every_rule_has_a_case() -> None:
    """A rule that rows name and no case above asks for fails here by name."""
    asked = {family(m).derive.get(f) for m, _, f, _ in CASES}
    named = {r for t in available() if known(t) for r in family(t).derive.values()}
    assert named - asked <= {"encoder_width"}
    assert set(DERIVATIONS) - named == set()
