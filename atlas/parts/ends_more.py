"""Ends of decoders that differ from the usual: deeper, scaled or narrower heads, padded tables, vectors beside."""

from __future__ import annotations

from collections.abc import Callable

from atlas.numbers.structure import Part, Tensor
from atlas.parts.ends import decoder, head_of, kept, labels_of, norm
from atlas.reading.config import Config
from atlas.refusal import Refused, contradiction, not_derivable, shown
from schemas.vocabulary import Component, RefusalKind, Role

Made = tuple[tuple[Part, ...], str | None]
U = Component.UNEMBEDDING


def known_head(c: Config, *heads: str) -> tuple[str | None, str]:
    """The class and its head, where the head is one of these; raises `Refused` (unknown_class)."""
    cls, head = head_of(c)
    if head not in heads:
        raise Refused(RefusalKind.UNKNOWN_CLASS, f"what the head of {shown(cls)} weighs is not known")
    return cls, head


def narrow_head(c: Config) -> Made:
    """A head that may be narrower than the token table."""
    width = c.opt_count("output_vocab_size")
    parts, cls = decoder(c)
    if width is None or head_of(c)[1] != "lm":
        return parts, cls
    head = Tensor("lm_head.weight", (width, c.count("hidden_size")), U)
    return (*(p for p in parts if p.kind != "head"), kept("head", head)), cls


def scaled_head(c: Config) -> Made:
    """A head with one learned scale per token."""
    parts, cls = decoder(c)
    scale = Tensor("lm_head.logit_scale", (c.count("vocab_size"),), U, Role.VECTOR)
    return (*parts, *[kept("head.scale", scale)] * (head_of(c)[1] == "lm")), cls


def with_vectors(c: Config) -> Made:
    """Vectors as wide as the hidden state beside the stack: initial states and scales."""
    parts, cls = decoder(c)
    made = [Tensor(n, (c.count("hidden_size"),), Component.OTHER, Role.VECTOR) for n in c.rules.facts["end_vectors"]]
    return (*parts, kept("ends.vectors", *made)), cls


def padded_table(c: Config, codes: int = 0) -> Made:
    """A token table one row longer than the vocabulary, for padding; the head has no such row, nor those of codes."""
    cls, head = known_head(c, "lm", "none")
    vocab, d = c.count("vocab_size"), c.count("hidden_size")
    rows = vocab + codes + 1
    made = [
        kept("embedding", Tensor("model.embed_tokens.weight", (rows, d), Component.EMBEDDING, Role.LOOKUP)),
        norm("model.norm", d, c.word("norm_class"), c.flag("norm_bias")),
    ]
    return (*made, *[kept("head", Tensor("lm_head.weight", (vocab, d), U))] * (head == "lm")), cls


def segmented(c: Config) -> Made:
    """The usual ends and a table of two rows, text and image (Kosmos-2.5)."""
    parts, cls = decoder(c)
    table = Tensor("model.segment_emb.weight", (2, c.count("hidden_size")), Component.EMBEDDING, Role.LOOKUP)
    return (*parts, kept("segments", table)), cls


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
    d, labels = c.count("hidden_size"), labels_of(c)
    role = Role.ONCE if head == "score" and c.rules.stacks == "encoder" else Role.MATMUL
    made = [Tensor("lm_head.dense.weight", (d, d), U, role), Tensor("lm_head.norm.weight", (d,), U, Role.VECTOR)]
    made += [Tensor("lm_head.dense.bias", (d,), U, Role.VECTOR)] * c.flag("classifier_bias")
    made += [Tensor("lm_head.norm.bias", (d,), U, Role.VECTOR)] * c.flag("norm_bias")
    scores = [Tensor("classifier.weight", (labels, d), Component.OTHER, role)]
    scores += [Tensor("classifier.bias", (labels,), Component.OTHER, Role.VECTOR)] * c.flag("score_bias")
    return (*usual, kept("head.transform", *made), *[kept("head.scores", *scores)] * (head != "lm")), cls


def cohere2_moe(c: Config) -> Made:
    """RMSNorm where `rms_norm_eps` is stated, LayerNorm without bias where not."""
    cls = "layernorm" if c.opt("rms_norm_eps") is None else "rmsnorm"
    c.derived("norm_class", cls, "RMSNorm only where rms_norm_eps is stated")
    return decoder(c)


def _untied(c: Config, why: str) -> None:
    c.opt("tie_word_embeddings")
    c.derived("tie_word_embeddings", False, why)


def xlstm(c: Config) -> Made:
    """A head that is never tied; where `use_bias` is true, the norms of the blocks have one too, the last has none."""
    _untied(c, "the class ties nothing")
    width, d = c.opt_count("embedding_dim"), c.count("hidden_size")
    if width not in (None, d):
        raise contradiction(f"embedding_dim is {width}, but hidden_size {d}")
    parts, cls = decoder(c)
    c.derived("norm_bias", c.flag("ffn_bias"), "use_bias")
    return parts, cls


def cpmant(c: Config) -> Made:
    """Rows for prompts behind the vocabulary, segments, one table of position biases for all layers; an untied head."""
    _untied(c, "the table has rows for prompts that the head has not")
    cls, head = known_head(c, "lm", "none")
    vocab, d, segments = c.count("vocab_size"), c.count("hidden_size"), c.count("segment_types")
    prompts, buckets = c.size("prompt_types") * c.size("prompt_length"), c.count("position_bias_num_buckets")
    tables = {"input_embedding": vocab + prompts, "segment_embedding": segments}
    bias = (segments * segments + buckets, c.count("num_attention_heads"))
    made = [
        kept(
            "embedding",
            *(Tensor(f"{n}.weight", (rows, d), Component.EMBEDDING, Role.LOOKUP) for n, rows in tables.items()),
        ),
        kept("positions", Tensor("position_bias.relative_attention_bias", bias, Component.ATTENTION, Role.LOOKUP)),
        norm("encoder.output_layernorm", d, c.word("norm_class"), c.flag("norm_bias")),
    ]
    return (*made, *[kept("head", Tensor("lm_head.weight", (vocab, d), U))] * (head == "lm")), cls


_MADE = (narrow_head, scaled_head, with_vectors, padded_table, segmented, coded_table)
ENDS: dict[str, Callable[[Config], Made]] = {f.__name__: f for f in (*_MADE, modernbert, cohere2_moe, xlstm, cpmant)}
