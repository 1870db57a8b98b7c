"""Zamba's layers: Mamba throughout, with a shared block before some of them."""

from __future__ import annotations

from atlas.layouts.common import n_layers
from atlas.layouts.words import Stored, Word, Words
from atlas.reading.config import Config
from atlas.reading.values import among, entries
from atlas.refusal import contradiction

NAMES = {"mamba": "linear_attention", "linear_attention": "linear_attention", "hybrid": "hybrid"}


def _listed(c: Config, n: int) -> list[str] | None:
    stated = c.opt("layers_block_type")
    if stated is None:
        return None
    words = entries("layers_block_type", stated)
    if len(words) != n:
        raise contradiction(f"layers_block_type has {len(words)} entries for {n} layers")
    among("layers_block_type", words, NAMES)
    return [NAMES[w] for w in words]


def _marked(words: list[str], blocks: int) -> Words:
    """Blocks take turns; each is stored where it is used first."""
    used, marked = 0, list[Word]()
    for word in words:
        stored = word == "hybrid" and used < blocks
        used += word == "hybrid"
        marked.append(Stored("hybrid", stored) if word == "hybrid" else word)
    return tuple(marked)


def zamba(c: Config) -> Words:
    """One shared block: where a list says, else before layer 2 and then by period and offset, counted from layer 3."""
    n = n_layers(c)
    words = _listed(c, n)
    if words is None:
        period, offset = c.count("attn_layer_period"), c.size("attn_layer_offset")
        rest = ["hybrid" if i % period == offset else "linear_attention" for i in range(n - 3)]
        words = (["linear_attention"] * 2 + ["hybrid"] + rest)[:n]
        c.derived(
            "layers_block_type",
            f"{words.count('hybrid')} hybrid",
            "layer 2, and layers i + 3 where i % attn_layer_period is the offset",
        )
    return _marked(words, 1)


def _agree(c: Config, words: list[str]) -> None:
    """The hybrid layers may be numbered too: the class then counts adapters by the numbers, whatever the words say."""
    stated = c.opt("hybrid_layer_ids")
    if stated is not None and stated != [i for i, w in enumerate(words) if w == "hybrid"]:
        raise contradiction("hybrid_layer_ids numbers other layers than layers_block_type calls hybrid")


def zamba2(c: Config) -> Words:
    """`num_mem_blocks` shared blocks that take turns, in the layers that the list names.

    Without a list, those of the class's 54 layers.
    """
    n = n_layers(c)
    words = _listed(c, n)
    if words is None:
        if n != 54:
            raise contradiction(f"no layers_block_type is stated, and the class's own list is for 54 layers, not {n}")
        hybrid = {6, 12, 18, 24, 30, 36, 42, 47, 51}
        words = ["hybrid" if i in hybrid else "linear_attention" for i in range(n)]
        c.derived("layers_block_type", sorted(hybrid), "the class's own list of hybrid layers")
    _agree(c, words)
    return _marked(words, c.count("num_mem_blocks"))


LAYOUTS = {"zamba": zamba, "zamba2": zamba2}
