"""Mistral Large 4: latent attention straight from the hidden state, with and without positions, behind an indexer.

Queries are scaled by the logarithm of the position, with a scale and a bias per head.
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts import mla
from atlas.parts.ends import decoder, kept
from atlas.parts.sparse import INDEX_WIDTH, Indexer, read_indexer
from atlas.reading.config import Config, View
from schemas.vocabulary import Component, Mixer, Role

A = Component.ATTENTION


@lru_cache(maxsize=512)
def scaled(s: mla.Mla, ix: Indexer, own: bool) -> Part:
    """Attention of these scalars; `own` false where an earlier layer's choice is used."""
    base = mla.mla(s)
    assert isinstance(base.info, Mixing)  # noqa: S101 - attention says what it is
    made = [*base.tensors, *_scaling("self_attn", s.heads), *(_indexer(s.d, ix) if own else [])]
    states, reads = base.states, tuple(r._replace(limit=ix.top_k) for r in base.reads)
    if own:
        states += (State("index", ix.width, width=INDEX_WIDTH),)
        reads += (Read(2 * ix.heads * ix.width, ix.width, width=INDEX_WIDTH),)
    info = base.info._replace(mixer=Mixer.SPARSE_ATTENTION, label="dsa" if own else "dsa-shared")
    return part("attention.dsa_scaled", made, states, reads, info)


def _scaling(prefix: str, heads: int) -> list[Tensor]:
    return [Tensor(f"{prefix}.softmax_scaling.{n}", (heads,), A, Role.VECTOR) for n in ("scale", "bias")]


def _indexer(d: int, ix: Indexer) -> list[Tensor]:
    shapes = {"wq_b": (ix.heads * ix.width, d), "wk": (ix.width, d), "weights_proj": (ix.heads, d)}
    made = [Tensor(f"self_attn.indexer.{n}.weight", x, A) for n, x in shapes.items()]
    norms = {"k_norm": ix.width, "q_input_norm": d}
    made += [
        Tensor(f"self_attn.indexer.{n}.{x}", (w,), A, Role.VECTOR) for n, w in norms.items() for x in ("weight", "bias")
    ]
    return made + _scaling("self_attn.indexer", ix.heads)


def read_scaled(v: View) -> Part:
    """Attention as the config states it; without positions the rotary part of a head joins the rest."""
    s, rotates = mla.scalars(v), v.word("position") == "rope"
    s = s._replace(q_rank=None) if rotates else s._replace(q_rank=None, nope=s.nope + s.rope, rope=0)
    return scaled(s, read_indexer(v), v.flag("own_indexer"))


def ends_with_frequencies(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """A decoder's ends, and a learned factor for each rotary frequency."""
    parts, cls = decoder(c)
    factors = Tensor("model.rotary_emb.alpha", (c.count("qk_rope_head_dim") // 2,), Component.OTHER, Role.VECTOR)
    return (*parts, kept("rotary.factors", factors)), cls
