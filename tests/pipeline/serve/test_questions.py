"""What people ask most about serving a model, each answered by one command and counted here by hand."""

from __future__ import annotations

import json
from typing import Any

import guide
import pytest

from pipeline.cli import main

LLAMA, V3, GEMMA = "meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V3", "google/gemma-3-27b-it"
WEIGHTS = 2 * 8_030_261_248
GIB = 2**30


@pytest.fixture
def fit(capsys: pytest.CaptureFixture[str]) -> Any:
    """A function that runs `atlas fit` on the catalogue's snapshot and reads what it prints."""

    def run(*arguments: str) -> Any:
        assert main(["fit", *arguments, "--home", str(guide.home()), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_which_models_under_40b_hold_128k_in_24_gb_at_fp8(fit: Any) -> None:
    """Llama-3.1-8B: 7.0 GB of FP8 matrices, two tables of 525,336,576 x 2 bytes, 65,536 B a token x 131,072: 17.7 GB.

    Qwen3-14B is left out: its 14.8 GB and 40 layers x 2 x 8 x 128 x 131,072 = 10.7 GB are 25.5 GB.
    """
    asked = ("--memory", "24GB", "--at", "128k", "--dtype", "fp8", "--weights", "fp8", "--under", "40B")
    found = {m["name"]: m for m in fit(*asked)["models"]}
    held = found[LLAMA]["weight_bytes"] + found[LLAMA]["cache_bytes_per_sequence"]
    assert found[LLAMA]["cache_bytes_per_sequence"] == 65_536 * 131_072
    assert 17.6e9 < held < 17.8e9
    assert "Qwen/Qwen3-14B" not in found
    assert all(m["params_total"] < 40e9 for m in found.values())


def test_kv_of_two_models_at_32k_on_each_of_eight_ranks(fit: Any) -> None:
    """One of 8 heads: 16,384 B a token; 61 latents of 576 elements stay whole: 70,272 B a token."""
    a, b = fit(LLAMA, V3, "--gpu", "h100", "--tp", "8", "--at", "32k")["models"]
    assert a["cache_bytes_per_sequence"] == 16_384 * 32_768
    assert b["cache_bytes_per_sequence"] == 70_272 * 32_768


def test_how_many_32k_sequences_beside_the_weights_on_one_80_gb_card(fit: Any) -> None:
    """(80 x 10^9 - 16,060,522,496) / (131,072 x 32,768) = 14.9."""
    (found,) = fit(LLAMA, "--gpu", "h100", "--at", "32k")["models"]
    assert found["sequences"] == 14


def test_what_tp_16_does_to_8_kv_heads(fit: Any) -> None:
    """Each head stands on two ranks: as much cache a GPU as at TP 8, and the answer says so."""
    (found,) = fit(LLAMA, "--gpu", "h100", "--tp", "16", "--at", "32k")["models"]
    assert found["cache_bytes_per_sequence"] == 16_384 * 32_768
    assert "TP 16 is copied: 8 KV heads on 16 ranks, each on 2" in found["notes"]


def test_how_much_context_four_sequences_may_have_on_24_gb(fit: Any) -> None:
    """(24 x 10^9 - 16,060,522,496) // (4 x 131,072) = 15,143 tokens."""
    (found,) = fit(LLAMA, "--memory", "24GB", "--sequences", "4", "--at", "8k")["models"]
    assert found["longest_context"] == (24 * 10**9 - WEIGHTS) // (4 * 131_072) == 15_143


def test_which_stage_of_a_pipeline_is_the_fullest(fit: Any) -> None:
    """16 layers of 218,112,000 beside the table on one stage, beside norm and head on the other: 4,015,132,672."""
    (found,) = fit(LLAMA, "--gpu", "h100", "--pp", "2", "--at", "8k")["models"]
    assert found["weight_bytes"] == 2 * (16 * 218_112_000 + 4_096 + 525_336_576)


def test_how_many_experts_a_step_of_64_sequences_touches(fit: Any) -> None:
    """256 x (1 - (1 - 8/256)^64) = 222.4 of 256."""
    (found,) = fit(V3, "--gpu", "mi300x", "--tp", "8", "--sequences", "64", "--at", "4k")["models"]
    assert found["bounds"]["experts_touched"] == pytest.approx(222.4, abs=0.05)


def test_what_vllm_will_print(fit: Any) -> None:
    """40 GiB: 32,768 pages of 10 x 131,072 B over 7 groups: 32,768 // 7 x 16 = 74,896 tokens."""
    (found,) = fit(GEMMA, "--engine", "vllm", "--engine-version", "0.11.0", "--input", "available_gib=40", "--input",
                   "F=8192", "--at", "8k")  # fmt: skip
    assert found["predicted"]["tokens"] == 40 * GIB // (10 * 131_072) // 7 * 16 == 74_896


def test_what_memory_100_000_tokens_need_in_llama_cpp_at_q8_0(fit: Any) -> None:
    """Padded to 391 x 256 = 100,096 cells of 65,536 elements in 34 bytes for 32."""
    (found,) = fit(LLAMA, "--engine", "llama.cpp", "--dtype", "q8_0", "--input", "tokens=100000")
    assert found["predicted"]["available_gib"] == pytest.approx(100_096 * 65_536 * 34 / 32 / GIB)


def test_whether_it_would_fit_in_four_bits(fit: Any) -> None:
    """The published Q4_K_M file of this model has 4.92 GB: with 4 GiB of cache at 32K it does not fit in 8 GB."""
    (small,) = fit(LLAMA, "--memory", "8GB", "--weights", "q4_k_m", "--at", "32k")["models"]
    assert small["fits"] is False
    assert small["weight_bytes"] == pytest.approx(4.92e9, rel=0.003)
    (large,) = fit(LLAMA, "--memory", "12GB", "--weights", "q4_k_m", "--at", "32k")["models"]
    assert large["fits"] is True


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "vllm", "--pp", "2", "--input", "available_gib=10"], None),
        (["--engine", "vllm", "--dp-attention", "8", "--tp", "8"], "replica"),
        (["--engine", "sglang", "--pp", "2"], "not read"),
        (["--engine", "llama.cpp", "--tp", "2"], "all its devices together"),
        (["--engine", "tensorrt-llm", "--dp-attention", "2", "--tp", "2"], "not read"),
        (["--engine", "vllm", "--gpu", "h100"], "no part"),
        (["--engine", "vllm", "--sequences", "4"], "no part"),
        (["--engine", "vllm", "--under", "40B"], "no part"),
        (["--gpu", "h100", "--weights", "int4"], "no form that is described"),
        (["--gpu", "h100", "--input", "F=1"], "belongs to --engine"),
        (["--gpu", "h100", "--engine-version", "1"], "belongs to --engine"),
        (["--predict", "lines.jsonl", "--tp", "8"], "no part"),
    ],
)
def test_no_option_is_ignored_in_silence(
    options: list[str], said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option either has its part in the answer or is refused with the reason (exit 2)."""
    assert main(["fit", LLAMA, *options, "--home", str(guide.home())]) == (0 if said is None else 2)
    assert (said or "") in capsys.readouterr().err.replace("\n", " ")
