"""The engines whose rules are known, one module each; `engine_of` finds one by its name."""

from __future__ import annotations

from importlib import import_module

from pipeline.engines.record import Engine
from pipeline.errors import Usage

MODULES = {"vllm": "vllm", "llama.cpp": "llama_cpp", "sglang": "sglang", "tensorrt-llm": "tensorrt_llm"}


def engine_of(name: str) -> Engine:
    """The engine of this name; raises `Usage` with the names there are."""
    module = MODULES.get(name.lower())
    if module is None:
        raise Usage(f"--engine {name}: say one of {', '.join(MODULES)}")
    engine: Engine = import_module(f"pipeline.engines.{module}").ENGINE
    return engine
