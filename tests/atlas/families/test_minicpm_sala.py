"""MiniCPM-SALA: lightning attention beside gated softmax attention, after public ports of its code."""

from __future__ import annotations

from typing import Any

from atlas.interpret import derive

SALA: dict[str, Any] = {
    "model_type": "minicpm_sala", "architectures": ["MiniCPMSALAForCausalLM"], "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "vocab_size": 100, "mixer_types": ["minicpm4", "lightning-attn", "lightning"], "lightning_nh": 4,
    "lightning_nkv": 4, "lightning_head_dim": 16,
}  # fmt: skip


def test_lightning_layers_keep_a_square_per_head_and_the_others_keys_and_values() -> None:
    """By hand: 2 x 2 heads of 16 at 2 bytes per token in one layer; two layers of 4 squares of 16 in fp32.

    Weights: one layer with q, gate and o of 64 x 64 and k and v of 64 x 32; two with five matrices of 64 x 64, norms
    of 16 for queries and keys and one of 64 behind; networks, norms, a last norm, table and head.
    """
    found = derive(SALA).fingerprint
    softmax, linear = 3 * 64 * 64 + 2 * 64 * 32, 5 * 64 * 64 + 2 * 16 + 64
    total = softmax + 2 * linear + 3 * (3 * 64 * 96 + 2 * 64) + 64 + 2 * 100 * 64
    assert (found.verdict, found.params_total) == ("known", total)
    assert (found.kv_bytes_per_token, found.state_bytes_constant) == (2 * 2 * 16 * 2, 2 * 4 * 16 * 16 * 4)


def test_what_sparse_reading_keeps_is_not_known() -> None:
    """Compressed keys beside the cache stand in no row: a file that states `sparse_config` is assumed."""
    found = derive(SALA | {"sparse_config": {"kernel_size": 32, "kernel_stride": 16}}).fingerprint
    assert found.verdict == "assumed"
    assert "sparse_config" in str(found.doubt)


def test_heads_of_lightning_layers_must_be_stated() -> None:
    """Without lightning_nkv the class shares key heads, which no published model does."""
    for key in ("lightning_nh", "lightning_nkv", "lightning_head_dim"):
        found = derive({k: v for k, v in SALA.items() if k != key}).fingerprint
        assert f"{key} is not stated" in str(found.refusal_reason)
    assert derive(SALA | {"lightning_nkv": 2}).fingerprint.verdict == "refused"
