"""A snapshot's own raw texts, derived again: equal today, and a change of rules is told as ours."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from pipeline.cli import main
from pipeline.refresh import rederive
from pipeline.refresh import tables as derive
from pipeline.refresh.found import Input
from pipeline.store import snapshot

DAY = dt.date(2026, 11, 29)
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 100,
}
TEXTS = {
    "org/plain": json.dumps(LLAMA).encode(),
    "org/wide": json.dumps({**LLAMA, "hidden_size": 32}).encode(),
    "org/bytes": b"\xff\xfe not json",
    "org/huge": b"[" + b" " * (5 * 2**20 + 1) + b"]",
}


def tables() -> Mapping[str, pl.DataFrame]:
    """Two good configs, one that is no text, one too large to keep."""
    return derive.tables(Input(name, raw, "hub", DAY) for name, raw in TEXTS.items())


def published(home: Path, content: Mapping[str, pl.DataFrame]) -> str:
    """The date of the snapshot of these tables."""
    made = snapshot.publish(
        home, content, snapshot.Publication(day=DAY, source="hub", listed=len(TEXTS), code_version="0.0.9")
    )
    return made.entry.id


def test_todays_rules_give_todays_rows(tmp_path: Path) -> None:
    """Every kept text, UTF-8 or not, comes out the same; what was not kept is counted, and nothing is written."""
    day = published(tmp_path, tables())
    before = sorted(tmp_path.rglob("*"))
    found = rederive.rederive(tmp_path, day)
    assert (found.not_kept, found.ours.configs, found.ours.changed, found.ours.columns) == (1, 3, 0, [])
    assert (found.code_version_then, set(found.ours.designs.values())) == ("0.0.9", {0})
    assert sorted(tmp_path.rglob("*")) == before


def test_a_rule_that_changed_since_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A snapshot of older rules that called the activation gelu: one column differs, in both models of the design."""
    content = tables()
    old = content["designs"].with_columns(pl.lit("gelu").alias("activation"))
    day = published(tmp_path, {**content, "designs": old})
    assert main(["snapshots", "rederive", day, "--json", "--home", str(tmp_path)]) == 0
    (column,) = json.loads(capsys.readouterr().out)["ours"]["columns"]
    assert (column["column"], column["rows"]) == ("activation", 2)
    assert column["examples"][0] == {"repo_id": "org/plain", "before": "gelu", "after": "silu"}
    assert main(["snapshots", "rederive", day, "--home", str(tmp_path)]) == 0
    assert "2 of 3 unchanged configs are read differently" in capsys.readouterr().out


def test_only_a_snapshot_that_exists_is_derived_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown date exits 8 with a sentence."""
    assert main(["snapshots", "rederive", "2020-01-01", "--home", str(tmp_path)]) == 8
    assert "no snapshot" in capsys.readouterr().err
