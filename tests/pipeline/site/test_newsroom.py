"""The page of first sightings: the newest day first, names of strangers as text."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from pipeline.refresh import tables
from pipeline.refresh.found import Input
from pipeline.site import newsroom
from pipeline.store import snapshot

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2}


def test_what_was_seen_last_stands_first(tmp_path: Path) -> None:
    """A key of the second day stands before one of the first, with its day; markup in a key is text."""
    for day, keys in ((1, {"old_key": 1}), (2, {"old_key": 1, "<b>new</b>": 1})):
        found = Input("a/x", json.dumps(LLAMA | keys).encode(), "hub", dt.date(2026, 11, day))
        made = snapshot.publish(
            tmp_path,
            tables.tables([found]),
            snapshot.Publication(day=dt.date(2026, 11, day), source="hub", listed=1, code_version="0"),
        )
    body = newsroom.page(made.path).body
    assert "<b>new" not in body
    assert body.index("&lt;b&gt;new") < body.index("old_key")
    assert body.count("2026-11-01") == 3  # the model_type, its class and the old key
    assert body.count("2026-11-02") == 1
