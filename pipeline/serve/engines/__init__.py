"""The engines whose rules are known, one module each; `engine_of` finds one by its name."""

from __future__ import annotations

from importlib import import_module

from pipeline.errors import Usage
from pipeline.serve.engines.record import Engine

MODULES = {"vllm": "vllm", "llama.cpp": "llama_cpp", "sglang": "sglang", "tensorrt-llm": "tensorrt_llm"}


def engine_of(name: str) -> Engine:
    """The engine of this name; raises `Usage` with the names there are."""
    module = MODULES.get(name.lower())
    if module is None:
        raise Usage(f"--engine {name}: say one of {', '.join(MODULES)}")
    engine: Engine = import_module(f"pipeline.serve.engines.{module}").ENGINE
    return engine
