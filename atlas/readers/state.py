"""Mixers with a state of fixed size, as a config states them."""

from __future__ import annotations

from math import ceil

from atlas.numbers.structure import Part
from atlas.parts.convolved import short_conv
from atlas.parts.linear import Linear, gated_linear
from atlas.parts.recurrent import (
    GatedDelta,
    Kda,
    Lightning,
    Lru,
    Mlstm,
    channel_mix,
    gated_delta,
    kda,
    lightning,
    lightning_normed,
    mlstm,
    rg_lru,
    rwkv,
)
from atlas.parts.selective import HeadedMamba, Mamba, Mamba2, headed_mamba, mamba, mamba2
from atlas.readers.attention import head_dim
from atlas.readers.view import View
from atlas.reading.values import finite
from atlas.refusal import bad_value, contradiction, not_derivable


def read_mamba2(v: View) -> Part:
    """A Mamba-2 mixer as the config states it."""
    d, heads = v.count("hidden_size"), v.count("mamba_n_heads")
    inner = _inner(v, d)
    width = v.opt("mamba_d_head")
    if width in (None, "auto") and inner is not None:
        width = v.derived("mamba_d_head", inner // heads, f"inner width over heads = {inner} / {heads}")
    else:
        width = v.count("mamba_d_head")
    if inner is not None and inner != heads * width:
        raise contradiction(f"inner width {inner} is not {heads} heads of {width}")
    return mamba2(
        Mamba2(
            d,
            heads,
            width,
            v.count("mamba_n_groups"),
            v.count("mamba_d_state"),
            v.count("mamba_d_conv"),
            v.flag("mamba_conv_bias"),
            v.flag("mamba_proj_bias"),
            v.flag("mamba_out_bias"),
            v.flag("mamba_rms_norm"),
        )
    )


def _inner(v: View, d: int) -> int | None:
    """The stated inner width, else the hidden size times the stated expansion; None where heads alone decide."""
    stated = v.opt_count("mamba_d_ssm")
    if stated is not None:
        return stated
    expand = v.config.number("mamba_expand")
    return None if expand is None else v.derived("mamba_d_ssm", int(expand * d), f"{expand:g} x hidden_size")


def read_mamba(v: View) -> Part:
    """A Mamba mixer as the config states it."""
    d, rank = v.count("hidden_size"), v.need("mamba_dt_rank")
    inner = _inner_width(v, d)
    width = (
        v.derived("time_step_rank", ceil(d / 16), "hidden_size / 16, rounded up")
        if rank == "auto"
        else v.count("mamba_dt_rank")
    )
    return mamba(
        Mamba(
            d,
            inner,
            v.count("mamba_d_state"),
            v.count("mamba_d_conv"),
            width,
            v.flag("mamba_proj_bias"),
            v.flag("mamba_conv_bias"),
            v.flag("mamba_norms"),
        )
    )


def _inner_width(v: View, d: int) -> int:
    """The stated inner width, which goes before the expansion (Falcon-Mamba-7B states 8,192 beside 16 x 4,096)."""
    stated = v.opt_count("mamba_inner")
    if stated is not None:
        return stated
    expand = finite("mamba_expand", v.config.need("mamba_expand"))
    if expand * d < 1:
        raise contradiction(f"an expansion of {expand:g} leaves no inner width")
    return v.derived("mamba_inner", int(expand * d), f"{expand:g} x hidden_size")


def read_headed_mamba(v: View) -> Part:
    """Zamba's Mamba as the config states it."""
    d, rank = v.count("hidden_size"), v.opt("mamba_dt_rank")
    if rank in (None, "auto"):
        rank = v.derived("mamba_dt_rank", ceil(d / 16), "hidden_size / 16, rounded up")
    expand = v.count("mamba_expand")
    return headed_mamba(
        HeadedMamba(
            d,
            expand * d,
            v.count("n_mamba_heads"),
            v.count("mamba_d_state"),
            v.count("mamba_d_conv"),
            v.count("mamba_dt_rank") if type(rank) is not int else rank,
            v.flag("mamba_conv_bias"),
            v.flag("mamba_proj_bias"),
        )
    )


def read_gated_delta(v: View) -> Part:
    """A gated delta-rule mixer as the config states it."""
    return gated_delta(
        GatedDelta(
            v.count("hidden_size"),
            v.count("linear_num_key_heads"),
            v.count("linear_num_value_heads"),
            v.count("linear_key_head_dim"),
            v.count("linear_value_head_dim"),
            v.count("linear_conv_kernel_dim"),
        )
    )


def _share(v: View, field: str) -> float:
    """A width as a share of another; raises `Unknown` where it is null, `Refused` where it is not above 0."""
    share = finite(field, v.config.need(field))
    if share <= 0:
        raise bad_value(field, share, "a number above 0")
    return share


def read_gated_linear(v: View) -> Part:
    """Linear attention as the config states it."""
    return gated_linear(_linear(v))


def _linear(v: View) -> Linear:
    """Its scalars: widths are shares of the hidden size, or heads of a stated width."""
    d, heads, stated = v.count("hidden_size"), v.count("num_attention_heads"), v.opt_count("head_dim")
    value_heads = v.opt_count("num_value_heads") or heads
    wide = _share(v, "expand_k") * d if stated is None else heads * stated
    many = _share(v, "expand_v") * (d if stated is None else value_heads * stated)
    if wide != int(wide) or many != int(many) or wide % heads or many % value_heads:
        raise contradiction(f"keys of {wide:g} and values of {many:g} do not divide into {heads} and {value_heads}")
    if value_heads != heads:
        raise not_derivable("num_v_heads is not num_heads: no published model has it")
    kv = v.opt_count("num_key_value_heads") or heads
    if heads % kv:
        raise contradiction(f"{heads} heads do not divide into {kv} groups")
    kernel = v.count("linear_conv_kernel_dim") if v.flag("use_short_conv") else 0
    gates = v.flag("use_output_gate"), v.opt_count("key_gate_rank") or 0, v.flag("betas"), v.flag("decays")
    return Linear(d, heads, int(wide), int(many), heads // kv, kernel, *gates, v.word("linear_label"))


def read_slots(v: View) -> Part:
    """Keys and values written to slots through a gate (GSA), or keys that are gates themselves (HGRN 2)."""
    usual = _linear(v)
    if v.flag("keys_are_gates"):
        return gated_linear(usual._replace(whole_norm=True, key_decays=True))
    slots = v.opt_count("num_slots")
    if slots is None:
        slots = v.derived("num_slots", usual.keys // usual.heads, "as many as a key is wide, as none are stated")
    return gated_linear(usual._replace(whole_norm=True, slots=slots))


def read_kda(v: View) -> Part:
    """A mixer as the config states it."""
    heads, width, kernel = v.count("linear_num_heads"), v.count("linear_head_dim"), v.count("linear_conv_kernel_dim")
    low_rank = v.opt("full_rank_gates") is not True
    return kda(Kda(v.count("hidden_size"), heads, width, kernel, low_rank, low_rank))


def read_delta(v: View) -> Part:
    """The delta rule; with a full-rank output gate the checkpoint stores a decay per column, not per head."""
    heads, width, kernel = v.count("linear_num_heads"), v.count("linear_head_dim"), v.count("linear_conv_kernel_dim")
    full = v.opt("use_full_rank_gate") is True
    if full and heads > width:
        raise not_derivable(f"how many decays are stored for {heads} heads of {width} columns is not known")
    if full:
        v.derived("stored_decays", width, "head_dim numbers a layer, of which the first num_heads are used")
    return kda(Kda(v.count("hidden_size"), heads, width, kernel, True, not full, width if full else None))


def read_lightning(v: View) -> Part:
    """A mixer as the config states it."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    return lightning(Lightning(d, heads, head_dim(v, d, heads), v.count("block_size")))


def read_lightning_normed(v: View) -> Part:
    """A mixer with norms of queries and keys, with as many key as query heads (Ling 2.5)."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    if v.opt("num_kv_heads_for_linear_attn") not in (None, heads):
        raise not_derivable("num_kv_heads_for_linear_attn is not num_attention_heads: no published model has it")
    return lightning_normed(d, heads, head_dim(v, d, heads), v.flag("use_qk_norm"))


def read_mlstm(v: View) -> Part:
    """A matrix LSTM as the config states it; widths are shares of the hidden size."""
    d, heads = v.count("hidden_size"), v.count("num_heads")
    widths: list[int] = []
    for field in ("qk_dim_factor", "v_dim_factor"):
        share = v.number(field)
        width = int(d * share) if share is not None and 0 < share <= 64 else 0
        if not width or width % heads:
            raise contradiction(f"{field} {share} of hidden_size {d} does not divide into {heads} heads")
        widths.append(v.derived(field.removesuffix("_factor"), width, f"{share:g} x hidden_size"))
    return mlstm(Mlstm(d, heads, widths[0], widths[1], v.flag("ffn_bias")))


def read_rg_lru(v: View) -> Part:
    """An RG-LRU block as the config states it; as wide as the hidden state where no width is stated."""
    d, heads, width = v.count("hidden_size"), v.count("num_attention_heads"), v.opt_count("lru_width")
    if width is None:
        width = v.derived("lru_width", d, "hidden_size, as no width is stated")
    if width % heads:
        raise contradiction(f"a recurrence {width} wide does not split into {heads} blocks")
    return rg_lru(Lru(d, width, heads, v.count("conv1d_width")))


def read_rwkv(v: View) -> Part:
    """RWKV-4's time mixing as the config states it."""
    d = v.count("hidden_size")
    stated = v.opt_count("attention_hidden_size")
    return rwkv(
        d, v.derived("attention_hidden_size", d, "hidden_size, as none is stated") if stated is None else stated
    )


def read_channel_mix(v: View) -> Part:
    """RWKV-4's channel mixing as the config states it; four times the hidden size where no width is stated."""
    d, d_ff = v.count("hidden_size"), v.opt_count("intermediate_size")
    return channel_mix(
        d, v.derived("intermediate_size", 4 * d, "4 x hidden_size, as none is stated") if d_ff is None else d_ff
    )


def read_short_conv(v: View) -> Part:
    """A gated short convolution as the config states it."""
    return short_conv(v.count("hidden_size"), v.count("conv_kernel"), v.flag("conv_bias"))
