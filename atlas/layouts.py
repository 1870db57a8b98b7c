"""Layouts: which parts stand in which layer. Each gives one word per layer; a row says which part a word means.

Where a config states a gate that switches a window on or off, the effective value is what the layout returns, and both the stated
and the effective one are noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atlas.config import Config
from atlas.refusal import bad_value, contradiction

Words = tuple[str, ...]
MAX_LAYERS = 4096


def n_layers(c: Config) -> int:
    """Layers of the stack."""
    n = c.count("num_hidden_layers")
    if n > MAX_LAYERS:
        raise bad_value("num_hidden_layers", n, f"at most {MAX_LAYERS}")
    return n


def same(c: Config) -> Words:
    """Every layer alike: the row's only word."""
    word = next(iter(c.rules.mixers))
    return (word,) * n_layers(c)


def same_ffn(c: Config) -> Words:
    """Every layer alike: the row's only word."""
    word = next(iter(c.rules.ffns))
    return (word,) * n_layers(c)


def listed(c: Config, field: str, known: Any) -> Words:
    """A list in the config with one known word per layer."""
    words = tuple(c.items(field))
    n = n_layers(c)
    if len(words) != n:
        raise contradiction(f"{field} has {len(words)} entries for {n} layers")
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise bad_value(field, word, "one of " + ", ".join(sorted(known)))
    return words


def layer_types(c: Config) -> Words:
    """The config's own list of layer types."""
    return listed(c, "layer_types", c.rules.mixers)


def window_everywhere(c: Config) -> Words:
    """Every layer windowed where a window is stated, every layer full where it is null (Mistral, Mixtral, Phi-3)."""
    window = c.opt_count("sliding_window")
    word = "full_attention" if window is None else "sliding_attention"
    return (word,) * n_layers(c)


def window_gated(c: Config) -> Words:
    """A window that counts only where `use_sliding_window` is true, and then from layer `max_window_layers` on (Qwen2, Qwen3)."""
    n = n_layers(c)
    if not c.flag("use_sliding_window") or c.opt_count("sliding_window") is None:
        c.derived("effective_window", None, "use_sliding_window is false or no window is stated: a stated window has no effect")
        return ("full_attention",) * n
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    first = min(c.size("max_window_layers"), n)
    c.derived("effective_window", c.count("sliding_window"), f"use_sliding_window: layers {first} to {n - 1}")
    return ("full_attention",) * first + ("sliding_attention",) * (n - first)


def window_switched(c: Config) -> Words:
    """A window in every layer where `use_sliding_window` is true, in none where not (Qwen3-MoE)."""
    on = c.flag("use_sliding_window") and c.opt_count("sliding_window") is not None
    if not on:
        c.derived("effective_window", None, "use_sliding_window is false or no window is stated: a stated window has no effect")
    return ("sliding_attention" if on else "full_attention",) * n_layers(c)


def every_nth_full(c: Config) -> Words:
    """The config's layer_types; where it has none, every `sliding_window_pattern`-th layer is full and the others windowed."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, every = n_layers(c), c.count("sliding_window_pattern")
    c.derived("layer_types", f"every {every}th full", "layer i is full where (i + 1) is a multiple of sliding_window_pattern")
    return tuple("sliding_attention" if (i + 1) % every else "full_attention" for i in range(n))


def every_nth_linear(c: Config) -> Words:
    """The config's layer_types; where it has none, every `full_attention_interval`-th layer is full and the others linear."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, every = n_layers(c), c.count("full_attention_interval")
    c.derived("layer_types", f"every {every}th full", "layer i is full where (i + 1) is a multiple of full_attention_interval")
    return tuple("linear_attention" if (i + 1) % every else "full_attention" for i in range(n))


def llama4(c: Config) -> Words:
    """Chunked attention with RoPE, and full attention without it: layer_types and no_rope_layers, else every 4th layer full.

    An entry of `no_rope_layers` is 1 where RoPE is used. An empty list counts as none, as the class treats it.
    """
    n = n_layers(c)
    ropes = c.opt("no_rope_layers") or _every(c, n, c.count("no_rope_layer_interval"))
    chunked = c.opt_count("attention_chunk_size") is not None
    types = c.opt("layer_types") or c.derived(
        "layer_types",
        ["chunked_attention" if r and chunked else "full_attention" for r in ropes],
        "chunked where the layer uses RoPE and a chunk size is stated, else full",
    )
    if len(ropes) != n or len(types) != n:
        raise contradiction(f"no_rope_layers has {len(ropes)}, layer_types {len(types)} entries for {n} layers")
    return tuple(_llama4_word(t, r) for t, r in zip(types, ropes, strict=True))


def _every(c: Config, n: int, every: int) -> list[int]:
    return c.derived("no_rope_layers", [int((i + 1) % every != 0) for i in range(n)], f"no RoPE in every {every}th layer")


def _llama4_word(kind: Any, rope: Any) -> str:
    if kind not in ("chunked_attention", "full_attention") or rope not in (0, 1):
        raise bad_value("layer_types", kind, "chunked_attention or full_attention")
    return kind + ("" if rope else "_nope")


BLOCKS = {
    "M": "mamba", "*": "attention", "-": "mlp", "E": "moe",
    "mamba": "mamba", "attention": "attention", "mlp": "mlp", "moe": "moe",
    "linear_attention": "mamba", "full_attention": "attention",
}  # fmt: skip


def pattern_letters(c: Config) -> Words:
    """One part per layer (Nemotron-H), listed or as letters: M is Mamba-2, * attention, - an MLP, E experts.

    The list decides the depth, as in the class; a stated num_hidden_layers must agree where the list is only the class default.
    """
    pattern = c.opt("hybrid_override_pattern") if c.raw.get("layers_block_type") is None else None
    blocks = c.need("layers_block_type") if pattern is None else pattern
    if not isinstance(blocks, list | str) or not 0 < len(blocks) <= MAX_LAYERS:  # pyright: ignore[reportUnknownArgumentType]
        raise bad_value("hybrid_override_pattern", blocks, "one letter or word per layer")
    stated = c.opt_count("num_hidden_layers")
    if stated not in (None, len(blocks)) and pattern is None and c.raw.get("layers_block_type") is None:  # pyright: ignore[reportUnknownArgumentType]
        raise contradiction(f"{stated} layers are stated, but no pattern says what stands in them")
    unknown = [b for b in blocks if b not in BLOCKS]  # pyright: ignore[reportUnknownVariableType]
    if unknown:
        raise bad_value("hybrid_override_pattern", unknown[0], "one of " + ", ".join(BLOCKS))
    return tuple(BLOCKS[b] for b in blocks)  # pyright: ignore[reportUnknownVariableType]


def no_ffn(c: Config) -> Words:
    """No feed-forward network in any layer (Mamba)."""
    return ("none",) * n_layers(c)


def dense_first(c: Config) -> Words:
    """Dense feed-forward in the first `first_k_dense_replace` layers, experts after (DeepSeek)."""
    n = n_layers(c)
    first = min(c.size("first_k_dense_replace"), n)
    return ("dense",) * first + ("moe",) * (n - first)


def sparse_step(c: Config) -> Words:
    """Experts in every `decoder_sparse_step`-th layer that is not in `mlp_only_layers` (Qwen-MoE)."""
    n, step = n_layers(c), c.count("decoder_sparse_step")
    dense = c.opt("mlp_only_layers") or []
    if not isinstance(dense, list) or not all(type(i) is int for i in dense):  # pyright: ignore[reportUnknownVariableType]
        raise bad_value("mlp_only_layers", dense, "a list of layer indices")
    return tuple("dense" if i in dense or (i + 1) % step else "moe" for i in range(n))


def interleaved_moe(c: Config) -> Words:
    """Experts in the layers `moe_layers` lists, else in every `interleave_moe_layer_step`-th (Llama 4)."""
    n = n_layers(c)
    layers = c.opt("moe_layers")
    if layers is None:
        step = c.count("interleave_moe_layer_step")
        layers = c.derived("moe_layers", list(range(step - 1, n, step)), f"every {step}th layer, from layer {step - 1}")
    if not isinstance(layers, list):
        raise bad_value("moe_layers", layers, "a list of layer indices")
    return tuple("moe" if i in layers else "dense" for i in range(n))


def one_part(c: Config) -> Words:
    """The layer's only part is its mixer or its feed-forward; the mixer layout already says which."""
    return tuple(w if w in c.rules.ffns else "none" for w in MIXER_LAYOUTS[c.rules.layout](c))


MIXER_LAYOUTS: dict[str, Callable[[Config], Words]] = {
    f.__name__: f
    for f in (same, layer_types, window_everywhere, window_gated, window_switched, every_nth_full, every_nth_linear, llama4, pattern_letters)
}
FFN_LAYOUTS: dict[str, Callable[[Config], Words]] = {
    "same": same_ffn, **{f.__name__: f for f in (dense_first, sparse_step, interleaved_moe, one_part, no_ffn)}
}
