"""Layers that a list of blocks describes, one object per layer (nemotron-nas)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.layouts.common import n_layers
from atlas.layouts.hybrids import pattern_letters
from atlas.layouts.words import Experts, Grouped, KvHeads, Wide, Word, Words
from atlas.reading.config import Config
from atlas.reading.values import finite, mapping, whole
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


def heads_listed(c: Config) -> Words:
    """Attention with its own KV heads, or nothing; the class that the blocks are of is one of the family's."""
    base = c.word("base_architecture")
    if base not in c.rules.class_names or not base.endswith("ForCausalLM"):
        raise not_derivable(f"base_architecture is {base[:60]!a}, and what such blocks are of is not described")
    return tuple(_heads(b, c.count("num_key_value_heads")) for b in _half(c, "attention"))


def _heads(block: Mapping[str, Any], usual: int) -> Word:
    _known(block, frozenset({"num_key_value_heads", "no_op"}))
    if _off(block):
        return "none"
    heads = block.get("num_key_value_heads", usual)
    return KvHeads("attention", whole("block_configs.attention.num_key_value_heads", heads))


def widths_listed(c: Config) -> Words:
    """A gated network with its own width, or nothing."""
    return tuple(_listed_width(b) for b in _half(c, "ffn"))


def _listed_width(block: Mapping[str, Any]) -> Word:
    _known(block, frozenset({"intermediate_size", "no_op"}))
    if _off(block):
        return "none"
    return Wide("mlp", whole("block_configs.ffn.intermediate_size", block.get("intermediate_size")))


def _off(block: Mapping[str, Any]) -> bool:
    return "no_op" in block and _switch(block, "no_op")


def kinds_listed(c: Config) -> Words:
    """One part a block, of the kind it states; experts with a number, width and top-k of their own (pruned Nemotron-H).

    A pattern stated beside the blocks must agree with them.
    """
    blocks, pattern = c.items("block_configs"), pattern_letters(c)
    if len(blocks) != len(pattern):
        raise contradiction(f"block_configs has {len(blocks)} entries for {len(pattern)} layers")
    return tuple(_block(c, mapping("block_configs", b), kind) for b, kind in zip(blocks, pattern, strict=True))


EXPERT_KEYS = ("n_routed_experts", "moe_intermediate_size", "num_experts_per_tok")


def _block(c: Config, block: Mapping[str, Any], kind: str) -> Word:
    stated = block.get("block_type", kind)
    if stated != kind:
        raise contradiction(f"block_configs says {str(stated)[:40]!a} where the pattern says {kind!a}")
    _known(block, frozenset({"block_type", *(EXPERT_KEYS if kind == "moe" else ())}))
    if kind != "moe":
        return kind
    usual = (c.count("num_experts"), c.count("moe_intermediate_size"), c.count("num_experts_per_tok"))
    own = [whole(f"block_configs.{k}", block.get(k, u)) for k, u in zip(EXPERT_KEYS, usual, strict=True)]
    return Experts("moe", *own)
