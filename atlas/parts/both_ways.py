"""Attention of encoders: both ways over the whole input, without a cache, with relative positions."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Layer, Mixing, Part, Read, Tensor, layer, part
from atlas.parts.norms import vector
from schemas.vocabulary import AttentionKind, Component, Mask, Mixer, Role

A = Component.ATTENTION


@lru_cache(maxsize=4096)
def both_ways(p: Part) -> Part:
    """The same weights, looking both ways over the whole input at once: nothing is kept."""
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention has it
    reads = tuple(r._replace(both_ways=True) for r in p.reads)
    return part("attention.both_ways", p.tensors, (), reads, p.info._replace(mask=Mask.BIDIRECTIONAL))


@lru_cache(maxsize=4096)
def looking_both_ways(each: Layer) -> Layer:
    """The layer with its attention looking both ways; what is no attention stays as it is."""
    return layer(
        tuple(both_ways(p) if isinstance(p.info, Mixing) and p.info.attention_kind else p for p in each.parts),
        each.flow,
    )


@lru_cache(maxsize=256)
def scoring_positions(p: Part) -> Part:
    """The same attention, each query multiplied by a position of every token it looks at, beside its key."""
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention has it
    more = 2 * (p.info.n_q_heads or 0) * (p.info.head_dim or 0)
    return part(p.kind, p.tensors, p.states, tuple(r._replace(flops=r.flops + more) for r in p.reads), p.info)


@lru_cache(maxsize=1024)
def wider_inside(p: Part, width: int) -> Part:
    """The same attention with queries, keys and values projected from this width."""
    made = [
        t if t.name.startswith("self_attn.o_proj") or len(t.shape) == 1 else t._replace(shape=(t.shape[0], width))
        for t in p.tensors
    ]
    return part(p.kind, made, p.states, p.reads, p.info)


@lru_cache(maxsize=4096)
def without_key_bias(p: Part) -> Part:
    """The same attention, keys without a bias (Whisper)."""
    return part(p.kind, tuple(t for t in p.tensors if not t.name.endswith("k_proj.bias")), p.states, p.reads, p.info)


class RelativeMemory(NamedTuple):
    """Scalars of attention with relative positions: `inner` is the width of all heads."""

    d: int
    heads: int
    inner: int


@lru_cache(maxsize=256)
def relative_memory(s: RelativeMemory, usual: Part) -> Part:
    """Projections and biases of content, of positions and of segments (XLNet, arXiv 1906.08237, section 2).

    Of T tokens each looks at all: T scores of content, 2T of positions (before and behind), T values. The matrix of
    positions multiplies all 2T, twice a token.
    """
    made = [Tensor(f"rel_attn.{x}", (s.d, s.inner), A, touched=2 if x == "r" else 1) for x in ("q", "k", "v", "r")]
    made.append(Tensor("rel_attn.o", (s.inner, s.d), A))
    made += [vector(f"rel_attn.{x}", s.inner, A) for x in ("r_r_bias", "r_s_bias", "r_w_bias")]
    made.append(Tensor("rel_attn.seg_embed", (2, s.inner), A, Role.LOOKUP))
    assert isinstance(usual.info, Mixing)  # noqa: S101 - attention has it
    read = Read(8 * s.inner, 2 * s.inner, both_ways=True)
    return part("attention.both_ways", made, (), (read,), usual.info._replace(mask=Mask.BIDIRECTIONAL))


@lru_cache(maxsize=64)
def spanned(d: int, heads: int, kernel: int) -> Part:
    """Half of the heads attend, the other half are convolutions whose kernels are made per token (ConvBERT)."""
    width = d // heads // 2
    wide = heads * width
    shapes = {
        "query": (wide, d), "key": (wide, d), "value": (wide, d), "conv_out_layer": (wide, d),
        "conv_kernel_layer": (heads * kernel, wide),
    }  # fmt: skip
    made = [Tensor(f"attention.self.{n}.weight", s, A) for n, s in shapes.items()]
    made += [vector(f"attention.self.{n}.bias", s[0], A) for n, s in shapes.items()]
    name = "attention.self.key_conv_attn_layer."
    made.append(Tensor(f"{name}depthwise.weight", (d, 1, kernel), A))
    made.append(Tensor(f"{name}pointwise.weight", (wide, d, 1), A))
    made.append(vector(f"{name}bias", wide, A))
    made += [Tensor("self_attn.o_proj.weight", (d, d), A), vector("self_attn.o_proj.bias", d, A)]
    info = Mixing(
        Mixer.FULL_ATTENTION, "conv", AttentionKind.MHA, heads, heads, width, width, None, "learned", has_bias=True,
        mask=Mask.BIDIRECTIONAL,
    )  # fmt: skip
    return part("attention.both_ways", made, (), (Read(4 * wide, 2 * wide, both_ways=True),), info)
