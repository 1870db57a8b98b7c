"""The catalogue's rows against files, listings and totals that were published of the same models."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from atlas.interpret import derive
from pipeline.refresh import holding
from pipeline.sources import catalogue
from schemas.vocabulary import Check

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from atlas.derived import Derived

ENTRIES = {e.repo: e for e in catalogue.load()}

OF_ANOTHER_MODEL = {
    "Qwen/Qwen3-30B-A3B-Instruct-2507": "the file has the context of Qwen3-30B-A3B",
    "Qwen/Qwen3.5-2B": "the file is of 0.85B",
    "databricks/dbrx-instruct": "the file has 12 KV heads and experts of another total",
    "google/gemma-4-26B-A4B-it": "the file lacks a key of its repository",
    "google/gemma-4-31B-it": "the file lacks a key of its repository",
    "microsoft/phi-1": "the file has the tokenizer's 50,295 rows, the published total 51,200",
}
"""Files at hand that stand under a name they do not belong to."""

COLUMNS = {
    "num_hidden_layers": "n_layers",
    "hidden_size": "d_model",
    "num_attention_heads": "n_q_heads",
    "num_key_value_heads": "n_kv_heads",
    "vocab_size": "vocab_size",
}
MIXED_HEADS = frozenset({"gemma4", "gemma4_unified", "deepseek_v3", "deepseek_v32", "deepseek_v4", "kimi_k2"})
"""Families where a layer's own count of heads differs from the key of that name."""


@pytest.fixture(scope="module")
def listing(shared: Path) -> Mapping[str, dict[str, str]]:
    """The public table of repositories, by name."""
    path = shared / "hub" / "api" / "llmfit-1.1.17-hf_models.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}


def _numbers(derived: Derived) -> dict[str, Any]:
    found = derived.fingerprint
    names = ("design_id", "params_total", "kv_bytes_per_token", "max_context", "params_towers", "position")
    return {name: getattr(found, name) for name in names}


def test_rows_say_what_the_published_files_say(shared: Path) -> None:
    """Where the model's own file is at hand, the row gives the same design, totals, cache and context."""
    folders = (shared / "hub" / "configs", shared / "news" / "configs")
    files = {p.stem.replace("--", "/", 1): p for folder in folders for p in folder.glob("*.json")}
    both = sorted((files.keys() & ENTRIES.keys()) - OF_ANOTHER_MODEL.keys())
    assert len(both) >= 200
    found = {r: [_numbers(derive(raw)) for raw in (files[r].read_bytes(), ENTRIES[r].raw)] for r in both}
    for repo, (theirs, ours) in found.items():
        if "context that its compiler wrote" in ENTRIES[repo].source:
            assert theirs.pop("max_context") is not None
            assert ours.pop("max_context") is None
    assert [repo for repo, (theirs, ours) in found.items() if theirs != ours] == []


def test_shared_configs_agree_with_the_public_table(listing: Mapping[str, dict[str, str]]) -> None:
    """A row that shares a config has the layers, width, heads and vocabulary that the table gives its repository."""
    wrong: list[tuple[str, str]] = []
    for entry in ENTRIES.values():
        row = listing.get(entry.repo)
        if entry.like is None or row is None:
            continue
        found = derive(entry.raw).fingerprint
        mixed = found.model_type in MIXED_HEADS
        for key, column in COLUMNS.items():
            ours = getattr(found, column)
            if row[key] and ours is not None and int(row[key]) != ours and not (mixed and "heads" in key):
                wrong.append((entry.repo, key))
    assert wrong == []


def test_no_published_total_is_off() -> None:
    """Every published total is ours, or ours with parts that are named; packed figures are no count of weights."""
    rows = holding.rows(list(ENTRIES.values()))["checks"]
    assert [r["repo_id"] for r in rows if r["result"] == Check.OFF.value] == []
    assert sum(r["result"] == Check.EXACT.value for r in rows) >= 450


def test_the_most_used_text_generators_are_there_or_named(listing: Mapping[str, dict[str, str]]) -> None:
    """Of the 100 most downloaded at least 80 are rows or twins of rows, and the others are named with the reason."""
    generators = [r for r in listing.values() if r["pipeline_tag"] == "text-generation"]
    first = sorted(generators, key=lambda r: -int(r["hf_downloads"] or 0))[:100]
    held = ENTRIES.keys() | {t.repo for e in ENTRIES.values() for t in e.twins}
    missing = [r["name"] for r in first if r["name"] not in held]
    assert len(missing) <= 20
    assert set(missing) <= catalogue.absent().keys()


def test_what_is_absent_is_no_row() -> None:
    """A model that the catalogue says it does not hold is neither a row nor a twin."""
    held = ENTRIES.keys() | {t.repo for e in ENTRIES.values() for t in e.twins}
    assert held & catalogue.absent().keys() == set()


def test_configs_are_plain_json() -> None:
    """Each config is JSON of keys that a published file may hold."""
    assert all(json.loads(e.raw) for e in ENTRIES.values())
