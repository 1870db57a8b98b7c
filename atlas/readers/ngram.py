"""Tables of n-grams as a config states them: sizes that are primes, widths, and how many rows a token looks up."""

from __future__ import annotations

from atlas.layouts.words import Borrowed, Numbered
from atlas.numbers.structure import Part
from atlas.parts.ngram import Ple, beside_tokens, engram, ple, primes_from
from atlas.readers.ends import Made, decoder
from atlas.readers.view import View, said
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction

MOST_HASHES = 512


def read_ple(v: View) -> Part:
    """The n-gram layer as the config states it; the layout says the how-manieth, as sizes are distinct primes."""
    index, order = said(v, Numbered).index, v.count("ngram_size")
    hashes = (order - 1) * v.count("heads_per_ngram")
    if not 0 < hashes * (index + 1) <= MOST_HASHES:
        raise bad_value("heads_per_ngram", hashes * (index + 1), f"at most {MOST_HASHES} tables in all")
    d = v.count("hidden_size")
    width = v.opt_count("ple_embed_dim") or v.derived("ple_embed_dim", d, "hidden_size, as none is stated")
    if width % hashes:
        raise contradiction(f"ple_embed_dim {width} does not divide into {hashes} heads")
    sizes = primes_from(v.count("ngram_vocab_size_base"), hashes * (index + 1))[-hashes:]
    unit = v.count("make_ngram_vocab_size_divisible_by")
    rows = -(-sum(sizes) // unit) * unit
    v.derived("ngram_rows", rows, f"{hashes} distinct primes, padded to a multiple of {unit}")
    return ple(Ple(d, v.count("hc_count"), width, hashes, order, v.count("ple_conv_kernel_size"), rows))


def read_engram(v: View) -> Part:
    """The table of this layer, of as many rows as the layout says."""
    hashes = (v.count("engram_max_ngram_size") - 1) * v.count("engram_n_heads")
    rows = said(v, Borrowed).rows
    return engram(v.count("hidden_size"), v.count("hc_mult"), rows, v.count("engram_head_dim"), hashes)


def ngram_embedding(c: Config) -> Made:
    """A decoder's ends with tables of n-grams beside the token table, each narrow and projected to the hidden state."""
    parts, cls = decoder(c)
    neighbours, splits = c.count("emb_neighbor_num") - 1, c.count("emb_split_num")
    n, d, base = neighbours * splits, c.count("hidden_size"), c.count("ngram_vocab_size_ratio") * c.count("vocab_size")
    if not 0 < n <= MOST_HASHES or d % n:
        raise contradiction(f"hidden_size {d} does not divide into {neighbours} x {splits} tables")
    return (*parts, beside_tokens(d, n, base)), cls


ENDS = {"ngram_embedding": ngram_embedding}
