"""Decoders of the library that stand apart: loops, scales, windows by rule, experts in attention. Hand counts."""

from __future__ import annotations

from typing import Any

from atlas.interpret import derive
from atlas.numbers.tabulate import layers_expanded

WIDE = {"hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 96}


def found(config: dict[str, Any]) -> Any:
    """The row of a config that is known to be derivable."""
    row = derive(config).fingerprint
    assert row.verdict == "known", row.refusal_reason
    return row


def mixers(config: dict[str, Any]) -> list[str]:
    """The mixer of each layer."""
    derived = derive(config)
    assert derived.model is not None, derived.fingerprint.refusal_reason
    return [row.mixer for row in layers_expanded(derived.model)]


def test_glm_has_biases_on_q_k_v_alone() -> None:
    """attention_bias is true by default and never reaches the output projection; half of a head is rotated."""
    row = found({"model_type": "glm", **WIDE, "num_hidden_layers": 1, "num_key_value_heads": 2, "head_dim": 16})
    attention = 64 * 64 + 64 + 2 * (64 * 32 + 32) + 64 * 64
    assert row.params_attention == attention
    assert (row.has_attention_bias, row.partial_rotary) == (True, 0.5)


def test_a_rope_base_of_zero_means_no_positions() -> None:
    """Granite with windows states a base per layer; 0 is an answer: that layer has no RoPE."""
    config = {"model_type": "granite_swa", **WIDE, "num_hidden_layers": 4, "num_key_value_heads": 4}
    assert found(config).position == "rope"
    assert found(config | {"layer_rope_theta": [0, 10000, 10000, 10000]}).position == "mixed"
    assert mixers(config) == ["full_attention"] + ["sliding_attention"] * 3


def test_exaone_without_a_window_is_full_everywhere() -> None:
    """sliding_window null switches the pattern off: every layer full, with RoPE."""
    config = {
        "model_type": "exaone_moe",
        **WIDE,
        "num_hidden_layers": 4,
        "num_key_value_heads": 4,
        "num_experts_per_tok": 1,
    }
    config |= {"num_experts": 2, "moe_intermediate_size": 8}
    assert mixers(config) == ["sliding_attention"] * 3 + ["full_attention"]
    row = found(config | {"sliding_window": None})
    assert (row.layer_mix, row.position) == ({"full_attention": 4}, "rope")


def test_layers_run_again_are_stored_once_and_cached_every_time() -> None:
    """HRM runs a low stack 3 times and a high one once, twice over: weights of 2 stacks, work and cache of 8."""
    row = found({"model_type": "hrm_text", **WIDE, "num_hidden_layers": 1, "head_dim": 16})
    layer = 5 * 64 * 64 + 3 * 64 * 96  # q, k, v, o and the gate; no norm has weights
    assert row.params_total == 2 * 100 * 64 + 64 + 2 * layer
    assert row.params_active_compute == 100 * 64 + 8 * layer
    assert row.kv_bytes_per_token == 8 * 2 * 64 * 2
    assert row.n_layers == 8


def test_a_depth_that_is_not_that_of_the_rounds_is_a_contradiction() -> None:
    """A file of the library states the depth of all rounds beside that of one stack; both must be true."""
    stated = {"model_type": "hrm_text", **WIDE, "num_layers_per_stack": 2, "H_cycles": 2, "L_cycles": 3}
    assert found(stated | {"num_hidden_layers": 16}).n_layers == 16
    assert derive(stated | {"num_hidden_layers": 15}).fingerprint.refusal_kind == "contradiction"


def test_dory_merges_listed_pairs_and_loops_its_middle() -> None:
    """Six listed blocks are three layers; the middle one runs twice and keeps a cache for each round."""
    config = {
        "model_type": "dory", **WIDE, "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 6,
        "n_input_layers": 2, "n_output_layers": 2, "n_recurrent_layers": 2,
        "layer_types": ["full_attention", "mlp"] * 3,
    }  # fmt: skip
    row = found(config)
    assert row.n_layers == 4
    assert row.kv_bytes_per_token == 4 * 2 * 2 * 16 * 2
    assert row.params_ffn_dense == 3 * (3 * 64 * 96 + 2 * 96)
    assert derive(config | {"recurrent_kv_cache_mode": "last_loop"}).fingerprint.refusal_kind == "not_derivable"


def test_experts_in_attention_bring_query_heads_of_their_own() -> None:
    """JetMoE: 2 of 4 experts with 2 KV heads make 4 query heads over one cache of 2 KV heads."""
    row = found({
        "model_type": "jetmoe", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 1, "num_key_value_heads": 2,
        "kv_channels": 16, "num_local_experts": 4, "num_experts_per_tok": 2, "intermediate_size": 96,
    })  # fmt: skip
    assert (row.n_q_heads, row.n_kv_heads, row.kv_bytes_per_token) == (4, 2, 2 * 2 * 16 * 2)
    assert row.params_attention == 2 * 32 * 64
    assert row.params_experts_routed == 4 * (2 * 32 * 64) + 64 + 4 * 3 * 64 * 96


def test_a_matrix_lstm_keeps_a_matrix_per_head() -> None:
    """Queries and keys of 32 and values of 64 in 4 heads: 4 x 8 x 16 + 32 + 4 elements at 2 bytes, per layer."""
    row = found({"model_type": "xlstm", "hidden_size": 64, "num_heads": 4, "num_hidden_layers": 3, "vocab_size": 100})
    assert row.state_bytes_constant == 3 * 2 * (4 * 8 * 16 + 32 + 4)
    assert (row.kv_bytes_per_token, row.d_ff) == (0, 192)  # 2.667 x 64 = 170.7, rounded up to a multiple of 64


def test_modernbert_halves_its_window_as_a_decoder() -> None:
    """local_attention 128 is 64 to each side: the decoder looks back over 64, the encoder's window is 128."""
    decoder = found({"model_type": "modernbert-decoder"})
    encoder = found({"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"]})
    assert (decoder.sliding_window, encoder.sliding_window) == (64, 128)
    assert (decoder.kv_bytes_per_token, encoder.kv_bytes_per_token) == (8 * 2 * 768 * 2, None)
    assert encoder.params_norm == (1 + 21 + 22 + 1) * 768  # layer 0 has no norm before attention


def test_internlm3_has_one_switch_for_q_k_v_and_one_for_the_rest() -> None:
    """qkv_bias adds a bias to q, k and v; bias adds one to the output projection and to each matrix of the network."""
    config = {"model_type": "internlm3", **WIDE, "num_hidden_layers": 1, "num_key_value_heads": 4, "head_dim": 16}
    plain = found(config).params_total
    assert found(config | {"qkv_bias": True}).params_total == plain + 3 * 64
    assert found(config | {"bias": True}).params_total == plain + 64 + (2 * 96 + 64)
