"""Tables that are looked up outside the stack: tokens, positions, segments, languages, and what joins them.

An encoder's tables stand under `embeddings`; a pair of stacks shares one table of tokens or has one each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from atlas.numbers.structure import Tensor
from atlas.parts.norms import linear, vector
from schemas.vocabulary import Component, Role

E = Component.EMBEDDING
X = Component.OTHER


def table(name: str, rows: int, width: int, component: Component = E) -> Tensor:
    """A table of vectors."""
    return Tensor(name, (rows, width), component, Role.LOOKUP)


def tables(rows: Mapping[str, int], width: int) -> list[Tensor]:
    """Tables of an encoder by name; one of no rows is none."""
    return [table(f"embeddings.{name}.weight", n, width) for name, n in rows.items() if n]


def rotary_table(positions: int, head_dim: int) -> list[Tensor]:
    """Sines and cosines of the positions, kept as a weight (RoFormer)."""
    return [table("encoder.embed_positions.weight", positions, head_dim)]


def sounds_and_shapes(rows: Mapping[str, tuple[int, int]], width: int, joined: int) -> list[Tensor]:
    """Tables of pronunciations and shapes (rows and width each), and the matrix that joins them (RoCBert).

    `joined` is the width of what is joined, 0 where nothing is.
    """
    made = [table(f"embeddings.{x}_embed.weight", n, each) for x, (n, each) in rows.items()]
    return made + (linear("embeddings.map_inputs_layer", width, joined, E) if joined else [])


def languages(n: int, width: int) -> list[Tensor]:
    """A table of languages (XLM)."""
    return [table("lang_embeddings.weight", n, width)]


def mask(width: int) -> list[Tensor]:
    """The vector that stands for a token to be guessed (XLNet)."""
    return [vector("mask_emb", width, X)]


def shared_bias(buckets: int, heads: int) -> list[Tensor]:
    """One table of biases of relative positions for all layers (MPNet)."""
    return [table("encoder.relative_attention_bias.weight", buckets, heads, Component.ATTENTION)]


def contacts(heads: int) -> list[Tensor]:
    """Which positions touch, from the attention of all heads: run once a sequence, and only when asked for (ESM)."""
    return linear("contact_head.regression", 1, heads, X, Role.ONCE)


def stack_tables(shared: bool, stacks: Iterable[str], rows: int, width: int) -> list[Tensor]:
    """One table of tokens that stacks share, if they do, and those of the stacks named."""
    made = [table("model.shared.weight", rows, width)] * shared
    return [*made, *(table(f"model.{s}.embed_tokens.weight", rows, width) for s in stacks)]


def image_end(width: int) -> list[Tensor]:
    """A row apart from the table, for the end of an image (T5Gemma 2)."""
    return [vector("model.encoder.embed_tokens.eoi_embedding", width, Component.EMBEDDING)]


def positions(stack: str, rows: int, width: int) -> Tensor:
    """A stack's table of positions."""
    return table(f"model.{stack}.embed_positions.weight", rows, width)


def spectrogram(bands: int, d: int) -> list[Tensor]:
    """Two convolutions over the spectrogram (Whisper)."""
    made = [Tensor("model.encoder.conv1.weight", (d, bands, 3), X, Role.ONCE), vector("model.encoder.conv1.bias", d, X)]
    return [
        *made,
        Tensor("model.encoder.conv2.weight", (d, d, 3), X, Role.ONCE),
        vector("model.encoder.conv2.bias", d, X),
    ]


def gated_spectrogram(kernels: tuple[int, ...], inside: int, middle: int, d: int) -> list[Tensor]:
    """Convolutions over the spectrogram, each twice as wide as what its gate leaves (Speech2Text)."""
    made: list[Tensor] = []
    for i, k in enumerate(kernels):
        out = middle if i < len(kernels) - 1 else 2 * d
        name, width = f"model.encoder.conv.conv_layers.{i}", middle // 2 if i else inside
        made += [Tensor(f"{name}.weight", (out, width, k), X, Role.ONCE), vector(f"{name}.bias", out, X)]
    return made


def global_tokens(n: int, d: int) -> list[Tensor]:
    """Vectors of tokens that see everything (PEGASUS-X)."""
    return [table("model.encoder.embed_global.weight", n, d, X)]


def ngrams(n: int, d: int) -> list[Tensor]:
    """A vector per predicted future token (ProphetNet)."""
    return [table("decoder.ngram_embeddings.weight", n, d)]


def decoder_table(rows: int, d: int) -> Tensor:
    """A decoder's table of tokens that the usual ends do not build."""
    return table("model.embed_tokens.weight", rows, d)


def prompt_tables(rows: int, kinds: int, d: int) -> list[Tensor]:
    """Tokens with rows for prompts behind them, and kinds of segments (CPM-Ant)."""
    return [table("input_embedding.weight", rows, d), table("segment_embedding.weight", kinds, d)]


def position_bias(rows: int, heads: int) -> Tensor:
    """One table of position biases for all layers (CPM-Ant)."""
    return table("position_bias.relative_attention_bias", rows, heads, Component.ATTENTION)
