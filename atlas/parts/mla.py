"""Multi-head latent attention: what is kept is one latent per token and one rotary key shared by all heads.

DeepSeek-V2 (arXiv 2405.04434), section 2.1. Counted in the absorbed form: scores and values are taken from the latent
itself, so that
one token costs 2 x heads x ((kv_lora_rank + rope) + kv_lora_rank) FLOPs per position.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.reading.config import View
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


def scalars(v: View) -> Mla:
    """The scalars as the config states them.

    Key heads are a rule of the architecture, so KV heads are not asked for.
    """
    v.config.read.update(("num_key_value_heads", "head_dim"))
    return Mla(
        v.count("hidden_size"),
        v.count("num_attention_heads"),
        v.opt_count("q_lora_rank"),
        v.count("kv_lora_rank"),
        v.count("qk_nope_head_dim"),
        v.size("qk_rope_head_dim"),
        v.count("v_head_dim"),
        v.flag("qkv_bias"),
        v.text("position"),
    )


def read_mla(v: View) -> Part:
    """Latent attention as the config states it."""
    return mla(scalars(v))
