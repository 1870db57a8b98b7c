"""What a layout says of a layer: the row's word for its kind, or a record where layers of one kind differ.

The word alone (`"full_attention"`) says which parts stand there. Where more differs from layer to layer, a record
holds the word as its `kind` and the rest in fields of their own, which the part's reader takes.
"""

from __future__ import annotations

import msgspec


class Differing(msgspec.Struct, frozen=True, cache_hash=True):
    """A layer that is more than its kind."""

    kind: str


class Heads(Differing, frozen=True, cache_hash=True):
    """Attention with query heads of its own (Laguna, Step 3.5)."""

    heads: int


class Grouped(Differing, frozen=True, cache_hash=True):
    """Attention with so many query heads on each KV head (nemotron-nas)."""

    group: int


class Cached(Differing, frozen=True, cache_hash=True):
    """Attention that may read another layer's cache, `source`, or have a geometry of its own (Gemma 3n, Gemma 4)."""

    source: int | None
    head_dim: int | None = None
    kv_heads: int | None = None


class Stored(Differing, frozen=True, cache_hash=True):
    """A use of a shared block, whose weights are stored where it is used first (Zamba)."""

    stored: bool


class Round(Differing, frozen=True, cache_hash=True):
    """A layer in a round of a loop (0: outside of any, 3: the third and all later ones); the first layer `leads`."""

    number: int
    leads: bool = False


class Wide(Differing, frozen=True, cache_hash=True):
    """A feed-forward network of this width."""

    width: int


class Chosen(Differing, frozen=True, cache_hash=True):
    """Experts of which a token takes so many (Hunyuan)."""

    top_k: int


class Shaped(Differing, frozen=True, cache_hash=True):
    """Attention with query and KV heads of its own (OpenELM)."""

    heads: int
    kv_heads: int


class Numbered(Differing, frozen=True, cache_hash=True):
    """The how-manieth layer of its kind, where sizes follow from that (Qwen4-Exp's tables of n-grams)."""

    index: int


class Borrowed(Differing, frozen=True, cache_hash=True):
    """Attention over a window and over entries of `ratio` tokens each that this or an earlier layer makes.

    `source` is the other layer, None where this one makes them; `index` is what the layer has of an indexer: nothing,
    an earlier choice (`read`), a choice of its own (`choice`), or that and its keys (`keys`); `rows` are those of its
    table of n-grams (DeepSeek-V4.1).
    """

    ratio: int = 0
    source: int | None = None
    makes: bool = False
    index: str = ""
    rows: int = 0


class KvHeads(Differing, frozen=True, cache_hash=True):
    """Attention with so many KV heads (pruned block by block)."""

    heads: int


class Experts(Differing, frozen=True, cache_hash=True):
    """Experts of a number, a width and a top-k of their own (pruned block by block)."""

    number: int
    width: int
    top_k: int


Word = str | Differing
Words = tuple[Word, ...]
Kinds = tuple[str, ...]
"""Words of layers that are nothing beyond their kind."""


def kind_of(word: Word) -> str:
    """The row's word for a layer."""
    return word if isinstance(word, str) else word.kind
