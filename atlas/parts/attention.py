"""Softmax attention with its own key and value heads: MHA, GQA, MQA, windowed, chunked, with sinks, gates.

Biases, norms.

Cache per token: K of head_dim and V of v_head_dim for each KV head (Ainslie et al. 2023, GQA, section 2.2).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.families import Spec
from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.reading.config import View
from atlas.refusal import bad_value, contradiction
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
    kv = State("kv", held, window=s.window, keys=keys)
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


def head_dim(v: View, d: int, heads: int) -> int:
    """The stated head width, else hidden size over heads; raises `Refused` where that is no whole number."""
    stated = v.opt_count("head_dim")
    if stated is not None:
        return stated
    if d < heads or (d % heads and not v.opt("head_dim_floors")):
        raise contradiction(f"hidden_size {d} is not a multiple of {heads} heads and no head_dim is stated")
    return v.derived("head_dim", d // heads, f"hidden_size / num_attention_heads = {d} / {heads}")


def kv_heads(v: View, heads: int) -> int:
    """The stated KV heads, else as many as query heads."""
    stated = v.opt_count("num_key_value_heads")
    return (
        v.derived("num_key_value_heads", heads, "one per query head: no KV heads are stated")
        if stated is None
        else stated
    )


def rotary_dim(v: View, width: int) -> int | None:
    """How many of a head's dimensions are rotated: a stated share, else a stated width, else all."""
    share = v.opt("partial_rotary_factor")
    if share is None:
        stated = v.opt_count("rotary_dim")
        return width if stated is None else min(stated, width)
    if type(share) not in (int, float) or not 0 <= share <= 1:
        raise bad_value("partial_rotary_factor", share, "between 0 and 1")
    return int(width * share)


def qk_norm(v: View) -> str:
    """The family's norm of queries and keys, where no switch turns it off; a switch that is null is off."""
    on = v.opt("qk_norm_switch")
    off = on is False or (on is None and "qk_norm_switch" in v.rules.defaults)
    return "none" if off else v.text("qk_norm")


def read_gqa(v: View) -> Part:
    """Attention as the config states it."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    kv = kv_heads(v, heads)
    hd = head_dim(v, d, heads)
    mixer, position = v.text("mixer"), v.text("position")
    shared = v.opt("kv_shared_from")
    return gqa(
        Gqa(
            d,
            heads,
            kv,
            hd,
            v.opt_count("v_head_dim") or hd,
            v.flag("qkv_bias"),
            v.flag("o_bias"),
            qk_norm(v),
            v.flag("qk_norm_bias"),
            v.flag("sinks"),
            v.text("attention_gate"),
            mixer,
            None if mixer == "full_attention" else v.count("window"),
            position,
            rotary_dim(v, hd) if position == "rope" else None,
            shared,
            shared is not None and v.flag("dead_shared_kv"),
            Mask(v.rules.facts.get("attention_mask", Mask.CAUSAL)),
        )
    )


OF_ATTENTION = frozenset((
    "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "head_dim_floors", "v_head_dim",
    "qkv_bias", "o_bias", "qk_norm", "qk_norm_switch", "qk_norm_bias", "sinks", "attention_gate", "mixer", "window",
    "position", "partial_rotary_factor", "rotary_dim", "kv_shared_from", "dead_shared_kv",
))  # fmt: skip
"""What the reader above asks for."""


@lru_cache(maxsize=1024)
def _own(spec: Spec) -> str:
    """What a part says of attention for itself, as a key."""
    said = (*sorted(spec.facts.items()), *sorted(spec.fields.items()))
    return repr([item for item in said if item[0] in OF_ATTENTION])


def read_alike(v: View) -> Part:
    """Attention as the config states it, read once for all the parts that say the same of it themselves."""
    root = v.config
    key = "attention []" if v is root else f"attention {_own(v.spec)}"
    if key not in root.shared:
        root.shared[key] = read_gqa(v)
    return root.shared[key]


def read_falcon(v: View) -> Part:
    """Falcon's attention: its KV heads follow from two switches, its positions from a third."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    c = v.config
    if c.flag("new_decoder_architecture"):
        kv = kv_heads(v, heads)
    else:
        shared = c.flag("multi_query")
        kv = v.derived(
            "num_key_value_heads",
            1 if shared else heads,
            "multi_query: one KV head" if shared else "one KV head per query head",
        )
    hd, position = head_dim(v, d, heads), "alibi" if c.flag("alibi") else "rope"
    c.derived("position", position, "alibi is " + str(position == "alibi").lower())
    rotated = hd if position == "rope" else None
    return gqa(Gqa(d, heads, kv, hd, hd, v.flag("qkv_bias"), v.flag("o_bias"), position=position, rotary_dim=rotated))
