"""Layers of the DeepSeek line and its relatives: latents, shared indexers, delta rules, dense layers first."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from atlas.layouts.common import listed, n_layers
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.reading.values import among, entries
from atlas.refusal import bad_value, contradiction, not_derivable


def mlp_types(c: Config) -> Kinds:
    """The config's mlp_layer_types.

    Where it has none, the first `first_k_dense_replace` layers dense and the others sparse.

    A list of zeros and ones under moe_layer_freq says the same, 1 for experts (MiMo).
    """
    if c.opt("mlp_layer_types") is not None:
        return listed(c, "mlp_layer_types", c.rules.ffns)
    n, freq = n_layers(c), c.opt("moe_layer_freq")
    if isinstance(freq, list):
        return flags("moe_layer_freq", freq, n, ("dense", "sparse"))
    if freq not in (None, 1):
        raise bad_value("moe_layer_freq", freq, "1 or a list with one 0 or 1 per layer")
    first = min(c.size("first_k_dense_replace"), n)
    c.derived(
        "mlp_layer_types", f"{first} dense, {n - first} sparse", "the first first_k_dense_replace layers are dense"
    )
    return ("dense",) * first + ("sparse",) * (n - first)


def flags(field: str, stated: Any, n: int, words: tuple[str, str]) -> Kinds:
    """One word per 0 or 1."""
    marks = entries(field, stated)
    if len(marks) != n:
        raise contradiction(f"{field} has {len(marks)} entries for {n} layers")
    among(field, marks, (0, 1))
    return tuple(map(dict(enumerate(words)).__getitem__, marks))


def latent_or_heads(c: Config) -> Kinds:
    """Latent attention where a latent rank is stated and `use_mla` is not false.

    Else plain heads (DeepSeek-VL2 tiny).
    """
    rank, latent = c.opt("kv_lora_rank"), c.opt("use_mla") is not False
    if latent and rank is None:
        raise contradiction("latent attention, but kv_lora_rank is null")
    c.derived(
        "attention",
        "mla" if latent else "heads",
        "use_mla is false: no latent" if not latent else f"kv_lora_rank is {rank}",
    )
    return ("mla" if latent else "heads",) * n_layers(c)


INDEXERS = {"F": "full", "S": "shared", "full": "full", "shared": "shared"}


@lru_cache(maxsize=256)
def _by_period(n: int, every: int, offset: int) -> Kinds:
    return tuple("full" if max(i - offset + 1, 0) % every == 0 else "shared" for i in range(n))


def indexer_types(c: Config) -> Kinds:
    """Which layers own an indexer and which take an earlier layer's choice (GLM-5): listed, or by period and offset."""
    n = n_layers(c)
    stated = c.opt("indexer_types")
    stated = c.opt("index_topk_pattern") if stated is None else stated
    if stated is None:
        every, offset = max(c.size("index_topk_freq"), 1), c.size("index_skip_topk_offset")
        words = _by_period(n, every, offset)
        c.derived(
            "indexer_types",
            f"{words.count('full')} of {n} own",
            f"own where max(i - {offset} + 1, 0) is a multiple of {every}",
        )
    else:
        words = _indexers(stated, n)
    if words[0] == "shared" and "linear_attention" not in c.rules.mixers:
        raise contradiction("the first layer shares an indexer, but no layer comes before it")
    return words


def _indexers(stated: Any, n: int) -> Kinds:
    words = list(stated) if isinstance(stated, str) else entries("indexer_types", stated)
    if len(words) != n:
        raise contradiction(f"indexer_types has {len(words)} entries for {n} layers")
    among("indexer_types", words, INDEXERS)
    return tuple(INDEXERS[w] for w in words)


def kimi_linear(c: Config) -> Kinds:
    """Delta-rule and full layers: listed by kind, or in two lists that count from 1; else layers 4, 8, 12, ... full."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, full, linear = n_layers(c), c.opt("full_attn_layers"), c.opt("kda_layers")
    if full is None or linear is None:
        c.derived("layer_types", "every 4th full", "layer i > 0 is full where i is a multiple of 4, counted from 0")
        return tuple("full_attention" if i and i % 4 == 0 else "linear_attention" for i in range(n))
    full = entries("full_attn_layers", full)
    both = [*full, *entries("kda_layers", linear)]
    if sorted(both, key=str) != sorted(range(1, n + 1), key=str):
        raise contradiction(f"full_attn_layers and kda_layers do not name each of the layers 1 to {n} once")
    return tuple("full_attention" if i in full else "linear_attention" for i in range(1, n + 1))


def mimo(c: Config) -> Kinds:
    """Full and windowed layers: listed, else by hybrid_layer_pattern (1: windowed), else full at 0 and every 6th."""
    _mimo_alike(c)
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, pattern = n_layers(c), c.opt("hybrid_layer_pattern")
    if pattern is None:
        c.derived(
            "layer_types", "layer 0 and every 6th full", "layer i is full where i is 0 or i + 1 is a multiple of 6"
        )
        return tuple("sliding_attention" if i and (i + 1) % 6 else "full_attention" for i in range(n))
    return flags("hybrid_layer_pattern", pattern, n, ("full_attention", "sliding_attention"))


def mimo_own(c: Config) -> Kinds:
    """Full and windowed layers by hybrid_layer_pattern, else by hybrid_block_size, else full at 0, every 6th and last.

    Windowed layers have heads and widths of their own; those that are not stated are the full ones' (MiMo-V2.5).
    """
    for field in ("num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim"):
        if c.opt(f"swa_{field}") is None:
            c.derived(f"swa_{field}", c.count(field), f"{field}, as no swa_{field} is stated")
    n, pattern, block = n_layers(c), c.opt("hybrid_layer_pattern"), c.opt_count("hybrid_block_size")
    if pattern is not None:
        return flags("hybrid_layer_pattern", pattern, n, ("full_attention", "sliding_attention"))
    if block is not None:
        return tuple("sliding_attention" if (i + 1) % block else "full_attention" for i in range(n))
    c.derived("hybrid_layer_pattern", "layers 0, 6, 12, ... and the last full", "no pattern is stated")
    return tuple("sliding_attention" if i % 6 and i < n - 1 else "full_attention" for i in range(n))


def _mimo_alike(c: Config) -> None:
    """Windowed layers have heads like the full ones: the library's class reads nothing else, the remote code would."""
    for field in ("num_attention_heads", "head_dim", "v_head_dim"):
        if c.opt(f"swa_{field}") not in (None, c.opt(field)):
            raise not_derivable(f"swa_{field} is not {field}: only the remote code reads it")
    if c.opt("swa_num_key_value_heads") not in (None, 2 * c.count("num_key_value_heads")):
        raise not_derivable("swa_num_key_value_heads is not twice num_key_value_heads: only the remote code reads it")


def every_second_linear(c: Config) -> Kinds:
    """The config's layer_types; where it has none, full and linear in turn, full first (MiniMax)."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    c.derived("layer_types", "full and linear in turn", "layers 0, 2, 4, ... are full")
    return tuple("linear_attention" if i % 2 else "full_attention" for i in range(n_layers(c)))


def attn_type_list(c: Config) -> Kinds:
    """One number per layer: 1 for softmax attention, 0 for lightning attention (MiniMax-Text-01 under its own code)."""
    return flags("attn_type_list", c.items("attn_type_list"), n_layers(c), ("linear_attention", "full_attention"))


def every_group_full(c: Config) -> Kinds:
    """The config's layer_types, else the last of every `layer_group_size` layers full and the others linear (Ling)."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, group = n_layers(c), c.count("layer_group_size")
    c.derived("layer_types", f"every {group}th full", "layer i is full where i + 1 is a multiple of layer_group_size")
    return tuple("linear_attention" if (i + 1) % group else "full_attention" for i in range(n))


def groups_then_full(c: Config) -> Kinds:
    """The last of every `layer_group_size` layers full, and all behind the last whole group (Ling 3.0's own class)."""
    n, group = n_layers(c), c.count("layer_group_size")
    whole = n // group * group
    return tuple("full_attention" if (i + 1) % group == 0 or i >= whole else "linear_attention" for i in range(n))


def fourth_indexed(c: Config) -> Kinds:
    """Delta-rule layers and layers behind an indexer, own or shared (GLM-5.3-Flash): listed, else every 4th indexed."""
    n, stated = n_layers(c), c.opt("layer_types")
    if stated is None:
        types: Kinds = tuple("linear_attention" if i % 4 != 3 else "indexed_attention" for i in range(n))
        c.derived("layer_types", "every 4th indexed", "layer i is indexed where i + 1 is a multiple of 4")
    else:
        types = listed(
            c, "layer_types", {"linear_attention", "indexed_attention", "full_attention", "deepseek_sparse_attention"}
        )
    owners = indexer_types(c)
    words = tuple("linear_attention" if t == "linear_attention" else o for t, o in zip(types, owners, strict=True))
    if next((w for w in words if w != "linear_attention"), "full") == "shared":
        raise contradiction("the first indexed layer shares an indexer, but no layer before it has one")
    return words


def indexed_or_window(c: Config) -> Kinds:
    """Indexed and windowed layers (dots3.note): listed, else indexed in layers 0, 1, 5, 9, ..., the others windowed.

    `use_dsa` turns the indexer off, `use_sliding_window` the window.
    """
    n, stated = n_layers(c), c.opt("layer_types")
    indexed = "full_attention" if c.opt("use_dsa") is False else "indexed_attention"
    if stated is None:
        everywhere = c.opt("use_sliding_window") is False
        c.derived("layer_types", "layers 0 and 1 and every 4th from 5 indexed", "no list is stated")
        return tuple(indexed if everywhere or i < 2 or i % 4 == 1 else "sliding_attention" for i in range(n))
    words = listed(c, "layer_types", c.rules.mixers)
    if c.opt("use_dsa") is None:
        return words
    return tuple(w if w == "sliding_attention" else indexed for w in words)


@lru_cache(maxsize=256)
def _all_but(n: int, every: int) -> tuple[int, ...]:
    return tuple(int((i + 1) % every != 0) for i in range(n))


def rope_and_indexers(c: Config) -> Kinds:
    """Whether a layer uses positions, and whether it has an indexer of its own (Mistral Large 4)."""
    n, ropes, sources = n_layers(c), c.opt("no_rope_layers"), c.opt("kv_source_layers")
    if sources is not None and sources != list(range(n)):
        raise not_derivable("kv_source_layers makes layers share a latent, and what they then store is not known here")
    if ropes is None:
        every = c.count("no_rope_layer_interval")
        ropes = c.derived("no_rope_layers", list(_all_but(n, every)), f"no positions in every {every}th layer")
    kinds = flags("no_rope_layers", ropes, n, ("nope", "rope"))
    return tuple(map("_".join, zip(kinds, indexer_types(c), strict=True)))
