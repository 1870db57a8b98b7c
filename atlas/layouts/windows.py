"""Which layers look back over a window, a chunk, or everything.

Where a config states a gate that switches a window on or off, the effective value is what the layout returns, and
both the stated and the effective one are noted.
"""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import every_nth, listed, n_layers
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction


def window_everywhere(c: Config) -> Kinds:
    """Every layer windowed where a window is stated, every layer full where it is null (Mistral, Mixtral, Phi-3)."""
    window = c.opt_count("sliding_window")
    word = "full_attention" if window is None else "sliding_attention"
    return (word,) * n_layers(c)


def window_gated(c: Config) -> Kinds:
    """A window that counts only where `use_sliding_window` is true.

    And then from layer `max_window_layers` on (Qwen2, Qwen3).
    """
    n = n_layers(c)
    if not c.flag("use_sliding_window") or c.opt_count("sliding_window") is None:
        c.derived(
            "effective_window",
            None,
            "use_sliding_window is false or no window is stated: a stated window has no effect",
        )
        c.read.update(("sliding_window", "max_window_layers", "layer_types"))
        return ("full_attention",) * n
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    first = min(c.size("max_window_layers"), n)
    c.derived("effective_window", c.count("sliding_window"), f"use_sliding_window: layers {first} to {n - 1}")
    return ("full_attention",) * first + ("sliding_attention",) * (n - first)


def window_switched(c: Config) -> Kinds:
    """A window in every layer where `use_sliding_window` is true, in none where not (Qwen3-MoE)."""
    on = c.flag("use_sliding_window") and c.opt_count("sliding_window") is not None
    if not on:
        c.derived(
            "effective_window",
            None,
            "use_sliding_window is false or no window is stated: a stated window has no effect",
        )
    return ("sliding_attention" if on else "full_attention",) * n_layers(c)


def every_nth_full(c: Config) -> Kinds:
    """Every `sliding_window_pattern`-th layer full and the others windowed, where no layer_types are stated."""
    return every_nth(c, "sliding_window_pattern", "sliding_attention")


def llama4(c: Config) -> Kinds:
    """Chunked attention with RoPE, and full attention without it: layer_types and no_rope_layers.

    Else every 4th layer full.

    An entry of `no_rope_layers` is 1 where RoPE is used. An empty list counts as none, as the class treats it.
    """
    n = n_layers(c)
    stated = bool(c.opt("no_rope_layers"))
    ropes: list[Any] = c.items("no_rope_layers") if stated else _every(c, n, c.count("no_rope_layer_interval"))
    chunked = c.opt_count("attention_chunk_size") is not None
    types: list[Any] = (
        c.items("layer_types")
        if c.opt("layer_types")
        else c.derived(
            "layer_types",
            ["chunked_attention" if r and chunked else "full_attention" for r in ropes],
            "chunked where the layer uses RoPE and a chunk size is stated, else full",
        )
    )
    if len(ropes) != n or len(types) != n:
        raise contradiction(f"no_rope_layers has {len(ropes)}, layer_types {len(types)} entries for {n} layers")
    return tuple(_llama4_word(t, r) for t, r in zip(types, ropes, strict=True))


def _every(c: Config, n: int, every: int) -> list[int]:
    return c.derived(
        "no_rope_layers", [int((i + 1) % every != 0) for i in range(n)], f"no RoPE in every {every}th layer"
    )


def _llama4_word(kind: Any, rope: Any) -> str:
    if kind not in ("chunked_attention", "full_attention") or rope not in (0, 1):
        raise bad_value("layer_types", kind, "chunked_attention or full_attention")
    return kind + ("" if rope else "_nope")
