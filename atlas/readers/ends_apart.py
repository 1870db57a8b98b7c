"""Ends of decoders that differ from the usual, as a config states them: deeper, narrower heads, longer tables."""

from __future__ import annotations

from collections.abc import Callable

from atlas.numbers.structure import Standing
from atlas.parts import heads, tables
from atlas.parts.ends import kept
from atlas.parts.norms import norm
from atlas.readers.ends import Made, decoder, head_of, known_head, labels_of, tied
from atlas.reading.config import Config
from atlas.refusal import contradiction, not_derivable
from schemas.vocabulary import Role


def narrow_head(c: Config) -> Made:
    """A head that may be narrower than the token table."""
    width = c.opt_count("output_vocab_size")
    parts, cls = decoder(c)
    if width is None or head_of(c)[1] != "lm":
        return parts, cls
    return (*(p for p in parts if p.kind != "head"), heads.matrix_head(width, c.count("hidden_size"))), cls


def padded_table(c: Config, codes: int = 0) -> Made:
    """A token table one row longer than the vocabulary, for padding; the head has no such row, nor those of codes."""
    cls, head = known_head(c, "lm", "none")
    vocab, d = c.count("vocab_size"), c.count("hidden_size")
    made = [
        kept("embedding", tables.decoder_table(vocab + codes + 1, d)),
        norm("model.norm", d, c.word("norm_class"), c.flag("norm_bias"), Standing("final")),
    ]
    return (*made, *[heads.matrix_head(vocab, d)] * (head == "lm")), cls


def coded_table(c: Config) -> Made:
    """The same, with a row for every code of every codebook; a head of that table is refused."""
    if c.flag("tie_word_embeddings"):
        raise not_derivable("a tied head would be longer than the vocabulary")
    return padded_table(c, c.count("num_codebooks") * c.count("codebook_vocab_size"))


def modernbert(c: Config) -> Made:
    """Before the tied head, and before the one of a classifier, stand a square matrix and a norm.

    The encoder's classifier of a sequence pools first and runs once; the decoder's runs on every token.
    """
    cls, head = known_head(c, "lm", "none", "score", "token_score")
    usual = tuple(p for p in decoder(c)[0] if p.kind != "head" or head == "lm")
    if head == "none":
        return usual, cls
    d = c.count("hidden_size")
    role = Role.ONCE if head == "score" and c.rules.stacks == "encoder" else Role.MATMUL
    before = heads.before_head(d, c.flag("classifier_bias"), c.flag("norm_bias"), role)
    if head == "lm":
        return (*usual, before), cls
    return (*usual, before, heads.scores(labels_of(c), d, c.flag("score_bias"), role)), cls


def xlstm(c: Config) -> Made:
    """An embedding as wide as the hidden state; the last norm has no bias, whatever those of the blocks have."""
    width, d = c.opt_count("embedding_dim"), c.count("hidden_size")
    if width not in (None, d):
        raise contradiction(f"embedding_dim is {width}, but hidden_size {d}")
    return decoder(c, norm_bias=False)


def cpmant(c: Config) -> Made:
    """Rows for prompts behind the vocabulary, segments, one table of position biases for all layers; an untied head."""
    tied(c)
    cls, head = known_head(c, "lm", "none")
    vocab, d, segments = c.count("vocab_size"), c.count("hidden_size"), c.count("segment_types")
    prompts, buckets = c.size("prompt_types") * c.size("prompt_length"), c.count("position_bias_num_buckets")
    made = [
        kept("embedding", *tables.prompt_tables(vocab + prompts, segments, d)),
        kept("positions", tables.position_bias(segments * segments + buckets, c.count("num_attention_heads"))),
        norm("encoder.output_layernorm", d, c.word("norm_class"), c.flag("norm_bias"), Standing("final")),
    ]
    return (*made, *[heads.matrix_head(vocab, d)] * (head == "lm")), cls


ENDS: dict[str, Callable[[Config], Made]] = {
    f.__name__: f for f in (narrow_head, padded_table, coded_table, modernbert, xlstm, cpmant)
}
