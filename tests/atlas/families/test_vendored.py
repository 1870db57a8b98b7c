"""Families whose code travels with the checkpoint: hand counts, each equal to a published total."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import FIXTURES

from atlas.interpret import derive

QWEN_72B = {
    "model_type": "qwen",
    "hidden_size": 8192,
    "intermediate_size": 49152,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "kv_channels": 128,
    "vocab_size": 152064,
    "no_bias": True,
    "tie_word_embeddings": False,
    "rotary_emb_base": 1000000,
    "rotary_pct": 1.0,
}
GLM_4_9B = {
    "model_type": "chatglm",
    "architectures": ["ChatGLMModel"],
    "hidden_size": 4096,
    "num_layers": 40,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "ffn_hidden_size": 13696,
    "padded_vocab_size": 151552,
    "add_qkv_bias": True,
    "add_bias_linear": False,
    "rmsnorm": True,
    "post_layer_norm": True,
    "apply_residual_connection_post_layernorm": False,
    "rope_ratio": 500,
}
DEEPSEEK_MOE = {
    "model_type": "deepseek",
    "hidden_size": 2048,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "vocab_size": 102400,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
ARCTIC = {
    "model_type": "arctic",
    "hidden_size": 7168,
    "num_hidden_layers": 35,
    "num_attention_heads": 56,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "intermediate_size": 4864,
    "num_local_experts": 128,
    "num_experts_per_tok": 2,
    "moe_layer_frequency": 1,
    "use_residual": True,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
DBRX = {
    "model_type": "dbrx",
    "d_model": 6144,
    "n_heads": 48,
    "n_layers": 40,
    "vocab_size": 100352,
    "attn_config": {"kv_n_heads": 8},
    "ffn_config": {"ffn_act_fn": {"name": "silu"}, "ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
}
INTERNLM3 = {
    "model_type": "internlm3",
    "hidden_size": 4096,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "intermediate_size": 10240,
    "vocab_size": 128512,
    "bias": False,
    "qkv_bias": False,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
HAND = [
    # two tables; per layer q, k, v with bias, output, a gated network of half the stated width, norms; a final norm
    (QWEN_72B, 2 * 152064 * 8192 + 80 * (4 * 8192**2 + 3 * 8192 + 3 * 8192 * 24576 + 2 * 8192) + 8192, 72_287_920_128),
    # k and v of 2 x 128; the Hub counts 32 rotary frequencies more, which are buffers
    (
        GLM_4_9B,
        2 * 151552 * 4096 + 40 * (2 * 4096**2 + 2 * 4096 * 256 + 4096 + 512 + 3 * 4096 * 13696 + 2 * 4096) + 4096,
        9_399_951_392 - 32,
    ),
    (
        DEEPSEEK_MOE,
        2 * 102400 * 2048
        + 28 * (4 * 2048**2 + 2 * 2048)
        + 3 * 2048 * 10944
        + 27 * (66 * 3 * 2048 * 1408 + 64 * 2048)
        + 2048,
        16_375_728_128,
    ),
    # three norms a layer, and a dense network of 7168 beside the experts
    (
        ARCTIC,
        2 * 32000 * 7168
        + 35 * (2 * 7168**2 + 2 * 7168 * 1024 + 3 * 7168 + 128 * (3 * 7168 * 4864 + 7168) + 3 * 7168**2)
        + 7168,
        478_584_608_768,
    ),
    (
        DBRX,
        2 * 100352 * 6144 + 40 * (2 * 6144**2 + 2 * 6144 * 1024 + 2 * 6144 + 16 * (3 * 6144 * 10752 + 6144)) + 6144,
        131_596_523_520,
    ),
    (
        INTERNLM3,
        2 * 128512 * 4096 + 48 * (2 * 4096**2 + 2 * 4096 * 256 + 3 * 4096 * 10240 + 2 * 4096) + 4096,
        8_804_241_408,
    ),
]


@pytest.mark.parametrize(
    ("config", "counted", "published"), HAND, ids=lambda x: x["model_type"] if isinstance(x, dict) else ""
)
def test_totals_equal_hand_count_and_publication(config: dict[str, Any], counted: int, published: int) -> None:
    """The weights counted by hand, the total the Hub reports, and the derived total are one number."""
    derived = derive(config).fingerprint
    assert counted == published
    assert (derived.params_total, derived.refusal_reason) == (published, None)


def test_chatglm_rotates_half_of_each_head() -> None:
    """ChatGLM turns 64 of 128 dimensions, scales RoPE's base by rope_ratio, and stores 32 frequencies as buffers."""
    f = derive(GLM_4_9B).fingerprint
    assert (f.partial_rotary, f.rope_theta, f.params_buffers, f.n_kv_heads) == (0.5, 5_000_000.0, 32, 2)


def test_a_head_that_no_key_decides_is_refused() -> None:
    """Where no class and no key says whether embeddings are tied, the config is refused and the key named."""
    f = derive({k: v for k, v in QWEN_72B.items() if k != "tie_word_embeddings"}).fingerprint
    assert f.refusal_kind == "missing_key"
    assert "tie_word_embeddings" in str(f.refusal_reason)


@pytest.mark.parametrize(("width", "heads", "position"), [(4096, 32, "rope"), (5120, 40, "alibi"), (6144, 48, None)])
def test_baichuan_positions_follow_the_width(width: int, heads: int, position: str | None) -> None:
    """The 7B models use RoPE and the 13B ones ALiBi; a width that neither has is refused."""
    config = {
        "model_type": "baichuan",
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_hidden_layers": 4,
        "intermediate_size": 13696,
        "vocab_size": 64000,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
    }
    assert derive(config).fingerprint.position == position


BLOCK = {"n_heads_in_group": 8, "no_op": False, "replace_with_linear": False}
FFN = {"ffn_mult": 5.25, "no_op": False, "replace_with_linear": False}


def nas(*blocks: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """A nemotron-nas config of these blocks."""
    return {
        "model_type": "nemotron-nas",
        "hidden_size": 1024,
        "num_attention_heads": 8,
        "num_hidden_layers": len(blocks),
        "vocab_size": 1000,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "block_configs": [{"attention": a, "ffn": f} for a, f in blocks],
    }


def test_blocks_may_be_whole_a_matrix_or_nothing() -> None:
    """Widths are 2/3 of ffn_mult x hidden_size in steps of 256; a replaced part is one matrix; a no-op nothing."""
    nothing, linear = {"no_op": True, "replace_with_linear": False}, {"no_op": False, "replace_with_linear": True}
    f = derive(nas((BLOCK, FFN), (nothing, FFN), (linear, linear), (nothing, nothing))).fingerprint
    width = 3584  # 2 x 5.25 x 1024 / 3 = 3584 = 14 x 256
    attention, network, square = 2 * 1024**2 + 2 * 1024 * 128, 3 * 1024 * width, 1024**2
    norms = 1024 * (2 + 1 + 2 + 1)
    assert f.params_total == 2 * 1000 * 1024 + attention + 2 * network + 2 * square + norms
    assert f.kv_bytes_per_token == 2 * 128 * 2
    assert f.layer_mix == {"full_attention": 1, "none": 3}


def test_a_block_that_states_more_is_refused() -> None:
    """A block with experts, a window or sparsity holds weights that no rule knows."""
    f = derive(nas((BLOCK | {"window_length": 512}, FFN))).fingerprint
    assert f.refusal_kind == "not_derivable"


@pytest.mark.parametrize(("version", "bias", "norms"), [(2.6, 3584 + 2 * 512, 0), (4.5, 0, 2 * 128)])
def test_minicpmv_holds_another_language_model_in_each_version(version: float, bias: int, norms: int) -> None:
    """Version 2.6 is Qwen2 with biases on q, k and v; 4.5 is Qwen3 with query and key norms; others are refused."""
    config = {
        "model_type": "minicpmv",
        "architectures": ["MiniCPMV"],
        "version": version,
        "hidden_size": 3584,
        "num_hidden_layers": 1,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "intermediate_size": 18944,
        "vocab_size": 1000,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
    }
    plain = 2 * 1000 * 3584 + 2 * 3584**2 + 2 * 3584 * 512 + 3 * 3584 * 18944 + 3 * 3584
    assert derive(config).fingerprint.params_total == plain + bias + norms
    assert derive(config | {"version": 9.9}).fingerprint.refusal_kind == "not_derivable"


def test_minicpmv_without_a_version_is_known_by_both_its_widths() -> None:
    """4,096 wide with Llama 3's 128,256 tokens is 2.5; either alone is of no published MiniCPM-V."""
    stated = {"model_type": "minicpmv", "architectures": ["MiniCPMV"], "tie_word_embeddings": False}
    config = stated | {"hidden_size": 4096, "vocab_size": 128256, "num_hidden_layers": 1, "num_attention_heads": 32}
    config |= {"num_key_value_heads": 8, "intermediate_size": 14336, "hidden_act": "silu"}
    total = 2 * 128256 * 4096 + 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 3 * 4096
    assert derive(config).fingerprint.params_total == total
    for other in ({"vocab_size": 32000}, {"hidden_size": 2048}):
        assert derive(config | other).fingerprint.refusal_kind == "not_derivable"


def test_keys_of_llama_say_nothing_in_an_hf_olmo_file() -> None:
    """The published OLMo-1B with a key that its own configuration class does not have: the same weights."""
    published = json.loads((FIXTURES / "widths.json").read_text("utf-8"))["allenai/OLMo-1B"]
    plain, biased = derive(published), derive(published | {"attention_bias": True})
    assert plain.fingerprint.params_total == 1_176_764_416
    assert biased.fingerprint.params_total == plain.fingerprint.params_total
    assert biased.unread == ("attention_bias",)
