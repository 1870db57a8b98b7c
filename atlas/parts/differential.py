"""Grouped differential attention over a latent: some heads carry noise that is taken from the others (Motif-3).

What is kept is the latent and one rotary key, as in any latent attention; signal heads alone reach the output, each
gated by value, with a weight per signal head and token for the noise.
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.latent import Mla, expanded
from atlas.parts.norms import vector
from schemas.vocabulary import AttentionKind, Component, Mixer

A = Component.ATTENTION


@lru_cache(maxsize=256)
def gdla(s: Mla, signal: int, kv_heads: int, window: int | None) -> Part:
    """Attention of these scalars; `signal` of the heads reach the output."""
    rank = s.q_rank
    assert rank is not None  # noqa: S101 - the reader asks for it
    held, values = s.kv_rank + s.rope, signal * s.v_head_dim
    made = [
        Tensor("self_attn.wq_a.weight", (rank, s.d), A),
        vector("self_attn.q_norm.weight", rank, A),
        Tensor("self_attn.wq_b.weight", (s.heads * (s.nope + s.rope), rank), A),
        Tensor("self_attn.wq_b_gate.weight", (values, rank), A),
        Tensor("self_attn.wkv_a.weight", (held, s.d), A),
        vector("self_attn.kv_norm.weight", s.kv_rank, A),
        Tensor("self_attn.wkv_b.weight", (kv_heads * (s.nope + s.v_head_dim), s.kv_rank), A),
        Tensor("self_attn.lambda_proj.weight", (signal, s.d), A),
        Tensor("self_attn.wo.weight", (s.d, values), A),
    ]
    mixer = Mixer.FULL_ATTENTION if window is None else Mixer.SLIDING_ATTENTION
    width = s.nope + s.rope
    label = "gdla" if window is None else "gdla-swa"
    info = Mixing(mixer, label, AttentionKind.MLA, s.heads, None, width, s.v_head_dim, window, "rope", s.rope, "latent")
    read = Read(2 * s.heads * (held + s.kv_rank), held, window=window, prefill=expanded(s))
    return part("attention.gdla", made, (State("kv", held, window=window, keys=held),), (read,), info)
