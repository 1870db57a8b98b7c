"""Layers that read an earlier layer's cache, with two geometries of attention and widths by layer (Gemma 3n and 4)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from atlas.layouts.common import listed, n_layers
from atlas.layouts.windows import every_nth_full
from atlas.layouts.words import Cached, Kinds, Wide, Words
from atlas.reading.config import Config
from atlas.reading.values import MAX_COUNT, entries, mapping
from atlas.refusal import bad_value, contradiction, not_derivable

MOST_DIGITS = 6


Sources = tuple[int | None, ...]
Shapes = tuple[tuple[int, int], ...]


def sources(c: Config, types: Kinds) -> Sources:
    """The layer whose cache each reads: the last `num_kv_shared_layers` read the last of their type before them."""
    n, shared = len(types), c.size("num_kv_shared_layers")
    if not shared:
        return (None,) * n
    first = n - shared
    if first <= 0:
        raise contradiction(f"{shared} of {n} layers share a cache, so that none makes one")
    last = {kind: i for i, kind in enumerate(types[:first])}
    missing = next((kind for kind in types[first:] if kind not in last), None)
    if missing is not None:
        raise contradiction(f"layers share a cache of {missing}, but no layer before {first} is of that type")
    c.derived("kv_shared_from", sorted(last.values()), f"layers {first} to {n - 1} read the last of their type")
    return (None,) * first + tuple(last[kind] for kind in types[first:])


@lru_cache(maxsize=1024)
def _words(types: Kinds, found: Sources, shapes: Shapes) -> Words:
    """What differs from layer to layer; cached, as configs repeat each other."""
    return tuple(Cached(t, s, width, kv) for t, s, (width, kv) in zip(types, found, shapes, strict=True))


def gemma3n(c: Config) -> Words:
    """Windowed and full layers of one geometry; the last ones share."""
    types = every_nth_full(c)
    return tuple(map(Cached, types, sources(c, types)))


def gemma4(c: Config) -> Words:
    """Windowed and full layers of two geometries.

    The last layer is full whatever the list says; the last ones share.
    """
    types = listed(c, "layer_types", c.rules.mixers) if c.opt("layer_types") is not None else every_nth_full(c)
    if types[-1] != "full_attention":
        c.derived("layer_types[-1]", "full_attention", "the class makes the last layer full")
        types = (*types[:-1], "full_attention")
    return _words(types, sources(c, types), _geometry(c, types))


def gemma4_drafter(c: Config) -> Words:
    """Layers of two geometries that all read the target's caches; a drafter with a cache of its own is refused."""
    n = n_layers(c)
    if c.opt("num_kv_shared_layers") not in (None, 0, n):
        raise not_derivable(
            "num_kv_shared_layers is not the depth: which layers then read the target's caches is not described"
        )
    c.derived("num_kv_shared_layers", 0, "every layer reads the caches of the model it drafts for")
    types = listed(c, "layer_types", c.rules.mixers) if c.opt("layer_types") is not None else every_nth_full(c)
    types = (*types[:-1], "full_attention")
    return _words(types, (0,) * n, _geometry(c, types))


def _geometry(c: Config, types: Kinds) -> Shapes:
    """Head width and KV heads of each layer: one pair for windowed layers, one for full ones, or stated by layer."""
    width, kv = c.count("head_dim"), c.count("num_key_value_heads")
    by_layer = c.opt("per_layer_config")
    if by_layer is not None:
        return _by_layer(by_layer, len(types), width, kv)
    wide, few = c.count("global_head_dim"), c.opt_count("num_global_key_value_heads")
    if few is not None and not c.flag("attention_k_eq_v"):
        few = c.derived(
            "num_global_key_value_heads", None, "attention_k_eq_v is false: the stated number has no effect"
        )
    full, windowed = (wide, few or kv), (width, kv)
    return tuple(full if t == "full_attention" else windowed for t in types)


def _by_layer(stated: Any, n: int, width: int, kv: int) -> Shapes:
    found = [(width, kv)] * n
    for key, value in mapping("per_layer_config", stated).items():
        if not key.isdecimal() or len(key) > MOST_DIGITS or int(key) >= n:
            raise bad_value("per_layer_config", key, f"a layer index below {n}")
        own = mapping("per_layer_config", value)
        pair = own.get("head_dim", width), own.get("num_key_value_heads", kv)
        if not all(type(x) is int and 0 < x <= MAX_COUNT for x in pair):
            raise bad_value("per_layer_config", own, "positive numbers under head_dim and num_key_value_heads")
        found[int(key)] = pair
    return tuple(found)


def widths(c: Config) -> Words:
    """One network per layer: listed widths, or one width, doubled where layers share a cache and the config says so."""
    n, stated = n_layers(c), c.need("intermediate_size")
    if isinstance(stated, list):
        each = entries("intermediate_size", stated)
        if len(each) != n or not all(type(w) is int and 0 < w <= MAX_COUNT for w in each):
            raise bad_value("intermediate_size", each, f"a width, or one for each of the {n} layers")
        return tuple(Wide("mlp", w) for w in each)
    width, first = c.count("intermediate_size"), n - c.size("num_kv_shared_layers")
    if not c.flag("use_double_wide_mlp"):
        return (Wide("mlp", width),) * n
    c.derived("intermediate_size[shared]", 2 * width, f"use_double_wide_mlp: twice as wide from layer {first}")
    return tuple(Wide("mlp", width if i < first else 2 * width) for i in range(n))


LAYOUTS = {"gemma3n": gemma3n, "gemma4": gemma4, "gemma4_drafter": gemma4_drafter}
FFN_LAYOUTS = {"widths": widths}
