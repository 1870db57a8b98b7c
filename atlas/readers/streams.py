"""What stands beside the sublayers, as a config states it: streams, scales, norms, embeddings per layer."""

from __future__ import annotations

from atlas.numbers.structure import Part
from atlas.parts.norms import gated_norm, norms, vectors, within
from atlas.parts.reused import again
from atlas.parts.streams import altup, connection, layer_input, low_rank, no_residual, residual
from atlas.readers.view import View
from schemas.vocabulary import Component


def read_connection(v: View) -> Part:
    """The mixing as the config states it."""
    normed = v.opt("streams_norm") is True
    return connection(v.count("hidden_size"), v.count("hc_mult"), v.flag("streams_mix"), normed=normed)


def read_low_rank(v: View) -> Part:
    """The mixing through a bottleneck as the config states it."""
    return low_rank(v.count("hidden_size"), v.count("hc_count"), v.count("hc_lowrank"), injects=True)


def read_gated_norm(v: View) -> Part:
    """The gates on the norms of this sublayer: the one before it, or as many as the row says (`gated_norms`)."""
    return gated_norm(v.count("hidden_size"), v.count("gated_norm_rank"), v.opt_count("gated_norms") or 1)


def read_altup(v: View) -> Part:
    """Streams and low-rank path as the config states them."""
    return altup(v.count("hidden_size"), v.count("altup_num_inputs"), v.count("laurel_rank"))


def read_residual(v: View) -> Part:
    """Norm and scores by which a sublayer weighs earlier blocks' results, where `attn_res_block_size` is stated."""
    stated = v.opt_count("attn_res_block_size")
    return no_residual() if stated is None else residual(v.word("residual"), v.count("hidden_size"))


def read_per_layer_input(v: View) -> Part:
    """Gate, projection and norm of the layer's own embedding, where it has a width.

    And the layer's scale, where the family stores one.
    """
    width = v.size("hidden_size_per_layer_input")
    return layer_input(v.count("hidden_size"), width, v.flag("layer_scalar"))


def read_scales(v: View) -> Part:
    """Vectors as wide as the hidden state that stand beside the sublayers: residual scales and the like."""
    width = v.count("hidden_size")
    made = vectors(tuple(v.items("names")), width)
    return again(made) if v.opt("again") else made


def read_norm(v: View) -> Part:
    """Norms that stand within a sublayer's parts."""
    made = norms(tuple(v.items("names")), v.count("hidden_size"), v.word("norm_class"), v.flag("norm_bias"))
    made = within(made, Component(v.word("component"))) if v.opt("component") else made
    return again(made) if v.opt("again") else made
