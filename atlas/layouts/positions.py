"""Which layers are windowed and which take positions, where the two go together; switches of older GPTs."""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import listed, n_layers, same
from atlas.layouts.windows import every_nth_full, window_everywhere
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction, not_derivable


def full_without_rope(c: Config) -> Kinds:
    """layer_types, else every n-th layer full; full layers take no positions where a window is stated (EXAONE 4)."""
    if c.opt_count("sliding_window") is not None:
        kinds = _lettered(c) if isinstance(c.opt("sliding_window_pattern"), str) else every_nth_full(c)
        return tuple(w if w == "sliding_attention" else "full_attention_nope" for w in kinds)
    words = listed(c, "layer_types", c.rules.mixers) if c.opt("layer_types") is not None else ()
    if not words or "sliding_attention" in words:
        raise contradiction(
            "no window is stated, but layers are said to be windowed or nothing says that they are full"
        )
    return words


def _lettered(c: Config) -> Kinds:
    """layer_types, else letters again and again: L a windowed layer, G a full one."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    letters = c.word("sliding_window_pattern")
    if set(letters) - {"L", "G"}:
        raise bad_value("sliding_window_pattern", letters, "letters L and G")
    kinds = {"L": "sliding_attention", "G": "full_attention"}
    return tuple(kinds[letters[i % len(letters)]] for i in range(n_layers(c)))


def rope_marks(c: Config) -> Kinds:
    """`no_rope_layers` (1: RoPE), else no RoPE in every n-th layer; windows where switched on (SmolLM3)."""
    n = n_layers(c)
    if c.opt("no_rope_layers") is None:
        every = c.count("no_rope_layer_interval")
        rule = f"no RoPE in every {every}th layer"
        c.derived("no_rope_layers", [int((i + 1) % every != 0) for i in range(n)], rule)
    marks: list[Any] = c.items("no_rope_layers")
    if len(marks) != n or any(m not in (0, 1) for m in marks):
        raise bad_value("no_rope_layers", marks, "a list of 0 and 1, one per layer")
    kinds = _smollm_kinds(c, marks)
    return tuple(k + ("" if m else "_nope") for k, m in zip(kinds, marks, strict=True))


def _smollm_kinds(c: Config, marks: list[Any]) -> Kinds:
    on = c.flag("use_sliding_window") and c.opt("sliding_window") is not None
    if not on:
        types = c.opt("layer_types")
        if isinstance(types, list) and "sliding_attention" in types:
            raise contradiction("layer_types calls layers windowed, but use_sliding_window or sliding_window says no")
        return ("full_attention",) * len(marks)
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", ("full_attention", "sliding_attention"))
    return tuple("full_attention" if m else "sliding_attention" for m in marks)


def window_alternating(c: Config) -> Kinds:
    """Where switched on: layer_types, else windows in even layers below max_window_layers (Qwen2-MoE)."""
    n, window, types = n_layers(c), c.opt("sliding_window"), c.opt("layer_types")
    if not c.flag("use_sliding_window") or window is None:
        c.derived(
            "effective_window",
            None,
            "use_sliding_window is false: a window has no effect",
        )
        return ("full_attention",) * n
    if types is not None:
        return listed(c, "layer_types", c.rules.mixers)
    most = c.size("max_window_layers")
    return tuple("sliding_attention" if not i % 2 and i < most else "full_attention" for i in range(n))


def window_listed(c: Config) -> Kinds:
    """layer_types, else every layer windowed where a window is stated (Ministral)."""
    return window_everywhere(c) if c.opt("layer_types") is None else listed(c, "layer_types", c.rules.mixers)


def attention_types(c: Config) -> Kinds:
    """`attention_types`: groups of words with how often each group stands (GPT-Neo)."""
    n, words = n_layers(c), list[Any]()
    for group in c.items("attention_types"):
        words += _group(group, n)
    if len(words) != n:
        raise contradiction(f"attention_types gives {len(words)} layers, {n} are stated")
    for word in words:
        if word not in tuple(c.rules.mixers):
            raise bad_value("attention_types", word, "one of " + ", ".join(c.rules.mixers))
    return tuple(words)


def _group(group: Any, n: int) -> list[Any]:
    match group:
        case [list() as words, int() as times] if 0 <= times <= n and len(words) <= n:  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
            return words * times  # pyright: ignore[reportUnknownVariableType]
        case _:
            raise bad_value("attention_types", group, "a list of words and how often they stand")


def mpt(c: Config) -> Kinds:
    """Every layer alike, where the switches stand as transformers' own class takes them for granted."""
    for field, wanted in (("no_bias", True), ("alibi", True), ("qk_ln", False)):
        if c.flag(field) is not wanted:
            raise not_derivable(f"{field} is not {str(wanted).lower()}: only the remote code has such weights")
    if c.opt("ffn_ratio") not in (None, 4):
        raise not_derivable("expansion_ratio is not 4: the library's class goes on with 4, the remote code does not")
    if c.word("attn_type") != "multihead_attention":
        raise not_derivable("attn_type is not multihead_attention: only the remote code reads another")
    return same(c)
