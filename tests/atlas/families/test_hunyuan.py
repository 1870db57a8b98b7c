"""Hunyuan: norms of queries and keys over each head, and experts per token that may differ by layer. Hand counts."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

DENSE: dict[str, Any] = {
    "model_type": "hunyuan_v1_dense",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "attention_head_dim": 32,
    "intermediate_size": 96,
    "vocab_size": 100,
    "tie_word_embeddings": True,
}
EXPERTS: dict[str, Any] = DENSE | {"model_type": "hunyuan_v1_moe", "num_experts": 8, "moe_topk": [2, 4]}


def test_each_head_of_queries_and_keys_has_a_norm() -> None:
    """A norm of 32 for queries and one for keys stand beside the projections; use_qk_norm false leaves both out."""
    projections = 64 * 128 + 2 * 64 * 64 + 128 * 64
    assert derive(DENSE).fingerprint.params_attention == 2 * (projections + 2 * 32)
    assert derive(DENSE | {"use_qk_norm": False}).fingerprint.params_attention == 2 * projections


def test_experts_per_token_follow_the_list() -> None:
    """The first layer runs 2 of its 8 experts and the second 4; each has a shared expert of the same width beside."""
    row = derive(EXPERTS).fingerprint
    one = 3 * 64 * 96
    assert (row.params_experts_routed, row.params_experts_shared, row.params_router) == (16 * one, 2 * one, 2 * 8 * 64)
    assert row.params_total is not None
    assert row.params_total - (row.params_active or 0) == (16 - 2 - 4) * one


@pytest.mark.parametrize(
    "change",
    [{"moe_topk": [2]}, {"moe_topk": [2, None]}, {"num_shared_expert": [2, 2]}, {"moe_intermediate_size": [96, 64]}],
)
def test_what_implementations_read_otherwise_is_refused(change: dict[str, Any]) -> None:
    """A list of the wrong length, two shared experts or experts of another width give a reason instead of a number."""
    assert derive(EXPERTS | change).fingerprint.verdict == "refused"


def test_the_first_files_of_the_wrapper_state_the_language_model_at_the_top() -> None:
    """HunyuanVL without a text_config is read at the top; towers stand apart."""
    row = derive(DENSE | {"model_type": "hunyuan_vl", "vision_config": {"hidden_size": 8}}).fingerprint
    assert (row.params_total, row.has_towers) == (derive(DENSE).fingerprint.params_total, True)
