"""A decoder's usual ends with something beside them, as a config states it: streams, tables, scales, vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atlas.parts import ends as built
from atlas.parts.ends import block_queries, with_head_rows
from atlas.parts.norms import gated_norm
from atlas.parts.streams import altup_streams, connection_head, layer_tables, residual
from atlas.readers.ends import Made, decoder, head_of
from atlas.reading.arithmetic import size
from atlas.reading.config import Config


def beside(c: Config) -> Made:
    """A decoder's ends, and one part more whose tensors the row states in its fact `stands_beside`.

    Each is a name, a component, a role, and its axes as arithmetic over the config's counts. `under` is the head, and
    `when` the switch, without which the part is not there.
    """
    parts, cls = decoder(c)
    said: Mapping[str, Any] = c.rules.facts["stands_beside"]
    if "under" in said and head_of(c)[1] != said["under"]:
        return parts, cls
    made = tuple(_stated(each, c) for each in said["tensors"])
    if "when" in said and not c.flag(said["when"]):
        return parts, cls
    return (*parts, built.beside(said["kind"], made)), cls


def _stated(said: Sequence[str], c: Config) -> built.Stated:
    name, component, role, *axes = said
    return built.Stated(name, component, role, tuple(size(axis, c.count) for axis in axes))


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
        beside, per_layer, altup, streams, kimi, gated_last_norm, inkling,
    )
}  # fmt: skip
