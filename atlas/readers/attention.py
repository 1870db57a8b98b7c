"""Attention with its own key and value heads as a config states it: head widths, KV heads, windows, rotary shares."""

from __future__ import annotations

from atlas.layouts.words import Cached, Heads, Shaped
from atlas.numbers.structure import Part
from atlas.parts.attention import Gqa, gqa, reading_target, values_from_keys, with_output_gate
from atlas.parts.convolved import Convolved, convolved
from atlas.readers.view import View, may_say, said
from atlas.reading.values import mapping
from atlas.refusal import bad_value, contradiction
from schemas.vocabulary import Mask


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


def rotated(v: View, width: int, mixer: str) -> int:
    """Dimensions that RoPE turns: the share that rope_parameters states for this kind of layer, else all."""
    table = v.opt("rope_parameters")
    own = None if table is None else mapping("rope_parameters", table).get(mixer)
    share = 1.0 if own is None else mapping("rope_parameters", own).get("partial_rotary_factor", 1.0)
    if type(share) not in (int, float) or not 0 <= share <= 1:
        raise bad_value("partial_rotary_factor", share, "between 0 and 1")
    return int(width * share)


def qk_norm(v: View) -> str:
    """The family's norm of queries and keys, where no switch turns it off; a switch that is null is off."""
    on = v.opt("qk_norm_switch")
    off = on is False or (on is None and "qk_norm_switch" in v.rules.defaults)
    return "none" if off else v.word("qk_norm")


def read_gqa(v: View) -> Part:
    """Attention as the config states it."""
    heads = v.count("num_attention_heads")
    return _gqa(v, heads, kv_heads(v, heads))


def _gqa(v: View, heads: int, kv: int) -> Part:
    d = v.count("hidden_size")
    hd = head_dim(v, d, heads)
    mixer, position = v.word("mixer"), v.word("position")
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
            v.word("attention_gate"),
            mixer,
            None if mixer == "full_attention" else v.count("window"),
            position,
            rotary_dim(v, hd) if position == "rope" else None,
            shared,
            shared is not None and v.flag("dead_shared_kv"),
            Mask(v.rules.facts.get("attention_mask", Mask.CAUSAL)),
        )
    )


def read_layered(v: View) -> Part:
    """Attention of the layer's own geometry; full layers may take values from keys, and then store no V projection."""
    own, mixer = said(v, Cached), v.word("mixer")
    width = v.count("head_dim") if own.head_dim is None else own.head_dim
    kv = v.count("num_key_value_heads") if own.kv_heads is None else own.kv_heads
    window = None if mixer == "full_attention" else v.count("window")
    made = gqa(
        Gqa(
            v.count("hidden_size"),
            v.count("num_attention_heads"),
            kv,
            width,
            width,
            v.flag("qkv_bias"),
            v.flag("o_bias"),
            "head",
            mixer=mixer,
            window=window,
            position="rope",
            rotary_dim=rotated(v, width, mixer),
            shared_from=own.source,
        )
    )
    return values_from_keys(made) if window is None and v.opt("attention_k_eq_v") is True else made


def read_by_layer(v: View) -> Part:
    """Attention with the query and KV heads that the layout says of the layer (OpenELM)."""
    own = said(v, Shaped)
    return _gqa(v, own.heads, own.kv_heads)


def read_target(v: View) -> Part:
    """Attention of a drafter: queries alone, over the caches of the model it drafts for."""
    return reading_target(read_layered(v))


def _query_heads(v: View, mixer: str) -> int:
    """Those of the layer, where the layout says so; else those of its kind."""
    stated = may_say(v, Heads)
    if stated is not None:
        return stated.heads
    own = v.opt_count("num_sliding_attention_heads") if mixer == "sliding_attention" else None
    return own or v.count("num_attention_heads")


def read_gated(v: View) -> Part:
    """Attention with norms of queries and keys and a gate per head or per value.

    Heads by layer, rotary share by kind of layer.
    """
    d, mixer = v.count("hidden_size"), v.word("mixer")
    heads = _query_heads(v, mixer)
    hd = head_dim(v, d, heads)
    base = gqa(
        Gqa(
            d,
            heads,
            kv_heads(v, heads),
            hd,
            hd,
            v.flag("qkv_bias"),
            v.flag("o_bias"),
            "head",
            mixer=mixer,
            window=None if mixer == "full_attention" else v.count("sliding_window"),
            rotary_dim=rotated(v, hd, mixer),
        )
    )
    per_head = v.opt("gating") in (True, "per-head")
    return with_output_gate(base, d, heads if per_head else heads * hd)


def read_window(v: View) -> Part:
    """The windowed layers' attention as the config states it."""
    kv = v.opt_count("swa_num_key_value_heads")
    if kv is None:
        kv = v.derived("swa_num_key_value_heads", 2 * v.count("num_key_value_heads"), "twice the full layers' KV heads")
    width = v.opt_count("swa_head_dim") or v.count("head_dim")
    values = v.opt_count("swa_v_head_dim") or v.count("v_head_dim")
    heads = v.opt_count("swa_num_attention_heads") or v.count("num_attention_heads")
    return gqa(
        Gqa(
            v.count("hidden_size"),
            heads,
            kv,
            width,
            values,
            v.flag("qkv_bias"),
            v.flag("o_bias"),
            sinks=v.flag("sinks"),
            mixer=v.word("mixer"),
            window=v.count("window"),
            position="rope",
            rotary_dim=rotary_dim(v, width),
        )
    )


def read_convolved(v: View) -> Part:
    """Convolved attention as the config states it."""
    d, heads, hd = v.count("hidden_size"), v.count("num_attention_heads"), v.count("head_dim")
    kv, mixer, bias = kv_heads(v, heads), v.word("mixer"), v.flag("qkv_bias")
    if kv * hd % 2:
        raise contradiction(f"{kv} KV heads of {hd} cannot be halved")
    window = None if mixer == "full_attention" else v.count("window")
    usual = Gqa(d, heads, kv, hd, hd, bias, bias, "unit", mixer=mixer, window=window, rotary_dim=rotary_dim(v, hd))
    return convolved(Convolved(usual, v.count("cca_time0"), v.count("cca_time1")))
