"""Widths, and what a network is, where they follow from other keys."""

from __future__ import annotations

from typing import Any

from atlas.reading.config import Config
from atlas.reading.derivations.rule import Found, Rule
from atlas.reading.encoder import encoder_reader
from atlas.refusal import bad_value, contradiction


def value_width(c: Config) -> Found:
    """The hidden size over heads, where no width of values is stated (MiniCPM3)."""
    if c.opt_count("v_head_dim") is not None:
        return None
    d, heads = c.count("hidden_size"), c.count("num_attention_heads")
    if d % heads:
        raise contradiction(f"hidden_size {d} is not a multiple of {heads} heads and no v_head_dim is stated")
    return d // heads, f"hidden_size / num_attention_heads = {d} / {heads}"


def linear_key_heads(c: Config) -> Found:
    """As many key heads as attention has query heads, where none are stated (OLMo Hybrid)."""
    return _heads(c, "linear_num_key_heads")


def linear_value_heads(c: Config) -> Found:
    """As many value heads as attention has query heads, where none are stated (OLMo Hybrid)."""
    return _heads(c, "linear_num_value_heads")


def _heads(c: Config, field: str) -> Found:
    return None if c.opt_count(field) is not None else (c.count("num_attention_heads"), "one per query head")


def three_quarters_per_head(c: Config) -> Found:
    """Keys of three quarters of the hidden size over all heads, where no width is stated (OLMo Hybrid)."""
    if c.opt_count("linear_key_head_dim") is not None:
        return None
    d, heads = c.count("hidden_size"), c.count("linear_num_key_heads")
    return int(0.75 * d / heads), f"0.75 x hidden_size / linear_num_key_heads = 0.75 x {d} / {heads}"


def twice_the_key(c: Config) -> Found:
    """Values twice as wide as keys, where no width is stated (OLMo Hybrid)."""
    if c.opt_count("linear_value_head_dim") is not None:
        return None
    return 2 * c.count("linear_key_head_dim"), "2 x linear_key_head_dim"


def one_if_wide(c: Config) -> Found:
    """One shared expert where its width is not 0 (Granite)."""
    return int(c.size("shared_intermediate_size") > 0), "one where shared_intermediate_size is not 0"


def half_of_ffn_dim(c: Config) -> Found:
    """The stated width counts gate and up projection together (Moshi)."""
    stated = c.count("ffn_dim")
    return stated // 2, f"half of ffn_dim {stated}"


def two_thirds_in_eights(c: Config) -> Found:
    """Two thirds of the stated width, rounded down to a whole number and up to a multiple of 8 (NeoBERT)."""
    stated = c.count("ffn_dim")
    return -(-(2 * stated // 3) // 8) * 8, f"2/3 of {stated}, rounded up to a multiple of 8"


def width_rounded_up(c: Config) -> Found:
    """A multiple of the hidden size, rounded up (xLSTM)."""
    factor, unit = c.number("ffn_proj_factor"), c.count("ffn_round_up_to_multiple_of")
    if factor is None or not 0 < factor <= 1000:
        raise bad_value("ffn_proj_factor", factor, "a number above 0")
    width = int((c.count("hidden_size") * factor + unit - 1) // unit * unit)
    return width, f"{factor:g} x hidden_size, rounded up to a multiple of {unit}"


def two_thirds_of_ratio(c: Config) -> Found:
    """Two thirds of a multiple of the hidden size, rounded up to 256, where no width is stated (FLA's networks)."""
    if c.opt_count("intermediate_size") is not None:
        return None
    ratio = c.opt_count("hidden_ratio") or 4
    width = -(-int(c.count("hidden_size") * ratio * 2 / 3) // 256) * 256
    return width, f"2/3 of {ratio} x hidden_size, rounded up to a multiple of 256"


def experts_width_if_dense(c: Config) -> Found:
    """A stated dense_intermediate_size makes intermediate_size the experts' width (Inkling)."""
    if c.opt_count("dense_intermediate_size") is None:
        return None
    return c.count("intermediate_size"), "intermediate_size, as dense_intermediate_size is stated"


def dense_width(c: Config) -> Found:
    """The dense layers' width, where it is stated apart (Inkling)."""
    dense = c.opt_count("dense_intermediate_size")
    return None if dense is None else (dense, "dense_intermediate_size")


def off_in_first_class(c: Config) -> Found:
    """The first of two classes under one model_type has it not; the second states it (Ling)."""
    named: Any = c.outer.get("architectures")
    cls = str(named[0]) if isinstance(named, list) and named else ""  # pyright: ignore[reportUnknownArgumentType]
    return None if "V2" in cls else (False, "the first class of this model_type has none")


def gated_by_name(c: Config) -> Found:
    """`is_gated_act`, where the config states it, else whether `feed_forward_proj` begins with gated (T5)."""
    gated = _proj(c)[0] == "gated"
    if c.opt("is_gated_act") is not None:
        gated = c.flag("is_gated_act")
    return gated, "is_gated_act, where the config states it, goes before feed_forward_proj"


def activation_by_name(c: Config) -> Found:
    """`dense_act_fn`, else the activation of `feed_forward_proj` (T5)."""
    own = "gelu_new" if c.word("feed_forward_proj") == "gated-gelu" else _proj(c)[-1]
    return own if c.opt("dense_act_fn") is None else c.word("dense_act_fn"), "dense_act_fn, else from feed_forward_proj"


def _proj(c: Config) -> list[str]:
    stated = c.word("feed_forward_proj")
    words = stated.split("-")
    if len(words) > 2 or (len(words) == 2 and words[0] != "gated"):
        raise bad_value("feed_forward_proj", stated, "an activation, or gated- and an activation")
    return words


def two_attentions_each(c: Config) -> Found:
    """Half of num_hidden_layers, which counts attentions, where num_layers is not stated (LongCat-Flash)."""
    stated = c.opt_count("attention_layers")
    if stated is None or c.raw.get("num_layers") is not None:
        return None
    return stated // 2, f"num_hidden_layers // 2 = {stated} // 2: it counts attentions, two a layer"


def encoder_width(c: Config) -> Found:
    """The width of what a decoder looks at: that of the encoder, which has a config of its own (T5Gemma)."""
    return encoder_reader(c).count("hidden_size"), "the width of the encoder"


RULES: dict[str, Rule] = {
    f.__name__: f
    for f in (
        value_width, linear_key_heads, linear_value_heads, three_quarters_per_head, twice_the_key, one_if_wide,
        half_of_ffn_dim, two_thirds_in_eights, width_rounded_up, two_thirds_of_ratio,
        experts_width_if_dense, dense_width, off_in_first_class, gated_by_name, activation_by_name, encoder_width,
        two_attentions_each,
    )
}  # fmt: skip
