"""Layouts: which parts stand in which layer. Each gives one word per layer; a row says which part a word means."""

from __future__ import annotations

from collections.abc import Callable

from atlas.layouts import (
    bailing,
    blocks,
    borrowed,
    by_layer,
    common,
    compressed,
    experts,
    hybrids,
    inkling,
    latent,
    listed,
    loops,
    mixed,
    positions,
    shared_caches,
    stacks,
    windows,
    zamba,
)
from atlas.layouts.words import Kinds, Word, Words, kind_of
from atlas.reading.config import Config
from atlas.refusal import contradiction

Layout = Callable[[Config], Words]
Following = Callable[[Config, Words], Words]
"""A layout of feed-forward networks that goes by the mixers' words."""


def one_part(c: Config, mixers: Words) -> Kinds:
    """The layer's only part is its mixer or its feed-forward; the mixers' words already say which."""
    kinds = map(kind_of, mixers)
    return tuple(w if w in c.rules.ffns else "none" for w in kinds)


MIXER_LAYOUTS: dict[str, Layout] = {
    "same": common.same,
    "layer_types": common.layer_types,
    "window_everywhere": windows.window_everywhere,
    "window_gated": windows.window_gated,
    "window_switched": windows.window_switched,
    "window_from": windows.window_from,
    "listed_or_full": windows.listed_or_full,
    "dense_every": windows.dense_every,
    "window_period": windows.window_period,
    "value_experts": windows.value_experts,
    "attention_listed": windows.attention_listed,
    "full_listed": windows.full_listed,
    "ngram_layers": windows.ngram_layers,
    "every_nth_full": windows.every_nth_full,
    "llama4": windows.llama4,
    "every_nth_linear": hybrids.every_nth_linear,
    "pattern_letters": hybrids.pattern_letters,
    "blocks": blocks.mixers,
    "blocks_listed": blocks.heads_listed,
    "block_kinds": blocks.kinds_listed,
    "one_layer": common.one_layer,
    "granite_hybrid": mixed.granite_hybrid,
    "attention_at": mixed.attention_at,
    "attention_every": mixed.attention_every,
    "short_convolutions": mixed.short_convolutions,
    "cross_listed": mixed.cross_listed,
    "block_types": mixed.block_types,
    "full_without_rope": positions.full_without_rope,
    "rope_marks": positions.rope_marks,
    "window_listed": positions.window_listed,
    "window_alternating": positions.window_alternating,
    "attention_types": positions.attention_types,
    "mpt": positions.mpt,
    "latent_or_heads": latent.latent_or_heads,
    "indexer_types": latent.indexer_types,
    "kimi_linear": latent.kimi_linear,
    "mimo": latent.mimo,
    "mimo_own": latent.mimo_own,
    "rope_and_indexers": latent.rope_and_indexers,
    "every_group_full": latent.every_group_full,
    "groups_then_full": latent.groups_then_full,
    "fourth_indexed": latent.fourth_indexed,
    "indexed_or_window": latent.indexed_or_window,
    "attn_type_list": latent.attn_type_list,
    "every_second_linear": latent.every_second_linear,
    "compress_ratios": compressed.compress_ratios,
    **listed.MIXER_LAYOUTS,
    **loops.LOOPED,
    **shared_caches.LAYOUTS,
    **borrowed.LAYOUTS,
    **zamba.LAYOUTS,
    **by_layer.LAYOUTS,
    **inkling.LAYOUTS,
    **stacks.MIXER_LAYOUTS,
}
FFN_LAYOUTS: dict[str, Layout] = {
    "same": common.same_ffn,
    "dense_first": experts.dense_first,
    "sparse_step": experts.sparse_step,
    "interleaved_moe": experts.interleaved_moe,
    "topk_listed": experts.topk_listed,
    "no_ffn": experts.no_ffn,
    "blocks": blocks.ffns,
    "blocks_listed": blocks.widths_listed,
    "experts_every": mixed.experts_every,
    "experts_if_any": mixed.experts_if_any,
    "mlp_types": latent.mlp_types,
    "hash_first": compressed.hash_first,
    **listed.FFN_LAYOUTS,
    **shared_caches.FFN_LAYOUTS,
    **by_layer.FFN_LAYOUTS,
    **inkling.FFN_LAYOUTS,
    **stacks.FFN_LAYOUTS,
    **bailing.FFN_LAYOUTS,
}


def one_block(_: Config, mixers: Words) -> Words:
    """The same, where a word says more of its block than its kind."""
    return mixers


FOLLOWING: dict[str, Following] = {
    "one_part": one_part,
    "block_experts": one_block,
    **loops.FOLLOWING,
    **inkling.FOLLOWING,
}


def words(c: Config) -> tuple[tuple[Word, Word], ...]:
    """The words of mixer and feed-forward network, one pair per layer; raises `Refused` where their numbers differ."""
    mixers = MIXER_LAYOUTS[c.rules.layout](c)
    follows = FOLLOWING.get(c.rules.ffn_layout)
    ffns = FFN_LAYOUTS[c.rules.ffn_layout](c) if follows is None else follows(c, mixers)
    if len(mixers) != len(ffns):
        raise contradiction(f"{len(mixers)} mixers for {len(ffns)} feed-forward layers")
    return tuple(zip(mixers, ffns, strict=True))
