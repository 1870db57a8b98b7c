"""Latent attention as a config states it, plain, behind an indexer, with what families add to it, or compressed."""

from __future__ import annotations

from atlas.layouts.words import Borrowed
from atlas.numbers.structure import Part
from atlas.parts.borrowed import Sourced, sourced
from atlas.parts.compressed import Compressed, compressed
from atlas.parts.differential import gdla
from atlas.parts.latent import Additions, Mla, mla, with_additions
from atlas.parts.sparse import Blocks, Dsa, Indexer, block_sparse, dsa, scaled, strided
from atlas.readers.attention import read_gqa
from atlas.readers.view import View, may_say
from atlas.reading.config import Config
from atlas.refusal import contradiction


def latent(v: View) -> Mla:
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
        v.word("position"),
    )


def read_mla(v: View) -> Part:
    """Latent attention as the config states it."""
    return mla(latent(v))


def read_indexer(v: View) -> Indexer:
    """The indexer as the config states it."""
    return Indexer(v.count("index_n_heads"), v.count("index_head_dim"), v.count("index_topk"))


def read_dsa(v: View) -> Part:
    """Sparse latent attention as the config states it."""
    return dsa(Dsa(latent(v), read_indexer(v), v.flag("own_indexer")))


def read_latent(v: View) -> Part:
    """Latent attention with what the row's facts add, behind an indexer where the row says so."""
    a, own = latent(v), v.opt("own_indexer")
    return with_additions(mla(a) if own is None else dsa(Dsa(a, read_indexer(v), own)), _additions(v, a))


def _additions(v: View, a: Mla) -> Additions:
    gates = {"none": 0, "per_head": a.heads, "per_value": a.heads * a.v_head_dim}
    pool = v.opt_count("index_kpool") or 0
    return Additions(
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


def read_full(v: View) -> Part:
    """Latent attention without positions; a gate per value where `mla_use_output_gate` says so."""
    s = latent(v)
    if v.opt("mla_use_output_gate") is not True:
        return mla(s)
    return with_additions(mla(s), Additions(s.d, s.heads, s.rope, gate=s.heads * s.v_head_dim))


def read_scaled(v: View) -> Part:
    """Attention as the config states it; without positions the rotary part of a head joins the rest."""
    s, rotates = latent(v), v.word("position") == "rope"
    s = s._replace(q_rank=None) if rotates else s._replace(q_rank=None, nope=s.nope + s.rope, rope=0)
    return scaled(s, read_indexer(v), v.flag("own_indexer"))


def read_block_sparse(v: View) -> Part:
    """Attention behind an indexer over blocks: it lets so many blocks through, or so many positions of them."""
    positions = v.opt_count("index_budget") or v.count("index_topk_blocks") * v.count("index_block_size")
    pool = v.opt_count("index_pool") or 1
    scalars = Blocks(v.count("hidden_size"), v.count("index_n_heads"), v.count("index_head_dim"), positions, pool)
    return block_sparse(read_gqa(v), scalars)


def read_strided(v: View) -> Part:
    """Attention over local blocks and every n-th block before them (Phi-3-small)."""
    local = v.count("blocksparse_num_local_blocks") * v.count("blocksparse_block_size")
    return strided(read_gqa(v), local, v.count("blocksparse_vert_stride"))


def read_gdla(v: View) -> Part:
    """Grouped differential attention: key heads share the latent, so that they are no heads of the cache."""
    heads, noise, shared = v.count("num_attention_heads"), v.count("num_noise_heads"), v.count("num_key_value_heads")
    width, rope = v.count("head_dim"), v.count("qk_rope_head_dim")
    if (heads - noise) % noise or rope >= width:
        raise contradiction(f"{heads} heads are no groups of {noise} noise heads, or rope {rope} fills {width}")
    window = None if v.word("mixer") == "full_attention" else v.count("window")
    ranks, values = (v.count("q_lora_rank"), v.count("kv_lora_rank")), v.count("v_head_dim")
    scalars = Mla(v.count("hidden_size"), heads, *ranks, width - rope, rope, values)
    return gdla(scalars, heads - noise, shared, window)


def read_sourced(v: View) -> Part:
    """A window, and a compressed cache that the layout says this or an earlier layer makes (DeepSeek-V4.1)."""
    own = may_say(v, Borrowed) or Borrowed("window")
    indexer = read_indexer(v) if own.index else None
    chooses = own.index in ("choice", "keys")
    return sourced(Sourced(_common(v.config), own.ratio, own.makes, own.source, indexer, chooses, own.index == "keys"))


def read_compressed(v: View) -> Part:
    """A layer's attention as the config states it; `compression` is none, heavy or sparse."""
    kind = v.word("compression")
    rate = 0 if kind == "none" else v.count(f"compress_rate_{kind}")
    indexer = read_indexer(v) if kind == "sparse" else None
    return compressed(_common(v.config)._replace(rate=rate, indexer=indexer))


def _common(c: Config) -> Compressed:
    """What all layers have in common."""
    c.read.add("num_key_value_heads")
    return Compressed(
        c.count("hidden_size"),
        c.count("num_attention_heads"),
        c.count("head_dim"),
        c.count("q_lora_rank"),
        c.count("o_groups"),
        c.count("o_lora_rank"),
        c.count("qk_rope_head_dim"),
        c.count("sliding_window"),
    )
