"""A refresh reads a config the way that the Hub's total says, where it can be read in two."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from pipeline.refresh.found import Input
from pipeline.refresh.tables import tables

TEXT: dict[str, Any] = {
    "model_type": "mistral", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 1000,
}  # fmt: skip
WRAPPER: dict[str, Any] = {"model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"]}
TIED = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64 + 1000 * 64


def one(name: str, rope: int, total: int | None) -> Input:
    """A wrapper that states no tie, nor does its language model; `rope` makes texts differ."""
    raw = json.dumps(WRAPPER | {"text_config": TEXT | {"rope_theta": rope}}).encode()
    listing = {} if total is None else {"hub_params_total": total}
    return Input(name, raw, "here", dt.date(2026, 11, 30), listing=listing)


def test_a_total_of_the_other_reading_makes_the_rows_again() -> None:
    """One text has the total of a head of its own, one that of a shared table, one none: one row and design each."""
    made = tables([one("a/untied", 1, TIED + 64000), one("a/tied", 2, TIED), one("a/silent", 3, None)])
    rows = made["models"].join(made["configs"], on="config_id").join(made["designs"], on="design_id").sort("repo_id")
    assert rows["params_total"].to_list() == [TIED, TIED, TIED + 64000]
    assert [made[t].height for t in ("configs", "designs")] == [3, 2]
    assert made["checks"].sort("repo_id")["result"].cast(str).to_list() == ["exact", "exact"]
    said = [[e["field"] for e in row if e["origin"] == "header"] for row in rows["evidence"].to_list()]
    assert said == [[], ["verdict"], ["reading", "tie_word_embeddings"]]  # what was taken is proven, or the other is
    assert rows["verdict"].cast(str).to_list() == ["assumed", "known", "known"]
    assert set(made["layers"]["design_id"]) == set(made["designs"]["design_id"])


def test_one_text_with_two_totals_stays_as_it_was_read() -> None:
    """Nothing decides between them, and the check of one is off or explained."""
    made = tables([one("a/untied", 1, TIED + 64000), one("a/tied", 1, TIED)])
    assert made["designs"]["params_total"].to_list() == [TIED]
