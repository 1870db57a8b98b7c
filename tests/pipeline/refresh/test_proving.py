"""A refresh lifts what a total proves, and leaves what it cannot prove."""

from __future__ import annotations

import datetime as dt
import json

from pipeline.refresh.found import Input
from pipeline.refresh.tables import tables

QWEN = {
    "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "tie_word_embeddings": False,
}  # fmt: skip
# two tables of 100 x 64, the last norm, two layers of 4 projections, 3 biases, 3 matrices and 2 norms
TOTAL = 2 * 100 * 64 + 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 128 + 3 * 64 * 128 + 2 * 64)


def test_a_hub_total_lifts_a_doubt_of_weights_alone() -> None:
    """Of three assumed configs one is proved by its total; a loop has its twin's total, and another total is off."""
    cases = {
        "a/biased": ({"attention_bias": True}, TOTAL),
        "a/looped": ({"num_loops": 2}, TOTAL),
        "a/off": ({"mlp_bias": True}, 1),
    }
    found = [
        Input(
            name, json.dumps(QWEN | more).encode(), "here", dt.date(2026, 11, 30), listing={"hub_params_total": total}
        )
        for name, (more, total) in cases.items()
    ]
    made = tables(found)
    joined = made["models"].join(made["configs"], on="config_id").select("repo_id", "verdict", "doubt").sort("repo_id")
    assert joined["verdict"].cast(str).to_list() == ["known", "assumed", "assumed"]
    assert [d is None for d in joined["doubt"]] == [True, False, False]
