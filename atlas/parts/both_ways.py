"""Attention of encoders and the decoders beside them: both ways without a cache, over a source, relative positions."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.attention import read_alike, read_gqa
from atlas.parts.extras import again, extended, vector
from atlas.reading.config import View
from schemas.vocabulary import Component, Mask, Mixer, Role

A = Component.ATTENTION


@lru_cache(maxsize=4096)
def both_ways(p: Part) -> Part:
    """The same weights, looking both ways over the whole input at once: nothing is kept."""
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention has it
    reads = tuple(r._replace(both_ways=True) for r in p.reads)
    return part("attention.both_ways", p.tensors, (), reads, p.info._replace(mask=Mask.BIDIRECTIONAL))


@lru_cache(maxsize=4096)
def over_source(p: Part) -> Part:
    """The same weights over a source: kept per source token, and in no figure of the sequence's own cache."""
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention has it
    info = p.info._replace(mixer=Mixer.CROSS_ATTENTION, label="cross", position="nope", rotary_dim=None)
    tensors = tuple(_over_source(t) for t in p.tensors)
    states = tuple(State("cross", s.elements, keys=s.keys) for s in p.states)
    reads = tuple(Read(r.flops, r.elements, over="source") for r in p.reads)
    return part("attention.cross", tensors, states, reads, info)


def _over_source(t: Tensor) -> Tensor:
    """Keys and values are made once per token of the source."""
    sourced = t.role is Role.MATMUL and t.name.endswith(("k_proj.weight", "v_proj.weight"))
    name = t.name.replace("self_attn", "encoder_attn")
    return t._replace(name=name, role=Role.SOURCE if sourced else t.role)


@lru_cache(maxsize=4096)
def without_key_bias(p: Part) -> Part:
    """The same attention, keys without a bias (Whisper)."""
    return part(p.kind, tuple(t for t in p.tensors if not t.name.endswith("k_proj.bias")), p.states, p.reads, p.info)


def _relative(v: View, p: Part) -> Part:
    """A table with one bias per bucket of distances and head, where the part's facts give it one."""
    assert isinstance(p.info, Mixing) and p.info.n_q_heads is not None  # noqa: S101, PT018 - attention has both
    if not v.opt("has_relative_bias"):
        return p
    table = (v.count("relative_attention_num_buckets"), p.info.n_q_heads)
    return extended(p, (Tensor("self_attn.relative_attention_bias.weight", table, A, Role.LOOKUP),))


def _attention(v: View) -> Part:
    usual = read_alike(v)
    return _relative(v, without_key_bias(usual) if v.opt("no_key_bias") else usual)


def read_both_ways(v: View) -> Part:
    """Attention that looks both ways."""
    made = both_ways(_attention(v))
    return again(made) if v.opt("again") else made


def read_back(v: View) -> Part:
    """Attention that looks back, as in any decoder."""
    return _attention(v)


def read_over_source(v: View) -> Part:
    """Attention over a source, which may be wider or narrower than the decoder."""
    usual, width = over_source(_attention(v)), v.opt("cross_attention_hidden_size")
    if width is None:
        return usual
    return from_width(usual, v.count("cross_attention_hidden_size"))


@lru_cache(maxsize=1024)
def from_width(p: Part, width: int) -> Part:
    """The same attention with keys and values projected from this width."""
    sourced = ("k_proj.weight", "v_proj.weight")
    made = [t._replace(shape=(t.shape[0], width)) if t.name.endswith(sourced) else t for t in p.tensors]
    return part(p.kind, made, p.states, p.reads, p.info)


def read_longformer(v: View) -> Part:
    """Attention both ways within a window; tokens that see everything have projections of their own (Longformer)."""
    usual = read_gqa(v)
    more = tuple(
        t._replace(name=t.name.replace("_proj", "_proj_global")) for t in usual.tensors if "o_proj" not in t.name
    )
    return both_ways(extended(usual, more))


def read_transient(v: View) -> Part:
    """Attention both ways within a window and over block sums, with a norm and relative positions of their own."""
    usual = read_both_ways(v)
    if v.text("encoder_attention_type") != "transient-global":
        return usual
    more = [vector("self_attn.global_input_layer_norm.weight", v.count("hidden_size"), A)]
    more += [
        t._replace(name=t.name.replace("relative", "global_relative")) for t in usual.tensors if "relative" in t.name
    ]
    return extended(usual, tuple(more))


def read_ngram(v: View) -> Part:
    """Attention for several future tokens at once, with a projection to relative positions (ProphetNet)."""
    usual = read_gqa(v)
    d, wide = v.count("hidden_size"), v.count("num_buckets") * v.count("num_attention_heads")
    more = (
        Tensor("self_attn.relative_pos_embeddings.weight", (wide, d), A),
        vector("self_attn.relative_pos_embeddings.bias", wide, A),
    )
    return extended(usual, more)


class Memory(NamedTuple):
    """Scalars of attention with relative positions: `inner` is the width of all heads."""

    d: int
    heads: int
    inner: int


@lru_cache(maxsize=256)
def relative_memory(s: Memory, usual: Part) -> Part:
    """Projections and biases of content, of positions and of segments (XLNet, arXiv 1906.08237, section 2)."""
    made = [Tensor(f"rel_attn.{x}", (s.d, s.inner), A) for x in ("q", "k", "v", "r")]
    made.append(Tensor("rel_attn.o", (s.inner, s.d), A))
    made += [vector(f"rel_attn.{x}", s.inner, A) for x in ("r_r_bias", "r_s_bias", "r_w_bias")]
    made.append(Tensor("rel_attn.seg_embed", (2, s.inner), A, Role.LOOKUP))
    return part("attention.both_ways", made, (), (), usual.info)


def read_relative_memory(v: View) -> Part:
    """XLNet's attention as the config states it."""
    usual = read_gqa(v)
    assert isinstance(usual.info, Mixing) and usual.info.head_dim is not None  # noqa: S101, PT018 - attention has both
    heads = v.count("num_attention_heads")
    return relative_memory(Memory(v.count("hidden_size"), heads, heads * usual.info.head_dim), usual)


MIXERS: dict[str, Callable[[View], Part]] = {
    "both_ways": read_both_ways,
    "back": read_back,
    "over_source": read_over_source,
    "longformer": read_longformer,
    "transient": read_transient,
    "ngram": read_ngram,
    "relative_memory": read_relative_memory,
}
