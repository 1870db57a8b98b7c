"""Which layers look back over a window, a chunk, or everything.

Where a config states a gate that switches a window on or off, the effective value is what the layout returns, and
both the stated and the effective one are noted.
"""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import every_nth, listed, n_layers
from atlas.layouts.experts import sparse_step
from atlas.layouts.mixed import indices
from atlas.layouts.words import Kinds, Numbered, Words
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


def window_from(c: Config) -> Kinds:
    """Layers from `max_window_layers` on windowed where a window is stated, whatever other switches say (dots.llm1)."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, first = n_layers(c), c.size("max_window_layers")
    if c.opt_count("sliding_window") is None or first >= n:
        return ("full_attention",) * n
    c.derived("layer_types", f"windowed from layer {first}", "layers from max_window_layers on")
    return ("full_attention",) * first + ("sliding_attention",) * (n - first)


def listed_or_full(c: Config) -> Kinds:
    """The config's layer_types, else every layer full; a kind whose own rope_parameters are null takes no positions."""
    n, table = n_layers(c), c.opt("rope_parameters")
    kinds = ("full_attention",) * n if c.opt("layer_types") is None else listed(c, "layer_types", c.rules.mixers)
    without = {k for k in kinds if isinstance(table, dict) and k in table and table[k] is None}
    return tuple(f"{k}_nope" if k in without else k for k in kinds)


def window_period(c: Config) -> Kinds:
    """Every `sliding_window_period`-th layer full from the first on, where the pattern interleaves; or all windowed.

    A token sees itself and `sliding_window` before it (Motif-3).
    """
    n, stated = n_layers(c), c.opt_count("sliding_window")
    if not c.opt("use_sliding_window") or stated is None:
        return ("full_attention",) * n
    c.derived("window", stated + 1, f"sliding_window + 1 = {stated} + 1: the current token counts too")
    pattern = c.word("sliding_window_pattern")
    if pattern not in ("all", "interleave"):
        raise bad_value("sliding_window_pattern", pattern, "all or interleave")
    period = c.count("sliding_window_period") if pattern == "interleave" else n + 1
    return tuple("sliding_attention" if i % period or pattern == "all" else "full_attention" for i in range(n))


def value_experts(c: Config) -> Kinds:
    """A window in every layer where it is switched on; value experts in the sparse layers where there are any."""
    window = c.flag("use_sliding_window") and c.opt("sliding_window") not in (None, 0)
    kind = "sliding_attention" if window else "full_attention"
    mova = "_mova" if c.size("value_experts") else ""
    return tuple(kind + mova if w == "moe" else kind for w in sparse_step(c))


def attention_listed(c: Config) -> Kinds:
    """layer_types, else the listed layers full, else one full layer before every `full_attention_gap` linear ones.

    `rotates` says whether the full ones take positions (Solar Open 2).
    """
    c.derived("position", "rope" if c.flag("rotates") else "nope", f"use_rope is {str(c.flag('rotates')).lower()}")
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, at = n_layers(c), c.opt("full_attention_layers")
    every = range(0, n, c.count("full_attention_gap") + 1)
    full = frozenset(every) if at is None else indices(c, "full_attention_layers")
    if not full <= set(range(n)):
        raise contradiction(f"full attention is listed for layers beyond {n}")
    return tuple("full_attention" if i in full else "linear_attention" for i in range(n))


def full_listed(c: Config) -> Kinds:
    """Full attention in `full_attention_layers`, linear elsewhere; `layer_types` says it where they are not stated."""
    n = n_layers(c)
    if c.opt("full_attention_layers") is None:
        return listed(c, "layer_types", c.rules.mixers)
    full = indices(c, "full_attention_layers")
    if not full <= set(range(n)):
        raise contradiction(f"full attention is listed for layers beyond {n}")
    kinds = tuple("full_attention" if i in full else "linear_attention" for i in range(n))
    if c.opt("layer_types") is not None and listed(c, "layer_types", c.rules.mixers) != kinds:
        raise contradiction("full_attention_layers and layer_types name other layers")
    return kinds


def ngram_layers(c: Config) -> Words:
    """layer_types, else every n-th layer indexed; linear ones have an n-gram table where ple_layer_ids says so."""
    n = n_layers(c)
    kinds = every_nth(c, "full_attention_interval", "linear_attention")
    at = sorted(indices(c, "ple_layer_ids"))
    if any(not 0 < i <= n or kinds[i - 1] != "linear_attention" for i in at):
        raise contradiction("ple_layer_ids names a layer that is not linear, or none of the stack")
    return tuple(Numbered("linear_with_ngrams", at.index(i)) if i in at else k for i, k in enumerate(kinds, 1))


def dense_every(c: Config) -> Kinds:
    """Every `dense_attention_every_n_layers`-th layer over all positions, the others over some (Phi-3-small)."""
    every = c.count("dense_attention_every_n_layers")
    return tuple("strided_attention" if (i + 1) % every else "full_attention" for i in range(n_layers(c)))
