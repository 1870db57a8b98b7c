"""Attention to a source beside the text: an encoder's output, or an image's tokens.

A token of the source leaves K and V once; a token of the text leaves nothing and looks at the whole source. No config
says how long the source is, so that its bytes and its reads stand per source token, in no figure of the text. A step
of text alone passes such a layer by.
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.attention import Gqa, kind_of
from schemas.vocabulary import Component, Mixer, Role

A = Component.ATTENTION


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


@lru_cache(maxsize=1024)
def from_width(p: Part, width: int) -> Part:
    """The same attention with keys and values projected from this width."""
    sourced = ("k_proj.weight", "v_proj.weight")
    made = [t._replace(shape=(t.shape[0], width)) if t.name.endswith(sourced) else t for t in p.tensors]
    return part(p.kind, made, p.states, p.reads, p.info)


@lru_cache(maxsize=1024)
def gated_cross(s: Gqa) -> Part:
    """Attention to a source, its queries and keys normed, its output and the network's behind a learned gate each."""
    q, kv = s.heads * s.head_dim, s.kv_heads * s.head_dim
    shapes = {"q": (q, s.d), "k": (kv, s.d), "v": (kv, s.d), "o": (s.d, q)}
    roles = {"q": Role.MATMUL, "k": Role.SOURCE, "v": Role.SOURCE, "o": Role.MATMUL}
    made = [Tensor(f"cross_attn.{x}_proj.weight", shape, A, roles[x]) for x, shape in shapes.items()]
    made += [Tensor(f"cross_attn.{x}_norm.weight", (s.head_dim,), A, Role.VECTOR) for x in ("q", "k")]
    made += [Tensor(f"cross_attn_{x}_gate", (1,), A, Role.VECTOR) for x in ("attn", "mlp")]
    kind = kind_of(s.heads, s.kv_heads)
    cross, hd = Mixer.CROSS_ATTENTION, s.head_dim
    info = Mixing(cross, "cross", kind, s.heads, s.kv_heads, hd, hd, position="nope", qk_norm="head")
    looked = Read(4 * q, 2 * kv, over="source")
    return part("attention.cross", made, (State("cross", 2 * kv, keys=kv),), (looked,), info)


@lru_cache(maxsize=1024)
def merged(p: Part) -> Part:
    """The same weights over the sequence and over a source at once: both are kept and read, the source unbounded.

    T5Gemma 2: keys and values of both are joined before one product.
    """
    source = tuple(State("cross", s.elements, keys=s.keys) for s in p.states)
    looked = tuple(Read(r.flops, r.elements, over="source") for r in p.reads)
    return part("attention.merged", p.tensors, p.states + source, p.reads + looked, p.info)
