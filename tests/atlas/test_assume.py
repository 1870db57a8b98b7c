"""Assumed architectures: standard decoders of unknown name, marked as such; everything else stays refused."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

LLAMA_8B = {
    "model_type": "nobody_knows",
    "architectures": ["NobodyForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "rope_theta": 500000.0,
    "rms_norm_eps": 1e-05,
    "torch_dtype": "bfloat16",
}
TOTAL = 8_030_261_248


def test_a_standard_decoder_is_assumed_and_says_so() -> None:
    """Llama's keys under an unknown model_type give llama's numbers; biases and gating are assumptions."""
    derived = derive(LLAMA_8B)
    assert (derived.fingerprint.verdict, derived.fingerprint.params_total) == ("assumed", TOTAL)
    assumptions = {e.field for e in derived.evidence if e.source.startswith("assumed")}
    assert {
        "family",
        "qkv_bias",
        "o_bias",
        "ffn_bias",
        "is_gated_ffn",
        "norm_class",
        "position",
        "qk_norm",
    } <= assumptions


@pytest.mark.parametrize(
    "strange",
    [
        {"num_experts": 8},
        {"kv_lora_rank": 512},
        {"sliding_window": 4096},
        {"use_sliding_window": False},
        {"qkv_bias": True},
        {"layer_types": []},
        {"hidden_act": "gelu"},
        {"is_encoder_decoder": True},
        {"vision_config": {}},
        {"mask_token_id": 5},
        {"layer_norm_eps": 1e-5},
        {"clip_qkv": None},
        {"hidden_size": None},
        {"architectures": ["NobodyModel"]},
        {"architectures": ["Qwen2ForCausalLM"], "auto_map": {"AutoModel": "modeling.Qwen2ForCausalLM"}},
        {"model_type": "nobody_moe"},
        {"quantization_config": {"quant_method": "bitnet"}},
    ],
    ids=str,
)
def test_anything_beyond_a_standard_decoder_stays_refused(strange: dict[str, Any]) -> None:
    """Keys, classes and names that hint at another structure, or that nobody reviewed, give no numbers."""
    f = derive(LLAMA_8B | strange).fingerprint
    assert (f.verdict, f.refusal_kind, f.params_total) == ("refused", "unknown_family", None)


def test_a_saved_file_without_a_word_on_tying_is_refused() -> None:
    """A library leaves tie_word_embeddings out of a file only where it is the base default: true, not llama's."""
    saved = {k: v for k, v in LLAMA_8B.items() if k != "tie_word_embeddings"}
    assert derive(saved).fingerprint.verdict == "assumed"
    assert derive(saved | {"transformers_version": "4.46.0"}).fingerprint.verdict == "refused"


@pytest.mark.parametrize(
    ("model_type", "what"),
    [
        ("fastspeech2_conformer", "synthesizer of speech"),
        ("wavlm", "an encoder of sound"),
        ("siglip", "images and their captions"),
    ],
)
def test_what_is_no_language_model_is_refused_by_what_it_is(model_type: str, what: str) -> None:
    """The library's automatic classes say so; no key is asked for that such a model has not."""
    f = derive({"model_type": model_type, "hidden_size": 192}).fingerprint
    assert f.refusal_kind == "unknown_family"
    assert what in (f.refusal_reason or "")
    assert "it states no" not in (f.refusal_reason or "")


@pytest.mark.parametrize(
    ("model_type", "missing"),
    [
        ("blt", "patches of bytes"),
        ("reformer", "hash buckets"),
        ("hymba", "1,522,797,824"),
        ("yuan", "whether its head is tied"),
    ],
)
def test_a_language_model_without_a_row_says_what_is_missing(model_type: str, missing: str) -> None:
    """Types that the field asks for and that are not settled are refused, and the reason names what was not."""
    found = derive({"model_type": model_type, "hidden_size": 64}).fingerprint
    assert found.verdict == "refused"
    assert missing in (found.refusal_reason or "")
    assert "no rules for model_type" in (found.refusal_reason or "")
