"""Softmax attention with its own key and value heads: MHA, GQA, MQA, windowed, chunked, with sinks, gates.

Biases, norms.

Cache per token: K of head_dim and V of v_head_dim for each KV head (Ainslie et al. 2023, GQA, section 2.2).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.refusal import contradiction
from schemas.vocabulary import AttentionKind, Component, Mask, Mixer, Role

A = Component.ATTENTION


class Gqa(NamedTuple):
    """Scalars of one attention: widths in elements, `window` in tokens."""

    d: int
    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    qkv_bias: bool = False
    o_bias: bool = False
    qk_norm: str = "none"  # none | unit (no weights) | head | each (weights per head) | full (over all heads)
    norm_bias: bool = False
    sinks: bool = False
    gate: str = "none"  # none | elementwise (q_proj holds a gate of its own width)
    mixer: str = "full_attention"
    window: int | None = None
    position: str = "rope"
    rotary_dim: int | None = None
    shared_from: int | None = None  # the layer whose cache is read; then no K, no V here
    dead_kv: bool = False  # the checkpoint still stores K and V weights that no token uses
    mask: Mask = Mask.CAUSAL


def kind_of(heads: int, kv_heads: int) -> AttentionKind:
    """MHA, GQA or MQA by how many query heads share a KV head; raises `Refused` where they do not divide."""
    if heads % kv_heads:
        raise contradiction(f"{heads} query heads cannot share {kv_heads} KV heads evenly")
    if kv_heads == heads:
        return AttentionKind.MHA
    return AttentionKind.MQA if kv_heads == 1 else AttentionKind.GQA


@lru_cache(maxsize=8192)
def gqa(s: Gqa) -> Part:
    """Attention of these scalars."""
    kind = kind_of(s.heads, s.kv_heads)
    keys, values = s.kv_heads * s.head_dim, s.kv_heads * s.v_head_dim
    held = keys + values
    kv = State("kv", held, window=s.window, keys=keys, heads=s.kv_heads)
    read = Read(2 * s.heads * (s.head_dim + s.v_head_dim), held, window=s.window, both_ways=s.mask is Mask.PREFIX)
    label = {"sliding_attention": "swa", "chunked_attention": "chunked"}.get(s.mixer, kind.value)
    info = Mixing(
        Mixer(s.mixer),
        label,
        kind,
        s.heads,
        s.kv_heads,
        s.head_dim,
        s.v_head_dim,
        s.window,
        s.position,
        s.rotary_dim,
        s.qk_norm,
        s.qkv_bias or s.o_bias,
        s.sinks,
        s.shared_from,
        s.mask,
    )
    return part("attention.gqa", _weights(s), () if s.shared_from is not None else (kv,), (read,), info)


def _weights(s: Gqa) -> list[Tensor]:
    q = s.heads * s.head_dim * (2 if s.gate == "elementwise" else 1)
    widths = {"q": q, "k": s.kv_heads * s.head_dim, "v": s.kv_heads * s.v_head_dim}
    borrowed = s.shared_from is not None
    made: list[Tensor] = []
    for x, width in widths.items():
        used = 0 if borrowed and x != "q" else 1
        if used or s.dead_kv:
            made.append(Tensor(f"self_attn.{x}_proj.weight", (width, s.d), A, touched=used))
            made += [Tensor(f"self_attn.{x}_proj.bias", (width,), A, Role.VECTOR, touched=used)] * s.qkv_bias
    made.append(Tensor("self_attn.o_proj.weight", (s.d, s.heads * s.v_head_dim), A))
    made += [Tensor("self_attn.o_proj.bias", (s.d,), A, Role.VECTOR)] * s.o_bias
    made += [Tensor("self_attn.sinks", (s.heads,), A, Role.VECTOR)] * s.sinks
    return made + _norms(s, borrowed)


def _norms(s: Gqa, borrowed: bool) -> list[Tensor]:
    if s.qk_norm in ("none", "unit"):
        return []
    each, wide = s.qk_norm == "each", s.qk_norm == "full"
    made: list[Tensor] = []
    for x, heads in {"q": s.heads, "k": s.kv_heads}.items():
        shape = (heads, s.head_dim) if each else (s.head_dim * (heads if wide else 1),)
        used = 0 if borrowed and x == "k" else 1
        if used or s.dead_kv:
            made.append(Tensor(f"self_attn.{x}_norm.weight", shape, A, Role.VECTOR, touched=used))
            made += [Tensor(f"self_attn.{x}_norm.bias", shape, A, Role.VECTOR, touched=used)] * s.norm_bias
    return made


@lru_cache(maxsize=1024)
def with_output_gate(base: Part, d: int, rows: int) -> Part:
    """The attention `base` with a gate of `rows` values per token."""
    return part(
        "attention.gqa_gated",
        (*base.tensors, Tensor("self_attn.g_proj.weight", (rows, d), A)),
        base.states,
        base.reads,
        base.info,
    )


@lru_cache(maxsize=1024)
def values_from_keys(p: Part) -> Part:
    """Values are the keys, normed in another way and not rotated: both are kept, one projection makes them."""
    kept = tuple(t for t in p.tensors if ".v_proj." not in t.name)
    return part("attention.gqa_values_from_keys", kept, p.states, p.reads, p.info)


@lru_cache(maxsize=256)
def differential(p: Part) -> Part:
    """The same weights and cache, each head's values two heads wide (arXiv 2410.05258, equation 1)."""
    assert isinstance(p.info, Mixing) and p.info.n_q_heads and p.info.v_head_dim  # noqa: S101, PT018 - attention says
    more = 2 * p.info.n_q_heads * p.info.v_head_dim
    reads = tuple(r._replace(flops=r.flops + more) for r in p.reads)
    return part("attention.differential", p.tensors, p.states, reads, p.info)


@lru_cache(maxsize=256)
def reading_target(p: Part) -> Part:
    """The same weights without keys; what is read is no layer's of this model, and nothing is kept (drafters)."""
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention says what it is
    kept = tuple(t for t in p.tensors if ".k_norm." not in t.name)
    return part("attention.of_target", kept, (), p.reads, p.info._replace(shared_from=None))
