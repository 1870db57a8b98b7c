"""The JSON of `vllm bench serve --save-result`, one object a run (`vllm/benchmarks/serve.py` writes it).

It says neither hardware nor version: both come from options, the version also from `--metadata version=...`. The day
is local time of the client. Latencies are milliseconds; which statistics are there is the user's choice.
"""

from __future__ import annotations

import datetime as dt
import re

from pipeline.measure.bench import Bench, Entry
from pipeline.sources.measured import Number

TOOL = "vllm bench serve"
_STATISTIC = re.compile(r"(mean|median|std|p\d{1,2}(?:\.\d+)?)_(ttft|tpot|itl|e2el)_ms")
_WORDS = {"ttft": "time to first token", "tpot": "time per output token", "itl": "inter-token latency",
          "e2el": "end-to-end latency"}  # fmt: skip
_RATES = {
    "request_throughput": ("request throughput", "requests/s"),
    "output_throughput": ("output throughput", "tokens/s"),
    "total_token_throughput": ("total throughput", "tokens/s"),
}
_OTHERS = {"tgi", "lmdeploy", "deepspeed-mii", "tensorrt-llm", "scalellm", "sglang", "llama.cpp"}
"""Backends that are other engines; the rest name a protocol, and vLLM is what the tool is for."""
STEP, FIRST = "mean time per output token", "mean time to first token"


def is_one(raw: dict[str, object]) -> bool:
    """Whether an object is of this tool."""
    return "request_throughput" in raw or {"model_id", "num_prompts"} <= raw.keys()


def read(e: Entry) -> Bench:
    """One run; raises `Usage` where something is missing, senseless or contradicts itself."""
    completed, seconds = e.whole("completed", least=1), e.number("duration", above=True)
    taken, made = e.whole("total_input_tokens"), e.whole("total_output_tokens", least=1)
    e.agree("output_throughput", e.number("output_throughput"), made / seconds)
    e.agree("request_throughput", e.number("request_throughput"), completed / seconds)
    backend = e.maybe("backend") or e.maybe("endpoint_type") or "not stated"
    numbers = tuple(_numbers(e))
    names = {n.quantity for n in numbers}
    return Bench(
        tool=TOOL, model=e.text("model_id"), hardware=None, engine=backend if backend in _OTHERS else "vllm",
        version=e.maybe("version"), measured_on=_time(e).date(), conditions=_conditions(e, backend, completed),
        numbers=numbers,
        steps=STEP if STEP in names else None, prompts=FIRST if FIRST in names else None,
        tokens_before=taken // completed, prompt=taken // completed, tp=_tp(e), without=_without(e),
    )  # fmt: skip


def _numbers(e: Entry) -> list[Number]:
    """Rates and latencies; the tool writes a mean of 0 where there was nothing to take one of, as of single tokens."""
    found = [Number("", words, e.number(key), unit) for key, (words, unit) in _RATES.items() if key in e.raw]
    named = [m for m in map(_STATISTIC.fullmatch, e.raw) if m is not None and e.raw.get(f"mean_{m[2]}_ms") != 0]
    return found + [Number("", f"{m[1]} {_WORDS[m[2]]}", e.number(m[0]), "ms") for m in named]


def _conditions(e: Entry, backend: str, completed: int) -> str:
    rate = "all at once" if e.raw.get("request_rate") in ("inf", None) else f"{e.number('request_rate'):g} requests/s"
    at_once = "no limit" if e.raw.get("max_concurrency") is None else f"{e.whole('max_concurrency', least=1):,}"
    tokens = f"{e.whole('total_input_tokens'):,} tokens in, {e.whole('total_output_tokens'):,} out"
    failed = f", {n:,} failed" if (n := e.whole("failed", default=0)) else ""
    tp = f", TP {n}" if (n := _tp(e)) > 1 else ""
    said = f"backend {backend}, {completed:,} requests{failed}, {tokens}, {rate}, concurrency {at_once}{tp}"
    return f"{said}, written at {_time(e):%H:%M:%S} local time"


def _tp(e: Entry) -> int:
    """The degree that `--metadata tp=...` states, as text."""
    stated = e.maybe("tp")
    return int(stated) if stated is not None and re.fullmatch(r"[1-9]\d{0,2}", stated) else 1


def _without(e: Entry) -> str | None:
    if any(k.startswith(("spec_decode", "diffusion")) for k in e.raw):
        return "a step makes several tokens here, so that a step's bytes bound no token"
    return None


def _time(e: Entry) -> dt.datetime:
    stated = e.text("date")
    try:
        return dt.datetime.strptime(stated, "%Y%m%d-%H%M%S")  # noqa: DTZ007 - the tool writes local time, no zone
    except ValueError as error:
        raise e.wrong(f"date is '{stated}', not of the form 20251130-174500") from error
