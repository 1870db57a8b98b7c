"""Hyper-connections: several residual streams, mixed by a projection before every sublayer and before the head.

Per sublayer `streams x (streams + 2)` mixing weights are computed from all streams together (DeepSeek-V4, section
2.2; Xie et al. 2026).
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.ends import decoder
from atlas.parts.ffn import read_moe
from atlas.reading.config import Config, View
from schemas.vocabulary import Component, Role

OTHER = Component.OTHER


@lru_cache(maxsize=256)
def connection(d: int, streams: int, mixes: bool) -> Part:
    """The mixing before one sublayer.

    Where streams are not mixed among each other, only what goes in and out of each is computed.
    """
    outputs = streams * (streams + 2) if mixes else 2 * streams
    return part(
        "hyper.connection",
        [
            Tensor("hc.fn", (outputs, streams * d), OTHER),
            Tensor("hc.base", (outputs,), OTHER, Role.VECTOR),
            Tensor("hc.scale", (3 if mixes else 2,), OTHER, Role.VECTOR),
        ],
    )


@lru_cache(maxsize=256)
def head(d: int, streams: int) -> Part:
    """The mixing of all streams to one, before the final norm."""
    return part(
        "hyper.head",
        [
            Tensor("model.hc_head.hc_fn", (streams, streams * d), OTHER),
            Tensor("model.hc_head.hc_base", (streams,), OTHER, Role.VECTOR),
            Tensor("model.hc_head.hc_scale", (1,), OTHER, Role.VECTOR),
        ],
    )


def read_connection(v: View) -> Part:
    """The mixing as the config states it."""
    return connection(v.count("hidden_size"), v.count("hc_mult"), v.flag("streams_mix"))


def decoder_of_streams(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """A decoder's ends, with the mixing before its final norm."""
    parts, cls = decoder(c)
    return (*parts, head(c.count("hidden_size"), c.count("hc_mult"))), cls


@lru_cache(maxsize=256)
def gated_norm(d: int, rank: int, norms: int) -> Part:
    """Low-rank gates on the outputs of `norms` norms; the reference books them with the dense networks."""
    shapes = {"fc1": (rank, d), "fc2": (d, rank)}
    made = [Tensor(f"norm{i}.mlp.{n}.weight", x, Component.FFN_DENSE) for i in range(norms) for n, x in shapes.items()]
    return part("norm.gates", made)


def read_gated_norm(v: View) -> Part:
    """The gate on the norm before this sublayer."""
    return gated_norm(v.count("hidden_size"), v.count("gated_norm_rank"), 1)


@lru_cache(maxsize=256)
def _with_table(experts: Part, vocab: int, top_k: int) -> Part:
    table = Tensor("mlp.gate.tid2eid", (vocab, top_k), Component.BUFFERS, Role.LOOKUP)
    return part(experts.kind, (*experts.tensors, table), experts.states, experts.reads, experts.info)


def read_hash_moe(v: View) -> Part:
    """Experts that a fixed table assigns by token; the table is a buffer of the checkpoint."""
    return _with_table(read_moe(v), v.count("vocab_size"), v.count("num_experts_per_tok"))
