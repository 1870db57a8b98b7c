"""What a checkpoint's own total proves, and what it never does."""

from __future__ import annotations

from typing import Any

from atlas.interpret import derive
from atlas.proof import held

QWEN: dict[str, Any] = {
    "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "tie_word_embeddings": False,
}  # fmt: skip
# a layer: q and o 64 x 64, k and v 64 x 32, their three biases 128, three matrices 64 x 128, two norms 64
LAYER = 2 * 64 * 64 + 2 * 64 * 32 + 128 + 3 * 64 * 128 + 2 * 64
TOTAL = 2 * 100 * 64 + 64 + 2 * LAYER


def test_a_total_is_exact_or_off_to_the_weight() -> None:
    """Equal totals make a row exact; one weight more makes it off; no total leaves it unchecked."""
    derived = derive(QWEN)
    checks = [held(derived, total).fingerprint.check for total in (TOTAL, TOTAL + 1, None)]
    assert checks == ["exact", "off", "unchecked"]


def test_a_doubt_of_biases_is_answered_by_an_equal_total_and_a_loop_is_not() -> None:
    """attention_bias touches weights alone; num_loops leaves the total as it is, and the cache unknown."""
    biased, looped = (derive(QWEN | more) for more in ({"attention_bias": True}, {"num_loops": 4}))
    assert (biased.fingerprint.verdict, looped.fingerprint.verdict) == ("assumed", "assumed")
    assert held(biased, TOTAL).fingerprint.verdict == "known"
    assert "checkpoint's own total" in held(biased, TOTAL).evidence[0].source
    assert held(biased, TOTAL + 1).fingerprint.verdict == "assumed"
    assert (held(looped, TOTAL).fingerprint.check, held(looped, TOTAL).fingerprint.verdict) == ("exact", "assumed")
