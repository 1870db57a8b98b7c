"""Which layers hold attention where another mixer is the rule: by period, by a list of indices, by a list of words."""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import n_layers
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction

WORDS = {
    "mamba": "mamba",
    "linear_attention": "mamba",
    "conv": "conv",
    "attention": "attention",
    "full_attention": "attention",
}
"""Older and newer names of one layer type."""


def listed_as(c: Config, field: str) -> Kinds:
    """The config's own list, in older or newer words, one per layer."""
    stated: list[Any] = c.items(field)
    n = n_layers(c)
    if len(stated) != n:
        raise contradiction(f"{field} has {len(stated)} entries for {n} layers")
    words = tuple(WORDS.get(w, "") if isinstance(w, str) else "" for w in stated)
    wrong = next((s for s, w in zip(stated, words, strict=True) if w not in c.rules.mixers), None)
    if wrong is not None or "" in words:
        raise bad_value(field, wrong, "one of " + ", ".join(WORDS))
    return words


def indices(c: Config, field: str) -> frozenset[int]:
    """A list of layer indices; empty where it is null."""
    stated: list[Any] = [] if c.opt(field) is None else c.items(field)
    if any(type(i) is not int for i in stated):
        raise bad_value(field, stated, "a list of layer indices")
    return frozenset(stated)


def granite_hybrid(c: Config) -> Kinds:
    """layer_types, else Mamba-2 everywhere."""
    return ("mamba",) * n_layers(c) if c.opt("layer_types") is None else listed_as(c, "layer_types")


def attention_at(c: Config) -> Kinds:
    """Attention in the layers that `attn_layer_indices` lists, Mamba-2 in the others (Bamba)."""
    if c.opt("layer_types") is not None:
        return listed_as(c, "layer_types")
    at = indices(c, "attn_layer_indices")
    return tuple("attention" if i in at else "mamba" for i in range(n_layers(c)))


def attention_every(c: Config) -> Kinds:
    """Attention in every `attn_layer_period`-th layer, from layer `attn_layer_offset` (Jamba)."""
    period, offset = c.count("attn_layer_period"), c.size("attn_layer_offset")
    return tuple("attention" if i % period == offset else "mamba" for i in range(n_layers(c)))


def short_convolutions(c: Config) -> Kinds:
    """layer_types, else attention where `full_attn_idxs` says (everywhere, where null), convolutions elsewhere."""
    if c.opt("layer_types") is not None:
        return listed_as(c, "layer_types")
    n = n_layers(c)
    at = range(n) if c.opt("full_attn_idxs") is None else indices(c, "full_attn_idxs")
    return tuple("attention" if i in at else "conv" for i in range(n))


def cross_listed(c: Config) -> Kinds:
    """Layers that attend to the image in place of the text where `cross_attention_layers` says (Llama 3.2 Vision)."""
    at = indices(c, "cross_attention_layers")
    return tuple("cross_attention" if i in at else "full_attention" for i in range(n_layers(c)))


def block_types(c: Config) -> Kinds:
    """The words of `block_types` again and again until every layer has one (RecurrentGemma)."""
    unit: list[Any] = c.items("block_types")
    if not unit or any(not isinstance(w, str) or w not in c.rules.mixers for w in unit):
        raise bad_value("block_types", unit, "a list of " + " and ".join(c.rules.mixers))
    return tuple(unit[i % len(unit)] for i in range(n_layers(c)))


def experts_every(c: Config) -> Kinds:
    """Experts in every `expert_layer_period`-th layer, from `expert_layer_offset`, if there are several (Jamba)."""
    period, offset, many = c.count("expert_layer_period"), c.size("expert_layer_offset"), c.count("num_experts") > 1
    return tuple("moe" if many and i % period == offset else "dense" for i in range(n_layers(c)))


def experts_if_any(c: Config) -> Kinds:
    """Experts in every layer; the shared network alone where there are none (Granite 4)."""
    return ("moe" if c.size("num_experts") else "shared",) * n_layers(c)
