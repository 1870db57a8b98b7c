"""The figures of the documents that this project comes from, out of the one structure.

Every expected value is printed in the document named, or is its own arithmetic written out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import atlas
from atlas.numbers.fingerprint import Fingerprint

KIB, GIB = 1024, 1024**3
LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}


def llama(**changes: Any) -> Fingerprint:
    """A llama of these shapes."""
    return atlas.inspect({**LLAMA, **changes})


def test_llama_3_1_8b() -> None:
    """Seed 000: 8 billion parameters, 70 % feed-forward, 17 % attention.

    32 x 8 x 128 x 2 x 2 = 131,072 bytes a token, 16 GiB at 128K.
    """
    f = llama()
    assert f.params_total == 8_030_261_248
    assert (round(100 * f.share_ffn_dense, 1), round(100 * f.share_attention, 1)) == (70.2, 16.7)  # type: ignore[operator]
    assert round(100 * (f.share_embedding + f.share_unembedding), 1) == 13.1  # type: ignore[operator]
    assert f.kv_bytes_per_token == 32 * 8 * 128 * 2 * 2 == 131_072
    assert f.kv_bytes_128k == 16 * GIB


CASES_001 = [
    ("meta-llama--Meta-Llama-3.1-405B", 504, 63.0),
    ("deepseek-ai--DeepSeek-V3", 68.6, 8.6),
    ("moonshotai--Kimi-K2-Instruct", 68.6, 8.6),
    ("Qwen--Qwen3-235B-A22B", 188, 23.5),
    ("openai--gpt-oss-120b", 36, 4.5),
    ("google--gemma-3-27b-it", 80, 10.4),
]


@pytest.mark.parametrize(("name", "kib", "gib"), CASES_001)
def test_six_frontier_models_keep_what_seed_001_says(shared: Path, name: str, kib: float, gib: float) -> None:
    """Seed 001's table: cache per token over the full-attention layers in KiB, and at 128K in GiB."""
    f = atlas.inspect(shared / "hub" / "configs" / f"{name}.json")
    assert round(f.kv_bytes_per_token / KIB, 1) == kib  # type: ignore[operator]
    assert round(f.kv_bytes_128k / GIB, 1) == gib  # type: ignore[operator]


def test_gemma_3_with_every_layer_global_keeps_about_62_gib(shared: Path) -> None:
    """Seed 001: about 62 GiB at 128K were every layer global; 62 layers x 2 x 16 x 128 x 2 bytes x 131,072 = 62 GiB."""
    config = json.loads((shared / "hub" / "configs" / "google--gemma-3-27b-it.json").read_text())
    config["text_config"]["layer_types"] = ["full_attention"] * 62
    assert atlas.inspect(config).kv_bytes_128k == 62 * 2 * 16 * 128 * 2 * 131_072 == 62 * GIB


def test_totals_of_seed_001(shared: Path) -> None:
    """Seed 001 reconstructs 405.8B for Llama 3 405B, and 235.1B with 22.2B active for Qwen3-235B-A22B."""
    big = atlas.inspect(shared / "hub" / "configs" / "meta-llama--Meta-Llama-3.1-405B.json")
    moe = atlas.inspect(shared / "hub" / "configs" / "Qwen--Qwen3-235B-A22B.json")
    assert f"{big.params_total / 1e9:.1f}" == "405.9"  # type: ignore[operator]
    assert f"{(big.params_total - big.params_norm) / 1e9:.2f}" == "405.85"  # type: ignore[operator]
    assert f"{moe.params_total / 1e9:.1f}" == "235.1"  # type: ignore[operator]
    assert f"{moe.params_active / 1e9:.1f}" == "22.2"  # type: ignore[operator]


def test_the_generic_decoder_of_seed_002() -> None:
    """Seed 002: d 4096, 32 layers, V 50k, two matrices of 4d, MHA, untied: about 6.9B, shares 63 / 31 / 3 / 3 %."""
    f = atlas.inspect(
        {
            "model_type": "gpt2",
            "n_embd": 4096,
            "n_layer": 32,
            "n_head": 32,
            "n_positions": 2048,
            "vocab_size": 50_000,
            "tie_word_embeddings": False,
        }
    )
    assert f"{f.params_total / 1e9:.1f}" == "6.9"  # type: ignore[operator]
    shares = (f.share_ffn_dense, f.share_attention, f.share_embedding, f.share_unembedding)
    assert [round(100 * s) for s in shares] == [63, 31, 3, 3]  # type: ignore[operator]


@pytest.mark.parametrize(("kv_heads", "mib"), [(32, 4096), (8, 1024), (1, 128)])
def test_cache_of_seed_003(kv_heads: int, mib: int) -> None:
    """Seed 003: 32 layers, 8,192 tokens, heads of 128 at bf16: MHA-32 4 GiB, GQA-8 1 GiB, MQA 128 MiB."""
    f = llama(num_key_value_heads=kv_heads)
    assert f.kv_bytes_per_token * 8192 == mib * 1024**2  # type: ignore[operator]


def test_a_gated_ffn_of_seed_003() -> None:
    """Seed 003: 3 x 4096 x 11008 = 135.3M weights a layer."""
    f = llama(intermediate_size=11008)
    assert f.params_ffn_dense == 32 * 3 * 4096 * 11008
    assert f"{f.params_ffn_dense / 32 / 1e6:.1f}" == "135.3"


SMALL: dict[str, Any] = {
    "hidden_size": 576,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "intermediate_size": 1536,
    "tie_word_embeddings": True,
}


@pytest.mark.parametrize(("kv_heads", "kib"), [(9, 67.5), (3, 22.5), (1, 7.5)])
def test_small_model_caches_of_seed_004(kv_heads: int, kib: float) -> None:
    """Seed 004: d 576, 30 layers, heads of 64: MHA 67.5, GQA-3 22.5, MQA 7.5 KiB a token."""
    f = llama(**SMALL, num_key_value_heads=kv_heads)
    assert f.kv_bytes_per_token == kib * KIB


def test_small_model_attention_of_seed_004() -> None:
    """Seed 004: 2 d^2 (1 + 3/9) = 884,736 attention weights a layer."""
    assert llama(**SMALL, num_key_value_heads=3).params_attention == 30 * 884_736


@pytest.mark.parametrize(
    ("vocabulary", "millions"), [(8_192, 4.7), (32_000, 18.4), (50_257, 28.9), (128_256, 73.9), (202_048, 116.4)]
)
def test_vocabulary_budget_of_seed_004(vocabulary: int, millions: float) -> None:
    """Seed 004: V x d of a tied matrix at d 576."""
    f = llama(**SMALL, num_key_value_heads=3, vocab_size=vocabulary)
    assert f.params_embedding == vocabulary * 576
    assert round(vocabulary * 576 / 1e6, 1) == millions
    assert f.params_unembedding == 0


def test_the_toy_mixture_of_seed_004() -> None:
    """Seed 004: 288.8M active and 1,874.3M resident, without norms and router (V 32,000, d 768, 24 layers.

    16 experts, top 2).
    """
    f = atlas.inspect(
        {
            "model_type": "mixtral",
            "vocab_size": 32_000,
            "hidden_size": 768,
            "num_hidden_layers": 24,
            "num_attention_heads": 12,
            "num_key_value_heads": 4,
            "intermediate_size": 2048,
            "num_local_experts": 16,
            "num_experts_per_tok": 2,
            "tie_word_embeddings": True,
        }
    )
    apart = f.params_norm + f.params_router  # type: ignore[operator]
    assert f"{(f.params_active - apart) / 1e6:.1f}" == "288.8"  # type: ignore[operator]
    assert f"{(f.params_total - apart) / 1e6:,.1f}" == "1,874.3"  # type: ignore[operator]


SHAPES = [
    (768, 12, 6, 2048, 6, 45.2, 9.0),
    (640, 10, 5, 1728, 9, 46.2, 11.2),
    (512, 8, 4, 1344, 14, 44.1, 14.0),
    (384, 6, 3, 1024, 26, 45.3, 19.5),
]


@pytest.mark.parametrize(("d", "heads", "kv_heads", "d_ff", "layers", "millions", "kib"), SHAPES)
def test_equal_budget_shapes_of_seed_004(
    d: int, heads: int, kv_heads: int, d_ff: int, layers: int, millions: float, kib: float
) -> None:
    """Seed 004's four shapes at one weight budget (norms not counted there): 9.0 / 11.2 / 14.0 / 19.5 KiB per token."""
    f = llama(
        hidden_size=d,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        intermediate_size=d_ff,
        num_hidden_layers=layers,
        vocab_size=8192,
        tie_word_embeddings=True,
    )
    assert f.kv_bytes_per_token == 2 * layers * kv_heads * 64 * 2
    assert f"{2 * layers * kv_heads * 64 * 2 / KIB:.1f}" == str(kib)
    assert f"{(f.params_total - f.params_norm) / 1e6:.1f}" == str(millions)  # type: ignore[operator]
