"""A decoder's usual ends with something beside them, as a config states it: streams, tables, scales, vectors."""

from __future__ import annotations

from collections.abc import Callable

from atlas.parts import heads, tables
from atlas.parts.ends import block_queries, kept, with_head_rows
from atlas.parts.norms import gated_norm
from atlas.parts.streams import altup_streams, connection_head, layer_tables, residual
from atlas.readers.ends import Made, decoder, head_of
from atlas.reading.config import Config


def scaled_head(c: Config) -> Made:
    """A head with one learned scale per token."""
    parts, cls = decoder(c)
    scale = heads.token_scales(c.count("vocab_size"))
    return (*parts, *[scale] * (head_of(c)[1] == "lm")), cls


def with_vectors(c: Config) -> Made:
    """Vectors as wide as the hidden state beside the stack: initial states and scales."""
    parts, cls = decoder(c)
    return (*parts, heads.end_vectors(tuple(c.rules.facts["end_vectors"]), c.count("hidden_size"))), cls


def segmented(c: Config) -> Made:
    """The usual ends and a table of two rows, text and image (Kosmos-2.5)."""
    parts, cls = decoder(c)
    return (*parts, kept("segments", tables.segments(c.count("hidden_size")))), cls


def chatglm(c: Config) -> Made:
    """A decoder whose checkpoint also stores the frequencies of its rotary positions: half of each head, in pairs."""
    parts, cls = decoder(c)
    return (*parts, kept("buffers", tables.frequencies(c.count("head_dim") // 4))), cls


def frequencies(c: Config) -> Made:
    """A decoder's ends, and a learned factor for each rotary frequency."""
    parts, cls = decoder(c)
    return (*parts, kept("rotary.factors", tables.frequency_factors(c.count("qk_rope_head_dim") // 2))), cls


def per_layer(c: Config) -> Made:
    """A decoder's ends, and the embeddings of the layers where they have a width."""
    parts, cls = decoder(c)
    width = c.size("hidden_size_per_layer_input")
    if width:
        parts += layer_tables(
            c.count("hidden_size"), width, c.count("vocab_size_per_layer_input"), c.count("num_hidden_layers")
        )
    return parts, cls


def altup(c: Config) -> Made:
    """A decoder's ends with embeddings per layer, and a projection into and out of every stream but the first."""
    parts, cls = per_layer(c)
    return (*parts, altup_streams(c.count("hidden_size"), c.count("altup_num_inputs"))), cls


def streams(c: Config) -> Made:
    """A decoder's ends, with the mixing before its final norm."""
    parts, cls = decoder(c)
    return (*parts, connection_head(c.count("hidden_size"), c.count("hc_mult"))), cls


def kimi(c: Config) -> Made:
    """A decoder's ends, and the residual before its final norm."""
    parts, cls = decoder(c)
    if c.opt_count("attn_res_block_size") is None:
        return parts, cls
    return (*parts, residual("model.output_attn_res", c.count("hidden_size"))), cls


def gated_last_norm(c: Config) -> Made:
    """A decoder's ends, and a low-rank gate on the last norm."""
    parts, cls = decoder(c)
    return (*parts, gated_norm(c.count("hidden_size"), c.count("gated_norm_rank"), 1)), cls


def inkling(c: Config) -> Made:
    """A decoder's ends: a norm in the embedding, a head without padding rows, the queries of the last blocks."""
    parts, cls = decoder(c)
    d, rows = c.count("hidden_size"), c.opt_count("unpadded_vocab_size")
    if rows is not None and c.flag("head_is_unpadded"):
        parts = tuple(with_head_rows(p, rows, d) for p in parts)
    loops = c.opt_count("loop_layer_index_end")
    messages = 4 * (loops - c.size("loop_layer_index_start")) if loops is not None else 0
    return (*parts, block_queries(d, 1 + messages if c.flag("attends_blocks") else 0)), cls


ENDS: dict[str, Callable[[Config], Made]] = {
    f.__name__: f
    for f in (
        scaled_head, with_vectors, segmented, chatglm, frequencies, per_layer, altup, streams, kimi, gated_last_norm,
        inkling,
    )
}  # fmt: skip
