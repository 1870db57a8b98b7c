"""Geometries for tests of engines, small enough to count by hand, and what vLLM prints of one."""

from __future__ import annotations

from typing import Any

from atlas.numbers.caches import Cache
from pipeline.engines.named import engine_of
from pipeline.engines.record import Geometry

GIB = 2**30


def kv(owner: int, heads: int = 8, width: int = 128, window: int | None = None) -> Cache:
    """Keys and values of one layer."""
    wide = heads * width
    return Cache("decoder", owner, "kv", "gqa", wide, wide, heads, window, elements=2 * wide)


def geometry(*kept: Cache, **more: Any) -> Geometry:
    """A model of these caches, in bfloat16."""
    made = {"name": "made", "model_type": "made", "dtype": "bfloat16", "state_dtype": None, "max_context": None}
    return Geometry(**(made | more), caches=kept)


MIXED = geometry(*[kv(i) for i in range(2)], *[kv(i, window=1024) for i in range(2, 8)])
"""Two full layers and six windowed ones: pages of 16 x 2,048 x 2 = 65,536 bytes."""


def vllm(g: Geometry, version: str, **inputs: Any) -> dict[str, int | float]:
    """The figures vLLM prints."""
    return engine_of("vllm").predict(g, version, inputs).predicted
