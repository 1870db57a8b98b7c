"""The catalogue's snapshot answers the example queries and gives the figures of the seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import homes
import pytest

from pipeline.ask import query
from pipeline.ask.examples import EXAMPLES
from pipeline.store import shelf, snapshot

NONE_HERE = {"Why configs gave no numbers", "Models whose design is not the one of the base they state"}
KIB, GIB = 1024, 1024**3


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of the embedded catalogue."""
    return shelf.locate(homes.catalogue(tmp_path_factory.mktemp("home")))[1]


def rows(database: Path, sql: str) -> list[dict[str, Any]]:
    """The rows of a query, through the same engine as `atlas sql`."""
    printed = bytearray()
    query.run(database, sql, printed.extend, form="json")
    return json.loads(printed)


def model(database: Path, repo: str, columns: str) -> dict[str, Any]:
    """Columns of one model."""
    (row,) = rows(database, f"SELECT {columns} FROM fingerprints WHERE repo_id = '{repo}'")
    return row


@pytest.mark.parametrize(("title", "sql"), EXAMPLES.items(), ids=EXAMPLES)
def test_every_example_has_an_answer(database: Path, title: str, sql: str) -> None:
    """Each query that --examples shows runs and gives rows (the catalogue states no base)."""
    assert rows(database, sql) or title in NONE_HERE


def test_there_are_thirty_examples_and_each_is_on_the_page() -> None:
    """The page of queries and --examples come from one list, of at least thirty."""
    assert len(EXAMPLES) >= 30


def test_llama_3_1_8b(database: Path) -> None:
    """Seed 000: 8,030,261,248 weights, shares 70.2 / 16.7 / 13.1 %, 131,072 bytes a token, 16 GiB at 128K."""
    columns = (
        "params_total, share_ffn_dense, share_attention, share_embedding + share_unembedding AS ends,"
        " kv_bytes_per_token, kv_bytes_128k"
    )
    found = model(database, "meta-llama/Llama-3.1-8B", columns)
    assert (found["params_total"], found["kv_bytes_per_token"], found["kv_bytes_128k"]) == (
        8_030_261_248,
        131_072,
        16 * GIB,
    )
    assert [round(100 * found[c], 1) for c in ("share_ffn_dense", "share_attention", "ends")] == [70.2, 16.7, 13.1]


@pytest.mark.parametrize(
    ("repo", "kib", "gib"),
    [
        ("meta-llama/Llama-3.1-405B", 504.0, 63.0),
        ("deepseek-ai/DeepSeek-V3", 68.6, 8.6),
        ("moonshotai/Kimi-K2-Instruct", 68.6, 8.6),
        ("Qwen/Qwen3-235B-A22B", 188.0, 23.5),
        ("openai/gpt-oss-120b", 36.0, 4.5),
        ("google/gemma-3-27b-it", 80.0, 10.4),
    ],
)
def test_the_six_of_seed_001(database: Path, repo: str, kib: float, gib: float) -> None:
    """Seed 001: cache per token in KiB and at 128K in GiB, as printed there; the macro agrees with the column."""
    found = model(database, repo, "kv_bytes_per_token, kv_bytes_128k, kv_bytes(repo_id, 131072, 2) AS by_macro")
    assert round(found["kv_bytes_per_token"] / KIB, 1) == kib
    assert round(found["kv_bytes_128k"] / GIB, 1) == gib
    assert found["by_macro"] == found["kv_bytes_128k"]


def test_totals_of_seed_001(database: Path) -> None:
    """Seed 001: Llama 405.8B (405,853,388,800, cut and not rounded); Qwen3 235.1B, of which 22.2B are active."""
    assert model(database, "meta-llama/Llama-3.1-405B", "params_total") == {"params_total": 405_853_388_800}
    qwen = model(database, "Qwen/Qwen3-235B-A22B", "params_total, params_active")
    assert [round(n / 1e9, 1) for n in qwen.values()] == [235.1, 22.2]


def test_training_compute_of_seed_001(database: Path) -> None:
    """Seed 001: 6 x N x tokens from the reported N and tokens, where both are cited."""
    sql = (
        "SELECT repo_id, 6 * n.value::DOUBLE * t.value::DOUBLE AS flops FROM reported n JOIN reported t USING (repo_id)"
        " WHERE t.fact = 'training_tokens' AND n.fact = CASE WHEN"
        " (SELECT is_moe FROM fingerprints f WHERE f.repo_id = n.repo_id)"
        " THEN 'params_active' ELSE 'params_total' END"
    )
    found = {row["repo_id"]: float(f"{row['flops']:.1e}") for row in rows(database, sql)}
    printed = {"meta-llama/Llama-3.1-405B": 3.8e25, "deepseek-ai/DeepSeek-V3": 3.3e24, "Qwen/Qwen3-235B-A22B": 4.8e24,
        "moonshotai/Kimi-K2-Instruct": 3.0e24, "google/gemma-3-27b-it": 2.3e24}  # fmt: skip
    assert {repo: found.get(repo) for repo in printed} == printed


def test_the_catalogue_is_whole(database: Path) -> None:
    """At least 150 models have numbers, every other one a reason, and the snapshot proves itself."""
    sql = (
        "SELECT count(*) AS models, count(params_total) AS derived, count(refusal_reason) AS refused FROM fingerprints"
    )
    (found,) = rows(database, sql)
    assert found["derived"] >= 150
    assert found["derived"] + found["refused"] == found["models"]
    snapshot.proven(database)
