"""Layers that a list of blocks describes, one object per layer (nemotron-nas)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.layouts.common import n_layers
from atlas.layouts.words import Grouped, Wide, Word, Words
from atlas.reading.config import Config
from atlas.reading.values import finite, mapping
from atlas.refusal import bad_value, contradiction, not_derivable

WIDTH_UNIT = 256


def _half(c: Config, key: str) -> list[Mapping[str, Any]]:
    """The attention halves or the feed-forward halves of all blocks."""
    blocks, n = c.items("block_configs"), n_layers(c)
    if len(blocks) != n:
        raise contradiction(f"block_configs has {len(blocks)} entries for {n} layers")
    return [mapping(f"block_configs.{key}", mapping("block_configs", b).get(key)) for b in blocks]


def _switch(block: Mapping[str, Any], key: str) -> bool:
    value = block.get(key)
    if type(value) is not bool:
        raise bad_value(f"block_configs.{key}", value, "true or false")
    return value


def _known(block: Mapping[str, Any], keys: frozenset[str]) -> None:
    """A block says nothing else: anything stated beyond these keys is refused, as its weights are not known."""
    other = next((k for k, x in block.items() if k not in keys and x not in (None, False)), None)
    if other is not None:
        raise not_derivable(f"a block of block_configs states {other[:60]!a}, and what it holds then is not known")


def mixers(c: Config) -> Words:
    """Attention with its group, a matrix in its place, or nothing."""
    return tuple(_mixer(b) for b in _half(c, "attention"))


def _mixer(block: Mapping[str, Any]) -> Word:
    _known(block, frozenset({"n_heads_in_group", "no_op", "replace_with_linear"}))
    if _switch(block, "no_op"):
        return "none"
    if _switch(block, "replace_with_linear"):
        return "linear"
    group = block.get("n_heads_in_group")
    if type(group) is not int or not 0 < group <= 4096:
        raise bad_value("block_configs.attention.n_heads_in_group", group, "a positive whole number")
    return Grouped("attention", group)


def ffns(c: Config) -> Words:
    """A gated network with its width, a matrix in its place, or nothing."""
    d = c.count("hidden_size")
    return tuple(_ffn(b, d) for b in _half(c, "ffn"))


def _ffn(block: Mapping[str, Any], d: int) -> Word:
    _known(block, frozenset({"ffn_mult", "intermediate_size", "no_op", "replace_with_linear"}))
    if _switch(block, "no_op"):
        return "none"
    if _switch(block, "replace_with_linear"):
        return "linear"
    return Wide("mlp", _width(block, d))


def _width(block: Mapping[str, Any], d: int) -> int:
    """Two thirds of ffn_mult x hidden_size, rounded up to a multiple of 256; or the width stated where no ratio is."""
    ratio, stated = block.get("ffn_mult"), block.get("intermediate_size")
    if ratio is None and type(stated) is int and 0 < stated <= 10_000_000:
        return stated
    if ratio is None or stated is not None:
        raise bad_value("block_configs.ffn.ffn_mult", ratio, "a ratio, or a width in its place")
    mult = finite("block_configs.ffn.ffn_mult", ratio)
    if not 0 < mult <= 1000:
        raise bad_value("block_configs.ffn.ffn_mult", ratio, "a positive ratio")
    width = int(2 * mult * d / 3)
    return -(-width // WIDTH_UNIT) * WIDTH_UNIT
