"""Hypothetical storage: llama.cpp's mixes by published totals, the other forms by hand on the small model."""

from __future__ import annotations

import json

import pytest
from places import SHARED

from atlas.interpret import derive, reader
from atlas.numbers.storage import Storage
from atlas.parse import Raw
from atlas.stored.held import by_dtype
from atlas.stored.hypothetical import WORDS, hypothetical
from atlas.stored.subject import Subject

CONFIGS = SHARED / "hub" / "configs"
MODEL: Raw = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 8,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 512, "vocab_size": 512,
    "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "dtype": "bfloat16",
}  # fmt: skip
"""Eight layers of q, o 256 x 256, k, v 128 x 256, gate, up 512 x 256, down 256 x 512: 589,824 weights each."""


def _stored(config: Raw, word: str) -> Storage:
    found = derive(config)
    assert found.model is not None
    return hypothetical(Subject(found.model, reader(config).rules, config, found.towers), word)


PUBLISHED = {
    "Qwen--Qwen3-8B": 5_021_827_072,
    "meta-llama--Llama-3.2-1B-Instruct": 799_862_912 - 4 * 32,
    "meta-llama--Llama-3.1-8B-Instruct": 4_912_898_304 - 4 * 64,
}
"""Tensor bytes of published Q4_K_M files; the rotary factors of Llama 3.1 and 3.2, F32, are no weights of the model."""


@pytest.mark.skipif(not CONFIGS.is_dir(), reason=f"{CONFIGS} is not there")
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_medium_mix_weighs_what_was_published(name: str) -> None:
    """Tensor by tensor Q4_K and Q6_K make the published bytes."""
    config = json.loads((CONFIGS / f"{name}.json").read_text("utf-8"))
    assert _stored(config, "q4_k_m").bytes == PUBLISHED[name]


def test_the_layers_with_more_bits_by_hand() -> None:
    """Of 8 layers the first, the last and every third between (0, 3, 6, 7) keep v and down in Q6_K, and the tied table.

    Q6_K: 4 x (32,768 + 131,072) + 131,072 = 786,432; the rest of 8 x 589,824 in Q4_K; norms 17 x 256 in F32.
    """
    found = _stored(MODEL, "q4_k_m")
    assert by_dtype(found.rows) == {"Q6_K": 786_432, "Q4_K": 8 * 589_824 - 655_360, "F32": 4_352}
    assert found.bytes == 786_432 // 256 * 210 + (8 * 589_824 - 655_360) // 256 * 144 + 4 * 4_352


N, TABLE, NORMS, MATRICES = 8 * 589_824, 131_072, 4_352, 56
FORMS = {
    "bf16": {"BF16": N + TABLE + NORMS},
    # blocks: q, o 4, k, v 2, gate, up, down 8: 36 a layer
    "fp8": {"F8_E4M3": N, "F32": 8 * 36, "BF16": TABLE + NORMS},
    "w4a16-g128": {"I32": N // 8, "I64": 2 * MATRICES, "BF16": N // 128 + TABLE + NORMS},
    "nvfp4": {"U8": N // 2, "F8_E4M3": N // 16, "F32": 2 * MATRICES, "BF16": TABLE + NORMS},
    "mxfp4": {"U8": N // 2 + N // 32, "BF16": TABLE + NORMS},
    "mlx4": {"U32": (N + TABLE) // 8, "BF16": 2 * (N + TABLE) // 64 + NORMS},
    "q8_0": {"Q8_0": N + TABLE, "F32": NORMS},
}


@pytest.mark.parametrize("word", FORMS)
def test_a_form_by_hand(word: str) -> None:
    """Elements of every type are those of the hand count, and there are bytes."""
    found = _stored(MODEL, word)
    assert by_dtype(found.rows) == FORMS[word]
    assert found.bytes is not None
    assert word in WORDS


@pytest.mark.skipif(not CONFIGS.is_dir(), reason=f"{CONFIGS} is not there")
def test_experts_are_mixed_as_dense_networks_are() -> None:
    """Qwen3-30B-A3B as a loader prints it (llama.cpp #14235): 241 F32, 289 Q4_K, 49 Q6_K, 17.28 GiB."""
    config = json.loads((CONFIGS / "Qwen--Qwen3-30B-A3B.json").read_text("utf-8"))
    found = _stored(config, "q4_k_m")
    tensors = {k: sum(r.tensors for r in found.rows if r.dtype == k) for k in ("F32", "Q4_K", "Q6_K")}
    assert tensors == {"F32": 241, "Q4_K": 289, "Q6_K": 49}
    assert found.bytes is not None
    assert round(found.bytes / 2**30, 2) == 17.28


@pytest.mark.skipif(not CONFIGS.is_dir(), reason=f"{CONFIGS} is not there")
@pytest.mark.parametrize("name", ["deepseek-ai--DeepSeek-V3", "mistralai--Mixtral-8x7B-Instruct-v0.1"])
def test_a_mix_that_is_not_described_is_refused(name: str) -> None:
    """Latent attention, and eight experts, have no number."""
    found = _stored(json.loads((CONFIGS / f"{name}.json").read_text("utf-8")), "q4_k_m")
    assert found.bytes is None
    assert "q4_k_m" in str(found.reason)
