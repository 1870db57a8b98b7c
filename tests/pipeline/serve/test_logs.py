"""Predictions held against public start-up logs, and logs read back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from agreement import MISSES, counted, find, within
from places import ROOT

from pipeline.engines.predicting import lines, predicted
from pipeline.engines.record import Geometry
from pipeline.serve import logs


def rows_of(shared: Path) -> dict[str, dict[str, Any]]:
    """The shared logs by their id."""
    return {row["id"]: row for row in map(json.loads, (shared / "engines" / "logs.jsonl").read_bytes().splitlines())}


def test_the_shared_logs_are_predicted(shared: Path) -> None:
    """Every figure of at least 95 % of the logs whose inputs are stated is within the log's rounding, or one block."""
    rows = rows_of(shared)
    made = {row["id"]: row["predicted"] for row in lines((shared / "engines" / "logs.jsonl").read_bytes(), find)}
    wrong = {i for i, row in rows.items() for f in row["observed"] if not within(row, f, made[i].get(f))}
    assert wrong <= set(MISSES), wrong
    assert len(rows) - len(wrong) >= 51


@pytest.mark.parametrize(
    ("log", "stated"),
    [
        ("vllm-28", {"kv": "fp8"}),
        ("vllm-29", {"max_model_len": 131_072}),
        ("vllm-52", {"kv": "fp8", "F": 4_096}),
        ("vllm-38", {"available_gib": 178_880 / 16 * 770_048 / 2**30 + 1e-6}),
    ],
)
def test_a_miss_is_the_inputs_and_not_the_rules(log: str, stated: dict[str, Any], shared: Path) -> None:
    """With the one input that the log does not state (or states of another rank) every figure agrees.

    The last is the memory of 11,180 blocks of 94 layers x 16 tokens x one head of 256 at 2 bytes: 770,048 B each.
    """
    row = rows_of(shared)[log]
    made = predicted(find(row["geometry"]), "vllm", row["version"], row["inputs"] | stated)  # pyright: ignore[reportArgumentType]
    assert all(within(row, figure, made.predicted.get(figure)) for figure in row["observed"])


def test_two_figures_of_one_log_agree_with_each_other(shared: Path) -> None:
    """Qwen3-Next, 90,048 tokens: 84 blocks of 1,072 in 4 groups, 336 to 339 over 201 + 3 are 1.65 to 1.66 requests."""
    row = rows_of(shared)["vllm-51"]
    stated = {"mode": "none", "max_model_len": 215_040, "kv": "fp8", "tp": 2, "available_gib": 10}
    made = predicted(find(row["geometry"]), "vllm", "0.11", stated)  # pyright: ignore[reportArgumentType]
    assert made.predicted["block"] == 1_072
    assert row["observed"]["tokens"] == 84 * 1_072
    assert row["observed"]["concurrency"] in {round(n / (201 + 3), 2) for n in range(336, 340)}


def test_the_counts_of_the_guide_are_those_of_the_logs(shared: Path) -> None:
    """The file that the guide reads says what the logs say now."""
    assert shared.is_dir()
    assert tomllib.loads((ROOT / "pipeline" / "engines" / "agreement.toml").read_text("utf-8")) == counted()


def test_a_vllm_log_gives_its_inputs() -> None:
    """Version, ranks, length, memory and the figures are read from the lines that state them."""
    read = logs.read(
        "INFO core.py:93] Initializing a V1 LLM engine (v0.11.0) with config: model='org/m', tensor_parallel_size=4,"
        " kv_cache_dtype=auto, max_seq_len=4096\n"
        "INFO gpu_worker.py:298] Available KV cache memory: 109.86 GiB\n"
        "INFO kv_cache_utils.py:1087] GPU KV cache size: 205,696 tokens\n"
        "INFO kv_cache_utils.py:1091] Maximum concurrency for 4,096 tokens per request: 50.05x\n"
    )
    assert read is not None
    assert (read.engine, read.version, read.model) == ("vllm", "0.11.0", "org/m")
    assert read.inputs == {"tp": 4, "kv": "auto", "max_model_len": 4096, "available_gib": 109.86}
    assert {k: v for k, (v, _) in read.observed.items()} == {"tokens": 205_696, "concurrency": 50.05}


def test_a_llama_cpp_log_gives_both_caches() -> None:
    """The second cache is that of windowed layers; recurrent states have their own line."""
    line = "llama_kv_cache: size = {} MiB ({} cells, 12 layers, 1/1 seqs), K (f16): {} MiB, V (f16): {} MiB\n"
    read = logs.read(
        line.format("3072.00", "131072", "1536.00", "1536.00")
        + line.format("18.00", "   768", "9.00", "9.00")
        + "llama_memory_recurrent: size =  598.50 MiB (     4 cells,  64 layers,  4 seqs), R (f32):   22.50 MiB,"
        " S (f32):  576.00 MiB\n"
    )
    assert read is not None
    assert read.engine == "llama.cpp"
    assert read.inputs == {"cells": 131_072, "k": "f16", "v": "f16", "swa_cells": 768, "rs_cells": 4}
    assert {k: v for k, (v, _) in read.observed.items()} == {
        "kv_mib": 3072, "k_mib": 1536, "v_mib": 1536, "swa_mib": 18, "swa_k_mib": 9, "swa_v_mib": 9,
        "rs_mib": 598.5, "r_mib": 22.5, "s_mib": 576,
    }  # fmt: skip


def test_a_text_of_no_engine_is_none() -> None:
    """Nothing is made of lines that no engine writes."""
    assert logs.read("hello\n") is None


@pytest.mark.parametrize(
    "line", [b"{", b'{"id": "a"}', b'{"id": "a", "geometry": "x", "engine": "none", "version": "1"}', b"3"]
)
def test_a_bad_line_is_a_line(line: bytes) -> None:
    """A line that cannot be read, or that asks for an engine there is not, says so and stops nothing."""
    (made,) = lines(
        line, lambda _: Geometry(name="x", model_type=None, caches=(), dtype=None, state_dtype=None, max_context=None)
    )
    assert made["predicted"] == {}
    assert made["missing"]
