"""What Kimi K3 adds to Kimi Linear.

That is: gates on latent attention, a full-rank output gate of the delta rule, experts in a latent width with a norm
behind them, and residuals that every sublayer takes from the results of earlier blocks of layers. Every one is there
only where the config states its key, so that Kimi Linear itself has none of them.
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts import mla
from atlas.parts.ends import decoder
from atlas.parts.extras import extended, vector
from atlas.parts.ffn import read_moe
from atlas.parts.kda import Kda, kda
from atlas.parts.latent_more import More, more
from atlas.reading.config import Config, View
from atlas.refusal import not_derivable
from schemas.vocabulary import Component


def read_full(v: View) -> Part:
    """Latent attention without positions; a gate per value where `mla_use_output_gate` says so."""
    s = mla.scalars(v)
    if v.opt("mla_use_output_gate") is not True:
        return mla.mla(s)
    return more(mla.mla(s), More(s.d, s.heads, s.rope, gate=s.heads * s.v_head_dim))


def read_delta(v: View) -> Part:
    """The delta rule; with a full-rank output gate the checkpoint stores a decay per column, not per head."""
    heads, width, kernel = v.count("linear_num_heads"), v.count("linear_head_dim"), v.count("linear_conv_kernel_dim")
    full = v.opt("use_full_rank_gate") is True
    if full and heads > width:
        raise not_derivable(f"how many decays are stored for {heads} heads of {width} columns is not known")
    if full:
        v.derived("stored_decays", width, "head_dim numbers a layer, of which the first num_heads are used")
    return kda(Kda(v.count("hidden_size"), heads, width, kernel, True, not full, width if full else None))


def read_experts(v: View) -> Part:
    """Experts; in a latent width where `routed_expert_hidden_size` states one, with a norm if the config says so."""
    usual, latent = read_moe(v), v.opt_count("moe_latent_size")
    if latent is None or not v.flag("latent_moe_use_norm"):
        return usual
    return extended(usual, (vector("mlp.routed_expert_norm.weight", latent, Component.NORM),))


def read_residual(v: View) -> Part:
    """Norm and scores by which a sublayer weighs earlier blocks' results, where `attn_res_block_size` is stated."""
    stated = v.opt_count("attn_res_block_size")
    return _none() if stated is None else _residual(v.word("residual"), v.count("hidden_size"))


def ends_with_residual(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """A decoder's ends, and the residual before its final norm."""
    parts, cls = decoder(c)
    if c.opt_count("attn_res_block_size") is None:
        return parts, cls
    return (*parts, _residual("model.output_attn_res", c.count("hidden_size"))), cls


@lru_cache(maxsize=1)
def _none() -> Part:
    return part("residual.none", [])


@lru_cache(maxsize=64)
def _residual(name: str, d: int) -> Part:
    scores = Tensor(f"{name}_proj.weight", (1, d), Component.OTHER)
    return part("residual.blocks", [vector(f"{name}_norm.weight", d, Component.NORM), scores])
