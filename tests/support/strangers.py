"""Configs of families that nobody has rules for."""

from __future__ import annotations

from typing import Any

PLAIN: dict[str, Any] = {
    "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 64, "rope_theta": 10000.0,
    "hidden_act": "silu", "attention_bias": False,
}  # fmt: skip
"""Keys of a plain decoder: two layers of 8."""

STRANGER = {
    "model_type": "nobody_moe",
    "architectures": ["NobodyMoeForCausalLM"],
    "hidden_size": 2048,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "vocab_size": 102400,
    "tie_word_embeddings": False,
    "num_loops": 2,
}
"""DeepSeek-V2-Lite's widths under a name nobody has rules for, run twice."""
