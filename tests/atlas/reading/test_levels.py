"""Wrappers whose file states nowhere whether the head is tied."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive
from atlas.proof import held

TEXT: dict[str, Any] = {
    "model_type": "mistral", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 1000,
}  # fmt: skip
# two layers: q and o 64 x 64, k and v 64 x 32, three matrices 64 x 128, two norms; a last norm; one table, or two
TIED = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64 + 1000 * 64
UNTIED = TIED + 1000 * 64
WRAPPER = {"model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"], "text_config": TEXT}


@pytest.mark.parametrize(
    ("version", "ours", "other"),
    [
        ({}, TIED, UNTIED),
        ({"transformers_version": "5.2.0"}, TIED, UNTIED),
        ({"transformers_version": "4.52.4"}, UNTIED, TIED),
    ],
)
def test_a_wrapper_s_file_without_any_tie_is_assumed(version: dict[str, str], ours: int, other: int) -> None:
    """Transformers 5.24 ties Mistral3; Mistral Small 3.2, saved by 4, states nothing and has a head (issue 42313)."""
    derived = derive(WRAPPER | version)
    assert (derived.fingerprint.verdict, derived.fingerprint.params_total) == ("assumed", ours)
    assert "no level of the file states" in str(derived.fingerprint.doubt)
    for total in (ours, other):
        found = held(derived, total).fingerprint
        assert (found.params_total, found.check, found.verdict) == (total, "exact", "known")


def test_what_an_older_file_leaves_out_is_its_language_model_s_default() -> None:
    """The evidence says so; a level that speaks leaves nothing to decide."""
    said = {e.field: e for e in derive(WRAPPER | {"transformers_version": "4.52.4"}).evidence}["tie_word_embeddings"]
    assert (said.value, said.origin) == (False, "derived")
    assert "saved by transformers 4" in said.source
    for stated in ({"tie_word_embeddings": True}, {"text_config": TEXT | {"tie_word_embeddings": True}}):
        found = derive(WRAPPER | {"transformers_version": "4.52.4"} | stated).fingerprint
        assert (found.verdict, found.params_total) == ("known", TIED)
