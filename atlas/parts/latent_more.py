"""What families add to latent attention: output gates, sinks, a norm of the rotary key, windows, pooled indexers.

A row says by facts of the part which of these a layer has; the rest is the attention of `mla` or `sparse`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts import mla
from atlas.parts.sparse import Dsa, dsa, read_indexer
from atlas.reading.config import View
from schemas.vocabulary import Component, Mixer, Role

A = Component.ATTENTION


class More(NamedTuple):
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
def more(base: Part, s: More) -> Part:
    """The attention `base` with what `s` adds."""
    kept = [t for t in base.tensors if not (s.joint and ".q_b_proj." in t.name)]
    states = tuple(_state(x, s) for x in base.states)
    reads = tuple(_read(x, s) for x in base.reads)
    return part(f"{base.kind}.more", [*kept, *_added(base, s)], states, reads, _info(base, s))


def _added(base: Part, s: More) -> list[Tensor]:
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


def _state(x: State, s: More) -> State:
    """A pooled indexer keeps key, gate score and a mark of every token.

    Keys of pools are made from them when they are read.
    """
    if x.kind == "index":
        return x._replace(elements=2 * x.elements + 1 if s.pool else x.elements, width=s.index_width)
    return x._replace(window=s.window)


def _read(x: Read, s: More) -> Read:
    """Reads of the index are those of a width of their own.

    Pools are scored once each, and all their tokens are loaded.
    """
    if x.width is None:
        return x._replace(window=s.window)
    if not s.pool:
        return x._replace(width=s.index_width)
    return x._replace(elements=s.pool * (2 * x.elements + 1), stride=s.pool, width=s.index_width)


def _info(base: Part, s: More) -> Mixing:
    assert isinstance(base.info, Mixing)  # noqa: S101 - attention says what it is
    changed = base.info._replace(has_sinks=s.sinks, qk_norm="key" if s.key_norm else base.info.qk_norm)
    return (
        changed
        if s.window is None
        else changed._replace(mixer=Mixer.SLIDING_ATTENTION, label="mla-swa", window=s.window)
    )


def read_latent(v: View) -> Part:
    """Latent attention with what the row's facts add, behind an indexer where the row says so."""
    a, own = mla.scalars(v), v.opt("own_indexer")
    return more(mla.mla(a) if own is None else dsa(Dsa(a, read_indexer(v), own)), _scalars(v, a))


def read_latent_plain(v: View) -> Part:
    """The same in a layer that has no indexer in a family whose other layers have one."""
    a = mla.scalars(v)
    return more(mla.mla(a), _scalars(v, a))


def _scalars(v: View, a: mla.Mla) -> More:
    gates = {"none": 0, "per_head": a.heads, "per_value": a.heads * a.v_head_dim}
    pool = v.opt_count("index_kpool") or 0
    return More(
        a.d,
        a.heads,
        a.rope,
        gates[v.opt("latent_gate") or "none"],
        v.opt("sinks") is True,
        v.opt("key_norm") is True,
        v.opt_count("window"),
        pool,
        v.opt_count("index_width") or 2,
        a.heads * (a.nope + a.rope + a.v_head_dim) if v.opt("joint_gate") is True else 0,
    )
