"""Attention of encoders and of the decoders beside them, as a config states it."""

from __future__ import annotations

from atlas.numbers.structure import Mixing, Part
from atlas.parts.additions import (
    extended,
    global_projections,
    global_sums,
    relative_bias,
    relative_projection,
    relative_tables,
    value_convolution,
)
from atlas.parts.attention import Gqa
from atlas.parts.both_ways import (
    RelativeMemory,
    both_ways,
    relative_memory,
    scoring_positions,
    spanned,
    without_key_bias,
)
from atlas.parts.cross import from_width, gated_cross, merged, over_source
from atlas.parts.reused import again
from atlas.readers.attention import head_dim, kv_heads, read_gqa
from atlas.readers.view import View
from atlas.refusal import contradiction


def _relative(v: View, p: Part) -> Part:
    """A table with one bias per bucket of distances and head, or one key and value per distance, where it has them."""
    assert isinstance(p.info, Mixing) and p.info.n_q_heads is not None  # noqa: S101, PT018 - attention has both
    heads, width = p.info.n_q_heads, p.info.head_dim
    if v.opt("has_relative_bias"):
        return extended(p, tuple(relative_bias(v.count("relative_attention_num_buckets"), heads)))
    reach = v.opt_count("relative_reach")
    return p if reach is None or width is None else extended(p, tuple(relative_tables(reach, width, heads)))


def _attention(v: View) -> Part:
    usual = read_gqa(v)
    return _relative(v, without_key_bias(usual) if v.opt("no_key_bias") else usual)


def read_both_ways(v: View) -> Part:
    """Attention that looks both ways."""
    made = both_ways(_attention(v))
    made = scoring_positions(made) if v.opt("scores_positions") else made
    return again(made) if v.opt("again") else made


def read_back(v: View) -> Part:
    """Attention that looks back, as in any decoder."""
    return _attention(v)


def read_over_source(v: View) -> Part:
    """Attention over a source, which may be wider or narrower than the decoder."""
    usual, width = over_source(_attention(v)), v.opt("cross_attention_hidden_size")
    if width is None:
        return usual
    return from_width(usual, v.count("cross_attention_hidden_size"))


def read_merged(v: View) -> Part:
    """One attention over the sequence and its source (T5Gemma 2)."""
    return merged(_attention(v))


def read_spanned(v: View) -> Part:
    """ConvBERT's attention as the config states it: fewer heads by a ratio, at least one."""
    d, kernel = v.count("hidden_size"), v.count("conv_kernel_size")
    heads = max(v.count("num_attention_heads") // v.count("head_ratio"), 1)
    if d % (2 * heads):
        raise contradiction(f"hidden_size {d} does not divide into {heads} pairs of a head and a convolution")
    v.derived("attending_heads", heads, "num_attention_heads over head_ratio, at least 1")
    return spanned(d, heads, kernel)


def read_longformer(v: View) -> Part:
    """Attention both ways within a window; tokens that see everything have projections of their own (Longformer)."""
    usual = read_gqa(v)
    return both_ways(extended(usual, tuple(global_projections(usual))))


def read_nystrom(v: View) -> Part:
    """Attention both ways with a convolution over the values of every head, where one is stated (Nystromformer)."""
    made, kernel = both_ways(read_gqa(v)), v.opt_count("conv_kernel_size")
    return made if kernel is None else extended(made, tuple(value_convolution(v.count("num_attention_heads"), kernel)))


def read_transient(v: View) -> Part:
    """Attention both ways within a window and over block sums, with a norm and relative positions of their own."""
    usual = read_both_ways(v)
    if v.word("encoder_attention_type") != "transient-global":
        return usual
    return extended(usual, tuple(global_sums(usual, v.count("hidden_size"))))


def read_ngram(v: View) -> Part:
    """Attention for several future tokens at once, with a projection to relative positions (ProphetNet)."""
    usual = read_gqa(v)
    d, wide = v.count("hidden_size"), v.count("num_buckets") * v.count("num_attention_heads")
    return extended(usual, tuple(relative_projection(wide, d)))


def read_relative_memory(v: View) -> Part:
    """XLNet's attention as the config states it."""
    usual = read_gqa(v)
    assert isinstance(usual.info, Mixing) and usual.info.head_dim is not None  # noqa: S101, PT018 - attention has both
    heads = v.count("num_attention_heads")
    return relative_memory(RelativeMemory(v.count("hidden_size"), heads, heads * usual.info.head_dim), usual)


def read_gated_cross(v: View) -> Part:
    """Attention to the image, as wide as the text's own."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    hd = head_dim(v, d, heads)
    return gated_cross(Gqa(d, heads, kv_heads(v, heads), hd, hd))
