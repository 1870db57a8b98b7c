"""Mixers that stand apart: matrix LSTMs, and attention whose queries and outputs are experts."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, State, Tensor, part
from atlas.parts.attention import Gqa, gqa
from atlas.parts.extras import vector
from atlas.parts.recurrent import reads
from atlas.reading.config import View
from atlas.refusal import contradiction
from schemas.vocabulary import Component, Mixer, Role

R, E = Component.RECURRENT, Component.EXPERTS_ROUTED


class Mlstm(NamedTuple):
    """Scalars of one matrix LSTM: widths of queries and keys together, and of values, over all heads."""

    d: int
    heads: int
    qk: int
    v: int
    bias: bool


@lru_cache(maxsize=1024)
def mlstm(s: Mlstm) -> Part:
    """A matrix LSTM; per head a matrix, a normalizer and a maximum are kept (arXiv 2405.04517, section 2.3).

    One step costs 6 FLOPs per element of the matrix: decay, input, output, a multiply-add each.
    """
    shapes = {"q": (s.qk, s.d), "k": (s.qk, s.d), "v": (s.v, s.d), "ogate_preact": (s.v, s.d), "out_proj": (s.d, s.v)}
    made = [Tensor(f"mlstm_layer.{n}.weight", x, R) for n, x in shapes.items()]
    for gate in ("igate_preact", "fgate_preact"):
        made += [
            Tensor(f"mlstm_layer.{gate}.weight", (s.heads, s.d), R),
            vector(f"mlstm_layer.{gate}.bias", s.heads, R),
        ]
    made.append(vector("mlstm_layer.multihead_norm.weight", s.v, R))
    if s.bias:
        made += [vector(f"mlstm_layer.{n}.bias", x[0], R) for n, x in shapes.items()]
        made.append(vector("mlstm_layer.multihead_norm.bias", s.v, R))
    matrix = s.qk * s.v // s.heads
    kept = tuple(State("constant", n, 0, None, 2) for n in (s.qk, s.heads, matrix))
    return part("linear.mlstm", made, kept, reads(kept, 6 * matrix), Mixing(Mixer.LINEAR_ATTENTION, "mlstm"))


def read_mlstm(v: View) -> Part:
    """A matrix LSTM as the config states it; widths are shares of the hidden size."""
    d, heads = v.count("hidden_size"), v.count("num_heads")
    widths: list[int] = []
    for field in ("qk_dim_factor", "v_dim_factor"):
        share = v.number(field)
        width = int(d * share) if share is not None and 0 < share <= 64 else 0
        if not width or width % heads:
            raise contradiction(f"{field} {share} of hidden_size {d} does not divide into {heads} heads")
        widths.append(v.derived(field.removesuffix("_factor"), width, f"{share:g} x hidden_size"))
    return mlstm(Mlstm(d, heads, widths[0], widths[1], v.flag("ffn_bias")))


class ExpertAttention(NamedTuple):
    """Scalars of attention whose query and output projections are experts over shared keys and values."""

    d: int
    kv_heads: int
    head_dim: int
    experts: int
    top_k: int
    rotary: int | None


@lru_cache(maxsize=1024)
def expert_attention(s: ExpertAttention) -> Part:
    """Each chosen expert brings `kv_heads` query heads of its own (JetMoE, arXiv 2404.07413, section 2.2)."""
    if s.top_k > s.experts:
        raise contradiction(f"{s.top_k} experts per token out of {s.experts}")
    usual = gqa(Gqa(s.d, s.kv_heads * s.top_k, s.kv_heads, s.head_dim, s.head_dim, rotary_dim=s.rotary))
    wide = s.kv_heads * s.head_dim
    made = [
        Tensor("self_attention.kv_proj.weight", (2 * wide, s.d), Component.ATTENTION),
        Tensor("self_attention.experts.router.layer.weight", (s.experts, s.d), Component.ROUTER),
        Tensor("self_attention.experts.input_linear.weight", (wide, s.d), E, Role.MATMUL, s.experts, s.top_k),
        Tensor("self_attention.experts.output_linear.weight", (s.d, wide), E, Role.MATMUL, s.experts, s.top_k),
        vector("self_attention.experts.bias", s.d, E),
    ]
    return part("attention.experts", made, usual.states, usual.reads, usual.info)


def read_expert_attention(v: View) -> Part:
    """Attention experts as the config states them."""
    hd = v.count("head_dim")
    return expert_attention(
        ExpertAttention(
            v.count("hidden_size"),
            v.count("num_key_value_heads"),
            hd,
            v.count("num_experts"),
            v.count("num_experts_per_tok"),
            hd,
        )
    )


MIXERS = {"mlstm": read_mlstm, "expert_attention": read_expert_attention}
