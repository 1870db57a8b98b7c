"""Multi-head latent attention: what is kept is one latent per token and one rotary key shared by all heads.

DeepSeek-V2 (arXiv 2405.04434), section 2.1. Counted in the absorbed form: scores and values are taken from the latent
itself, so that
one token costs 2 x heads x ((kv_lora_rank + rope) + kv_lora_rank) FLOPs per position.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from schemas.vocabulary import AttentionKind, Component, Mixer, Role

A = Component.ATTENTION


class Mla(NamedTuple):
    """Scalars of latent attention, in elements; `q_rank` None where queries come straight from the hidden state."""

    d: int
    heads: int
    q_rank: int | None
    kv_rank: int
    nope: int
    rope: int
    v_head_dim: int
    bias: bool = False
    position: str = "rope"


@lru_cache(maxsize=4096)
def mla(s: Mla) -> Part:
    """Latent attention of these scalars."""
    held = s.kv_rank + s.rope
    read = Read(2 * s.heads * (held + s.kv_rank), held, prefill=expanded(s))
    info = Mixing(
        Mixer.FULL_ATTENTION,
        "mla",
        AttentionKind.MLA,
        s.heads,
        None,
        s.nope + s.rope,
        s.v_head_dim,
        None,
        s.position,
        s.rope if s.position == "rope" else None,
        "latent",
        s.bias,
        latent=s.kv_rank,
    )
    return part("attention.mla", weights(s), (State("kv", held, keys=held),), (read,), info)


def expanded(s: Mla) -> int:
    """FLOPs per entry where the latent is expanded to keys and values of every head, as over a whole prompt."""
    return 2 * s.heads * (s.nope + s.rope + s.v_head_dim)


def weights(s: Mla) -> list[Tensor]:
    """The projections of latent attention and the norms of its latents."""
    wide = s.heads * (s.nope + s.rope)
    if s.q_rank is None:
        made = [Tensor("self_attn.q_proj.weight", (wide, s.d), A)]
    else:
        made = [
            Tensor("self_attn.q_a_proj.weight", (s.q_rank, s.d), A),
            Tensor("self_attn.q_a_layernorm.weight", (s.q_rank,), A, Role.VECTOR),
            Tensor("self_attn.q_b_proj.weight", (wide, s.q_rank), A),
        ]
        made += [Tensor("self_attn.q_a_proj.bias", (s.q_rank,), A, Role.VECTOR)] * s.bias
    made += [Tensor("self_attn.kv_a_proj_with_mqa.bias", (s.kv_rank + s.rope,), A, Role.VECTOR)] * s.bias
    made += [Tensor("self_attn.o_proj.bias", (s.d,), A, Role.VECTOR)] * s.bias
    return [
        *made,
        Tensor("self_attn.kv_a_proj_with_mqa.weight", (s.kv_rank + s.rope, s.d), A),
        Tensor("self_attn.kv_a_layernorm.weight", (s.kv_rank,), A, Role.VECTOR),
        Tensor("self_attn.kv_b_proj.weight", (s.heads * (s.nope + s.v_head_dim), s.kv_rank), A),
        Tensor("self_attn.o_proj.weight", (s.d, s.heads * s.v_head_dim), A),
    ]


class Additions(NamedTuple):
    """What is added: rows of an output gate, sinks, a norm of the rotary key, a window, tokens per indexer pool."""

    d: int
    heads: int
    rope: int
    gate: int = 0
    sinks: bool = False
    key_norm: bool = False
    window: int | None = None
    pool: int = 0
    index_width: int = 2  # bytes of an index element
    joint: int = 0  # rows of one projection of queries and gate, from two latents (A.X K2)


@lru_cache(maxsize=1024)
def with_additions(base: Part, s: Additions) -> Part:
    """The attention `base` with what `s` adds."""
    kept = [t for t in base.tensors if not (s.joint and ".q_b_proj." in t.name)]
    states = tuple(_state(x, s) for x in base.states)
    reads = tuple(_read(x, s) for x in base.reads)
    return part(f"{base.kind}.more", [*kept, *_added(base, s)], states, reads, _info(base, s))


def _added(base: Part, s: Additions) -> list[Tensor]:
    made = [Tensor("self_attn.g_proj.weight", (s.gate, s.d), A)] * (s.gate > 0)
    made += [Tensor("self_attn.sinks", (s.heads,), A, Role.VECTOR)] * s.sinks
    made += [Tensor("self_attn.k_rope_only_layernorm.weight", (s.rope,), A, Role.VECTOR)] * s.key_norm
    index = next((x.elements for x in base.states if x.kind == "index"), 0)
    if s.pool and index:
        made.append(Tensor("self_attn.indexer.index_kpool_compress_ape", (s.pool, index), A, Role.VECTOR))
        made.append(Tensor("self_attn.indexer.index_kpool_compress_gate", (index, s.d), A))
    if s.joint:
        rank = next(t.shape[0] for t in base.tensors if ".q_a_proj.weight" in t.name)
        made.append(Tensor("self_attn.q_gate_proj.weight", (s.joint, 2 * rank), A))
    return made


def _state(x: State, s: Additions) -> State:
    """A pooled indexer keeps key, gate score and a mark of every token.

    Keys of pools are made from them when they are read.
    """
    if x.kind == "index":
        return x._replace(elements=2 * x.elements + 1 if s.pool else x.elements, width=s.index_width)
    return x._replace(window=s.window)


def _read(x: Read, s: Additions) -> Read:
    """Reads of the index are those of a width of their own.

    Pools are scored once each, and all their tokens are loaded.
    """
    if x.width is None:
        return x._replace(window=s.window)
    if not s.pool:
        return x._replace(width=s.index_width)
    return x._replace(elements=s.pool * (2 * x.elements + 1), stride=s.pool, width=s.index_width)


def _info(base: Part, s: Additions) -> Mixing:
    assert isinstance(base.info, Mixing)  # noqa: S101 - attention says what it is
    changed = base.info._replace(has_sinks=s.sinks, qk_norm="key" if s.key_norm else base.info.qk_norm)
    return (
        changed
        if s.window is None
        else changed._replace(mixer=Mixer.SLIDING_ATTENTION, label="mla-swa", window=s.window)
    )
