"""Engines' benchmarks taken in: files in the tools' own shape, their bounds by hand, and files that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from places import FIXTURES

from pipeline.cli import main
from pipeline.errors import AtlasError, NotFound, Usage
from pipeline.measure.importing import Asked, benches, imported
from pipeline.sources import measured

LLAMA, QWEN = "meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-7B-Instruct"

PP: dict[str, Any]
TG: dict[str, Any]
PP, TG = json.loads((FIXTURES / "llama-bench.json").read_text("utf-8"))
"""The two tests of the tool's own documentation (tools/llama-bench/README.md), with the keys that its source writes
(ggml-org/llama.cpp 0104b151c56d54143e2e3554aabe9e2b2b8dbdba, tools/llama-bench/llama-bench.cpp, `get_fields`)."""

# The keys that `vllm bench serve --save-result` writes without --save-detailed (vllm-project/vllm
# 009e6d4a1cd6ba3fb2a9fc00f4ec06f5297232a1, vllm/benchmarks/serve.py); the figures are made up and agree.
VLLM: dict[str, Any] = {
    "date": "20260412-093015", "endpoint_type": "openai", "backend": "openai", "label": None, "model_id": LLAMA,
    "tokenizer_id": LLAMA, "num_prompts": 100, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8,
    "duration": 20.0, "completed": 100, "failed": 0, "total_input_tokens": 102_400, "total_output_tokens": 12_800,
    "request_throughput": 5.0, "request_goodput": None, "output_throughput": 640.0, "total_token_throughput": 5760.0,
    "latencies": [1.5] * 100, "queue_times": [0.0] * 100, "max_output_tokens_per_s": 900.0,
    "max_concurrent_requests": 8, "rtfx": 0.0, "mean_ttft_ms": 95.0, "median_ttft_ms": 90.0, "std_ttft_ms": 12.0,
    "p99_ttft_ms": 140.0, "mean_tpot_ms": 11.5, "median_tpot_ms": 11.4, "std_tpot_ms": 0.6, "p99_tpot_ms": 13.0,
    "mean_itl_ms": 11.5, "median_itl_ms": 11.2, "std_itl_ms": 2.0, "p99_itl_ms": 22.0,
}  # fmt: skip


def written(folder: Path, value: object) -> Path:
    """A file of it, as JSON or as the text it is."""
    path = folder / "bench.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_llama_bench_by_hand(tmp_path: Path) -> None:
    """The documented file on a card of 716.8 GB/s.

    7,615,616,512 weights less a table of 152,064 x 3,584, 57 norms of 3,584 and 28 x 4,608 biases multiply:
    7,070,285,824, at 4,677,120,000 / 7,615,616,512 bytes each 4.342 GB a token: at most 165.1 tokens a second.
    """
    found = imported(written(tmp_path, [PP, TG]), Asked(model=QWEN, bandwidth="716.8GB", home=tmp_path))
    weights = 7_615_616_512 - 152_064 * 3_584 - 57 * 3_584 - 28 * 4_608
    bound = 716.8e9 / (weights * 4_677_120_000 / 7_615_616_512)
    assert round(bound, 1) == 165.1
    (one,) = found[1].bounds.values()
    assert one.best == pytest.approx(bound, rel=1e-12)
    assert (found[1].run.hardware, found[1].run.engine) == ("NVIDIA GeForce RTX 4080", "llama.cpp")
    assert found[1].run.engine_version == "5163 (8cf427ff)"
    first, second = (one.run.numbers[0] for one in found)
    assert (first.quantity, first.value, first.samples) == ("pp512", 7136.37, 5)
    assert (second.quantity, second.value, second.subject) == ("tg128", 119.03, QWEN)


def test_a_depth_adds_the_cache(tmp_path: Path) -> None:
    """Behind 4,096 tokens of f16 a step also reads 28 x 2 x 512 x 2 x 4,096 bytes; at q8_0 34/64 of that."""
    for types, width in ((("f16", "f16"), 2.0), (("q8_0", "q8_0"), 34 / 32), (("f16", "q8_0"), 34 / 32)):
        deep = TG | {"n_depth": 4096, "type_k": types[0], "type_v": types[1]}
        (found,) = imported(written(tmp_path, [deep]), Asked(model=QWEN, bandwidth="716.8GB", home=tmp_path))
        (one,) = found.bounds.values()
        moved = 7_070_285_824 * 4_677_120_000 / 7_615_616_512 + 28 * 2 * 512 * width * 4096
        assert one.best == pytest.approx(716.8e9 / moved, rel=1e-9)
        assert one.quantity == "tg128 @ d4096"


def test_vllm_by_hand(tmp_path: Path) -> None:
    """Llama-3.1-8B on an H100 with 3.35 TB/s and at most 1,978.9 T operations a second, 1,024 tokens a prompt.

    A step reads 2 x 7,504,658,432 bytes and 131,072 x 1,024 of cache: 4.52 ms. A prompt is 2 x 6,979,321,856 x 1,024
    operations without the head, and 4 x 4,096 x 32 x 1,024 x 1,025 / 2 of attention: 7.36 ms.
    """
    asked = Asked(gpu="h100", version="0.11.0", home=tmp_path)
    (found,) = imported(written(tmp_path, VLLM), asked)
    step, prompt = (found.bounds[q] for q in ("mean time per output token", "mean time to first token"))
    assert step.best == pytest.approx(1000 * (2 * 7_504_658_432 + 131_072 * 1_024) / 3.35e12)
    operations = 2 * 6_979_321_856 * 1_024 + 4 * 4_096 * 32 * 1_024 * 1_025 // 2
    assert prompt.best == pytest.approx(1000 * operations / 1.9789e15)
    run = found.run
    assert (run.hardware, run.engine, run.engine_version, str(run.measured_on)) == (
        "h100", "vllm", "0.11.0", "2026-04-12",
    )  # fmt: skip
    assert "100 requests" in run.conditions
    assert "concurrency 8" in run.conditions
    values = {n.quantity: (n.value, n.unit) for n in run.numbers}
    assert values["output throughput"] == (640.0, "tokens/s")
    assert values["p99 inter-token latency"] == (22.0, "ms")


def test_lines_and_metadata(tmp_path: Path) -> None:
    """--append-result writes an object a line; `--metadata version=... tp=...` is text in it, and halves the bytes."""
    two = [VLLM | {"version": "0.10.2", "tp": "2"}, VLLM | {"date": "20260413-000000"}]
    path = written(tmp_path, "\n".join(map(json.dumps, two)))
    first, second = imported(path, Asked(gpu="h100", version="0.11.0", home=tmp_path))
    assert (first.run.engine_version, second.run.engine_version) == ("0.10.2", "0.11.0")
    step = "mean time per output token"
    assert first.bounds[step].best == pytest.approx(second.bounds[step].best / 2)


def test_rows_are_kept_once_and_found_by_the_next_refresh(tmp_path: Path) -> None:
    """The same file twice is one file and the same rows; each has hardware, engine, version; a bound has its own."""
    path = written(tmp_path, VLLM)
    for _ in range(2):
        imported(path, Asked(gpu="h100", version="0.11.0", home=tmp_path))
    assert len(measured.at(tmp_path)) == 1
    rows = [r for r in measured.rows(tmp_path) if r["experiment"] == "vllm bench serve"]
    assert {(r["subject"], r["hardware"], r["engine"], r["engine_version"]) for r in rows} == {
        (LLAMA, "h100", "vllm", "0.11.0")
    }
    assert sum(", bound: " in r["quantity"] for r in rows) == 2
    assert len({r["experiment"] for r in measured.rows(tmp_path)}) > 1


def test_repeated_runs_and_varied_settings_keep_rows_of_their_own(tmp_path: Path) -> None:
    """The same test with and without flash attention, and the same load twice on a day: two rows, not one."""
    tests = [TG, TG | {"flash_attn": 1}, TG | {"test_time": "2025-04-24T12:58:51Z"}]
    imported(written(tmp_path, tests), Asked(model=QWEN, home=tmp_path))
    runs = [VLLM, VLLM | {"date": "20260412-103015"}]
    imported(written(tmp_path, "\n".join(map(json.dumps, runs))), Asked(gpu="h100", version="1", home=tmp_path))
    rows = measured.rows(tmp_path)
    assert sum(r["quantity"] == "tg128" for r in rows) == 3
    assert sum(r["quantity"] == "output throughput" for r in rows) == 2


def test_under_another_name_it_says_what_was_served(tmp_path: Path) -> None:
    """--model names the structure; the name that the server knew stays in the conditions."""
    raw = VLLM | {"model_id": "/models/mine"}
    (found,) = imported(written(tmp_path, raw), Asked(model=LLAMA, gpu="h100", version="1", home=tmp_path))
    assert {n.subject for n in found.run.numbers} == {LLAMA}
    assert ", served as /models/mine; " in found.run.conditions


def test_requests_of_one_token_have_no_time_per_token(tmp_path: Path) -> None:
    """The tool's mean over no samples is 0 ms: no measurement, and nothing to hold a bound against."""
    one = {f"{s}_{k}_ms": 0.0 for s in ("mean", "median", "std", "p99") for k in ("tpot", "itl")}
    raw = VLLM | one | {"total_output_tokens": 100, "output_throughput": 5.0, "total_token_throughput": 5125.0}
    (found,) = imported(written(tmp_path, raw), Asked(gpu="h100", version="1", home=tmp_path))
    assert set(found.bounds) == {"mean time to first token"}
    assert all(n.value > 0 for n in found.run.numbers)


def test_better_than_its_bound_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A prompt of 1,024 tokens takes 7.36 ms at least; in 2 ms it was not processed, and the reader is told."""
    path = str(written(tmp_path, VLLM | {"mean_ttft_ms": 2.0}))
    assert main(["measure", "--import", path, "--gpu", "h100", "--engine-version", "1", "--home", str(tmp_path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "at least 7.362, 368% reached" in out
    assert "better than its bound" in out


def test_an_encoder_of_prompts_has_no_bound_of_a_decoder(tmp_path: Path) -> None:
    """Whisper reads its input with other matrices than it decodes with: the step has a bound, the prompt none."""
    asked = Asked(model="openai/whisper-large-v3-turbo", gpu="h100", version="1", home=tmp_path)
    (found,) = imported(written(tmp_path, VLLM), asked)
    assert set(found.bounds) == {"mean time per output token"}


def test_what_the_file_does_not_say_is_asked_for(tmp_path: Path) -> None:
    """Neither hardware nor version stand in a vLLM file; each is an error that names the option."""
    path = written(tmp_path, VLLM)
    with pytest.raises(Usage, match="on what it ran: add --gpu, or --hardware"):
        benches(path, Asked(version="0.11.0"))
    with pytest.raises(Usage, match="which version of vllm ran: add --engine-version"):
        benches(path, Asked(gpu="h100"))


def test_without_a_bound_the_reason_is_said(tmp_path: Path) -> None:
    """No model, no memory's speed, drafts with several tokens a step, matrices split over cards: each has words."""
    said = [
        (VLLM | {"model_id": "/models/mine"}, Asked(gpu="h100", version="1"), "add --model"),
        (VLLM, Asked(hardware="a card", version="1"), "add --gpu, or --bandwidth"),
        (PP, Asked(model=QWEN, bandwidth="1TB"), "operations a second the machine does was not said: add --gpu"),
        (VLLM | {"spec_decode_acceptance_length": 2.4}, Asked(gpu="h100", version="1"), "several tokens"),
        (TG | {"split_mode": "row", "gpu_info": "A, B"}, Asked(model=QWEN, bandwidth="1TB"), "split over several"),
    ]
    for raw, asked, why in said:
        (found,) = imported(written(tmp_path, raw), msgspec.structs.replace(asked, home=tmp_path))
        assert found.bounds == {}
        assert why in (found.why_none or "")


HALF = json.dumps([PP, TG])[:-40]
WRONG = [
    ("", "holds no results"),
    (" \n", "holds no results"),
    (HALF, "no JSON, or cut short"),
    ('{"mean_ttft_ms": NaN}', "no JSON, or cut short"),
    ("[]", "holds no results"),
    ("3", "holds no results"),
    ([[1]], "holds no results"),
    ({"config": 1}, "a result of neither tool"),
    ([PP, {k: v for k, v in TG.items() if k != "avg_ts"}], "result 2: avg_ts is missing"),
    (TG | {"model_n_params": "7B"}, "model_n_params is '7B', not a number"),
    (TG | {"model_size": 0}, "model_size is 0, which cannot be"),
    (TG | {"avg_ts": True}, "avg_ts is True, not a number"),
    (TG | {"n_gen": 0}, "n_prompt and n_gen are both 0"),
    (TG | {"n_gen": 1.5}, "not a whole number"),
    (TG | {"avg_ts": 500.0}, "avg_ts is 500, but its other figures give"),
    (TG | {"samples_ts": [119.0, "fast"]}, "samples_ts is no list of rates"),
    (TG | {"test_time": "yesterday"}, "test_time is 'yesterday', no time"),
    (VLLM | {"completed": 0}, "completed is 0, which cannot be"),
    (VLLM | {"date": "12.4.2026"}, "not of the form"),
    (VLLM | {"output_throughput": 64.0}, "output_throughput is 64, but its other figures give 640"),
    (VLLM | {"mean_tpot_ms": -1}, "mean_tpot_ms is -1, which cannot be"),
    (VLLM | {"mean_tpot_ms": 1e300}, "which cannot be"),
    ({k: v for k, v in VLLM.items() if k != "duration"}, "duration is missing"),
]


@pytest.mark.parametrize(("value", "said"), WRONG)
def test_half_and_hostile_files_are_sentences(value: object, said: str, tmp_path: Path) -> None:
    """Whatever is missing, senseless or contradicts itself: exit 2 with file, place and key, and nothing is kept."""
    with pytest.raises(Usage) as error:
        imported(written(tmp_path, value), Asked(model=QWEN, gpu="h100", version="1", home=tmp_path))
    assert said in str(error.value)
    assert "bench.json" in str(error.value)
    assert measured.at(tmp_path) == []


def test_a_wrong_model_is_refused(tmp_path: Path) -> None:
    """7.6B weights were benchmarked: they are not those of Llama-3.1-8B; a CPU's run is not a GPU's."""
    with pytest.raises(Usage, match="the benchmark is of 7,615,616,512 weights"):
        imported(written(tmp_path, TG), Asked(model=LLAMA, bandwidth="1TB", home=tmp_path))
    with pytest.raises(Usage, match="it ran on a CPU"):
        imported(written(tmp_path, TG | {"backends": "CPU"}), Asked(model=QWEN, gpu="h100", home=tmp_path))
    with pytest.raises(NotFound, match="cannot be read"):
        imported(tmp_path / "none.json", Asked(home=tmp_path))


def test_a_name_in_a_file_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that names a path or a stranger's repository leads to no file and to no network."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    for name in ("config.json", str(tmp_path), "someone/else", "../x", "-"):
        (found,) = imported(written(tmp_path, VLLM | {"model_id": name}), Asked(gpu="h100", version="1", home=tmp_path))
        assert found.bounds == {}


def test_control_characters_are_shown_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escapes in a stranger's words arrive as visible text on the screen and in the rows."""
    path = written(tmp_path, TG | {"gpu_info": "card \x1b[2J\u202e", "model_type": "x" * 5000})
    assert main(["measure", "--import", str(path), "--home", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    (row,) = [r for r in measured.rows(tmp_path) if r["experiment"] == "llama-bench"]
    assert row["hardware"] == "card \\x1b[2J\\u202e"
    assert len(row["conditions"]) < 1000


def test_the_command_prints_rows_or_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people each number with the best and the share reached, 119.03 / 165.1 = 72%; for programs the rows."""
    path = str(written(tmp_path, TG))
    options = ("--model", QWEN, "--bandwidth", "716.8GB", "--home", str(tmp_path))
    assert main(["measure", "--import", path, *options]) == 0
    assert "at most 165.1, 72% reached" in capsys.readouterr().out
    assert main(["measure", "--import", path, *options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["unit"] for r in rows] == ["tokens/s", "tokens/s"]
    assert rows[1]["quantity"].startswith("tg128, bound: bytes of a step over bandwidth")


@pytest.mark.parametrize("size", [2**26 + 1])
def test_a_huge_file_is_not_read(size: int, tmp_path: Path) -> None:
    """Beyond the limit nothing is loaded."""
    path = tmp_path / "bench.json"
    with path.open("wb") as file:
        file.truncate(size)
    with pytest.raises(AtlasError, match="67,108,865 bytes"):
        imported(path, Asked(home=tmp_path))
