"""Start-up logs read back: which engine wrote one, the inputs it states, the figures it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple


class Read(NamedTuple):
    """What a log states: engine, version, model, inputs, and each figure with the line it stands on."""

    engine: str
    version: str | None
    model: str | None
    inputs: dict[str, Any]
    observed: dict[str, tuple[float, str]]


class Pattern(NamedTuple):
    """A line of a log: what it matches, and for each group where the value goes."""

    regex: str
    inputs: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()


_VLLM = (
    Pattern(r"vLLM API server version v?([\d.]+)", ("version",)),
    Pattern(r"LLM engine \(v([\d.]+)[^)]*\)", ("version",)),
    Pattern(r"model='([^']+)'", ("model",)),
    Pattern(r"tensor_parallel_size=(\d+)", ("tp",)),
    Pattern(r"pipeline_parallel_size=(\d+)", ("pp",)),
    Pattern(r"kv_cache_dtype='?(\w+)", ("kv",)),
    Pattern(r"max_seq_len=(\d+)", ("max_model_len",)),
    Pattern(r"max_num_batched_tokens[=: ]+(\d+)", ("F",)),
    Pattern(r"Available KV cache memory: ([\d.]+) GiB", ("available_gib",)),
    Pattern(r"Setting attention block size to (\d+) tokens", (), ("block",)),
    Pattern(r"GPU KV cache size: ([\d,]+) tokens", (), ("tokens",)),
    Pattern(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x", ("max_model_len",), ("concurrency",)),
)
_SGLANG = (
    Pattern(r"model_path='([^']+)'", ("model",)),
    Pattern(r"\btp_size=(\d+)", ("tp",)),
    Pattern(r"\bdp_size=(\d+)", ("dp",)),
    Pattern(r"\bpage_size=(\d+)", ("page",)),
    Pattern(r"kv_cache_dtype='?(\w+)", ("kv",)),
    Pattern(
        r"KV Cache is allocated\. #tokens: (\d+), K size: ([\d.]+) GB, V size: ([\d.]+) GB", ("N",), ("k_gib", "v_gib")
    ),
    Pattern(r"KV Cache is allocated\. #tokens: (\d+), KV size: ([\d.]+) GB", ("N",), ("kv_gib",)),
    Pattern(
        r"max_mamba_cache_size: (\d+), conv_state size: ([\d.]+) ?GB, ssm_state size: ([\d.]+) ?GB",
        ("mamba",),
        ("conv_gib", "ssm_gib"),
    ),
)
_LLAMA = (
    Pattern(r"general\.name\s+str\s*=\s*(.+)$", ("model",)),
    Pattern(r"\bn_seq_max\s*=\s*(\d+)", ("n_seq",)),
    Pattern(r"\bn_ubatch\s*=\s*(\d+)", ("ubatch",)),
    Pattern(
        r"size =\s*([\d.]+) MiB \(\s*(\d+) cells,[^)]*\), K \((\w+)\):\s*([\d.]+) MiB, V \((\w+)\):\s*([\d.]+) MiB",
        ("kv_mib", "cells", "k", "k_mib", "v", "v_mib"),
    ),
    Pattern(
        r"size =\s*([\d.]+) MiB \(\s*(\d+) cells,[^)]*\), R \(\w+\):\s*([\d.]+) MiB, S \(\w+\):\s*([\d.]+) MiB",
        ("rs_mib", "rs_cells", "r_mib", "s_mib"),
    ),
)
_TENSORRT = (Pattern(r"Allocated ([\d.]+) GiB for max tokens in paged KV cache \((\d+)\)", ("gib", "tokens")),)
_BY_ENGINE = {"vllm": _VLLM, "sglang": _SGLANG, "llama.cpp": _LLAMA, "tensorrt-llm": _TENSORRT}
_MARKS = {
    "sglang": r"KV Cache is allocated|sglang|ServerArgs",
    "llama.cpp": r"llama_|ggml_",
    "tensorrt-llm": r"TensorRT-LLM|\[TRT-LLM\]|paged KV cache",
    "vllm": r"vllm|GPU KV cache size|Available KV cache memory",
}
_FIGURES = frozenset({"kv_mib", "k_mib", "v_mib", "rs_mib", "r_mib", "s_mib", "gib"})
_TEXTS = frozenset({"version", "model", "kv", "k", "v"})


_HALF = 0.00501
"""Half of the last of two decimals, and what a float adds."""
_BLOCK = 16


def read(text: str) -> Read | None:
    """What a log states; None where no engine's lines are in it."""
    engine = next((e for e, mark in _MARKS.items() if re.search(mark, text, re.IGNORECASE)), None)
    if engine is None:
        return None
    inputs: dict[str, Any] = {}
    observed: dict[str, tuple[float, str]] = {}
    for line in text.splitlines():
        for name, value, is_figure in _found(line, _BY_ENGINE[engine]):
            if is_figure:
                observed[_windowed(name, line, observed)] = (float(value), line.strip())
            elif name not in inputs or name == "cells":
                _put(inputs, name, value, observed)
    version, model = inputs.pop("version", None), inputs.pop("model", None)
    return Read(engine, version or ("2025-2026" if engine == "llama.cpp" else None), model, inputs, observed)


def _found(line: str, patterns: tuple[Pattern, ...]) -> Iterator[tuple[str, str, bool]]:
    for p in patterns:
        if match := re.search(p.regex, line):
            names = p.inputs + p.observed
            for name, value in zip(names, match.groups(), strict=True):
                yield name, value.replace(",", ""), name in p.observed or name in _FIGURES


def _windowed(name: str, line: str, observed: dict[str, tuple[float, str]]) -> str:
    """A second cache of llama.cpp on the same log is that of windowed layers."""
    seen = observed.get(name)
    again = seen is not None and seen[1] != line.strip() and name in ("kv_mib", "k_mib", "v_mib")
    return {"kv_mib": "swa_mib", "k_mib": "swa_k_mib", "v_mib": "swa_v_mib"}[name] if again else name


def _put(inputs: dict[str, Any], name: str, value: str, observed: dict[str, tuple[float, str]]) -> None:
    """An input; the cells of a second cache are those of windowed layers."""
    if name == "cells" and "cells" in inputs:
        name = "swa_cells" if "swa_mib" in observed else name
        if name == "cells":
            return
    inputs[name] = value.strip() if name in _TEXTS else float(value) if "." in value else int(value)


def agrees(observed: float, predicted: float, inputs: dict[str, Any], figure: str) -> bool:
    """Whether a prediction is within what the log's own printing leaves open.

    Figures have two decimals; what follows from a memory of two decimals inherits its rounding too, and one block.
    """
    loose, available = _HALF, inputs.get("available_gib")
    if available and figure in ("tokens", "concurrency"):
        loose += observed * _HALF / float(available) + (_BLOCK if figure == "tokens" else 0)
    return abs(observed - predicted) <= loose
