"""The JSON of `llama-bench -o json` (an array) or `jsonl`: one object a test (`tools/llama-bench` writes it).

A test processes a prompt (n_prompt), generates (n_gen), or both, behind n_depth tokens of one sequence that are cached
already; older versions had no depth. Rates are tokens a second.
"""

from __future__ import annotations

import datetime as dt
import statistics
from pathlib import PurePosixPath

from pipeline.measure import bench
from pipeline.measure.bench import Bench, Entry
from pipeline.measure.timing import number
from pipeline.sources.measured import Number

TOOL = "llama-bench"
ENGINE = "llama.cpp"
_SETTINGS = ("n_ubatch", "n_gpu_layers", "n_cpu_moe", "split_mode", "no_kv_offload", "flash_attn")


def is_one(raw: dict[str, object]) -> bool:
    """Whether an object is of this tool."""
    return "avg_ts" in raw or {"build_commit", "model_filename"} <= raw.keys()


def read(e: Entry) -> Bench:
    """One test; raises `Usage` where something is missing, senseless or contradicts itself."""
    prompt, made, depth = e.whole("n_prompt"), e.whole("n_gen"), e.whole("n_depth", default=0)
    if not prompt + made:
        raise e.wrong("n_prompt and n_gen are both 0: it says of no test what ran")
    size, params = e.whole("model_size", least=1), e.whole("model_n_params", least=1)
    found = _rate(e, test_of(prompt, made, depth), prompt + made)
    return Bench(
        tool=TOOL, model=PurePosixPath(e.text("model_filename").replace("\\", "/")).name, hardware=_hardware(e),
        engine=ENGINE, version=f"{e.whole('build_number')} ({e.text('build_commit')})", measured_on=_time(e).date(),
        conditions=_conditions(e), numbers=(found,),
        steps=found.quantity if made and not prompt else None, prompts=found.quantity if prompt and not made else None,
        tokens_before=depth, prompt=prompt, behind=depth, params=params, width=size / params, on_cpu=on_cpu(e),
        cache=(e.text("type_k"), e.text("type_v")), is_fp4="FP4" in e.text("model_type").upper(), without=_without(e),
    )  # fmt: skip


def test_of(prompt: int, made: int, depth: int) -> str:
    """The test as the tool names it: pp512, tg128, pp512+tg128, with @ d512 behind a depth."""
    parts = ((f"pp{prompt}", prompt), (f"tg{made}", made))
    name = "+".join(part for part, n in parts if n)
    return f"{name} @ d{depth}" if depth else name


def _rate(e: Entry, test: str, tokens: int) -> Number:
    """The median rate of the samples, the mean where the file has none; both must be what the times give."""
    average, samples = e.number("avg_ts", above=True), e.raw.get("samples_ts")
    if samples is None:
        e.agree("avg_ts", average, tokens / (e.number("avg_ns", above=True) / 1e9), share=0.05)
        return Number("", test, average, "tokens/s")
    if not isinstance(samples, list) or not all(isinstance(s, int | float) and s > 0 for s in samples) or not samples:
        raise e.wrong("samples_ts is no list of rates")
    e.agree("avg_ts", average, statistics.fmean(samples))
    return number("", test, samples, "tokens/s")


def _hardware(e: Entry) -> str:
    """The GPUs where a GPU backend ran, else the processor."""
    gpu, cpu = e.maybe("gpu_info"), e.text("cpu_info")
    return gpu if gpu is not None and not on_cpu(e) else cpu


def on_cpu(e: Entry) -> bool:
    """Whether no GPU had a part: the CPU's backend alone, or no layer offloaded."""
    backend = (e.maybe("backends") or "").upper()
    return backend in ("CPU", "BLAS") or e.raw.get("n_gpu_layers") == 0


def _conditions(e: Entry) -> str:
    """What the model is, and the settings that tests of one file are varied by; older versions write fewer."""
    said = [e.text("model_type"), f"backend {e.maybe('backends') or 'not stated'}", f"{e.whole('n_threads')} threads"]
    said += [f"cache {e.text('type_k')}/{e.text('type_v')}", f"batch {e.whole('n_batch')}"]
    said += [f"{key} {bench.kept(str(e.raw[key]))}" for key in _SETTINGS if key in e.raw]
    return ", ".join([*said, f"at {_time(e):%H:%M:%S} UTC"])


def _without(e: Entry) -> str | None:
    shared = e.maybe("split_mode") in ("row", "tensor") and "," in (e.maybe("gpu_info") or "")
    return "its matrices are split over several GPUs, whose bandwidths add up" if shared else None


def _time(e: Entry) -> dt.datetime:
    stated = e.text("test_time")
    try:
        return dt.datetime.fromisoformat(stated).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise e.wrong(f"test_time is '{stated}', no time") from error
