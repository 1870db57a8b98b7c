"""Experts in a batch and on a network, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

import atlas
from atlas.numbers.experts import matmul_weights_read, sent_per_token, touched

MIXTRAL: dict[str, Any] = {
    "model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8,
    "num_experts_per_tok": 2, "vocab_size": 32000, "tie_word_embeddings": False, "max_position_embeddings": 32768,
}  # fmt: skip


@pytest.mark.parametrize(
    ("experts", "per_token", "tokens", "expected"),
    [(8, 2, 1, 2.0), (8, 2, 2, 3.5), (8, 8, 5, 8.0), (256, 8, 64, 222.4425)],
)
def test_tokens_touch_experts_evenly(experts: int, per_token: int, tokens: int, expected: float) -> None:
    """8 (1 - (3/4)^2) = 3.5; 256 (1 - (31/32)^64) = 256 x 0.868916."""
    assert touched(experts, per_token, tokens) == pytest.approx(expected, abs=1e-3)


def test_a_step_of_one_reads_the_active_weights() -> None:
    """One token multiplies by params_active_compute, so that is what a step of one sequence reads."""
    d = atlas.derive(MIXTRAL)
    assert d.model is not None
    assert matmul_weights_read(d.model, 1) == pytest.approx(d.fingerprint.params_active_compute)


def test_a_step_of_two_reads_the_experts_of_both() -> None:
    """3.5 experts of 3 x 4,096 x 14,336 weights in each of 32 layers in place of 2."""
    d = atlas.derive(MIXTRAL)
    assert d.model is not None
    more = matmul_weights_read(d.model, 2) - matmul_weights_read(d.model, 1)
    assert more == pytest.approx(1.5 * 32 * 3 * 4_096 * 14_336)


def test_a_token_is_sent_to_each_of_its_experts() -> None:
    """2 experts x 4,096 elements x 2 bytes x 32 layers, there and back; a dense model sends nothing."""
    d, dense = atlas.derive(MIXTRAL), atlas.derive({"model_type": "gpt2"})
    assert d.model is not None
    assert dense.model is not None
    assert sent_per_token(d.model) == (524_288, 524_288)
    assert sent_per_token(dense.model) is None
