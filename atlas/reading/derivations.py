"""Fields that a family derives from other keys: one function for each rule, which a row names under `[derive]`.

They are answered before anything else is asked, so that layouts and readers find a field as if the config stated it.
A rule gives the value and says why in words, or nothing where what is stated stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atlas.reading.config import Config
from atlas.reading.encoder import encoder_reader
from atlas.reading.values import finite, mapping
from atlas.refusal import bad_value, contradiction, not_derivable
from schemas.vocabulary import NormClass

Found = tuple[Any, str] | None


def settle(c: Config) -> Config:
    """The config, with what its row derives answered. Raises `Refused`."""
    for field, rule in c.rules.derive.items():
        found = DERIVATIONS[rule](c)
        if found is not None:
            c.derived(field, *found)
    return c


def window_if_both_ways(c: Config) -> Found:
    """Where attention looks both ways, half the window lies behind a token, and one (Gemma 3)."""
    return _window(c, halved=bool(c.opt("use_bidirectional_attention")))


def window_if_all_both_ways(c: Config) -> Found:
    """The same, where all layers are said to look both ways (Gemma 4)."""
    return _window(c, halved=c.opt("use_bidirectional_attention") == "all")


def _window(c: Config, *, halved: bool) -> Found:
    stated = c.count("sliding_window")
    if halved:
        return stated // 2 + 1, "half of sliding_window, and one: attention looks both ways"
    return stated, "sliding_window"


def window_and_current(c: Config) -> Found:
    """`sliding_window_size` counts the tokens before the current one; the window counts that one too (MiMo)."""
    before = c.opt_count("sliding_window_size")
    if before is None:
        return c.count("sliding_window"), "sliding_window"
    return before + 1, f"sliding_window_size + 1 = {before} + 1: the current token counts too"


def window_or_512(c: Config) -> Found:
    """Either spelling, else the class's own (dots3.note)."""
    window = c.opt("sliding_window") or c.opt("sliding_window_size") or 512
    return window, "sliding_window, else sliding_window_size, else 512"


def window_behind(c: Config) -> Found:
    """The half of the window that looks back (ModernBERT as a decoder)."""
    stated = c.count("local_attention")
    return stated // 2, f"half of local_attention {stated}: the half that looks back"


def window_around(c: Config) -> Found:
    """A window that looks to both sides (ModernBERT)."""
    return c.count("local_attention"), "local_attention: half of it to each side"


def rope_if_said(c: Config) -> Found:
    """Rotary positions only where position_embedding_type says so (Granite 4)."""
    rope = c.opt("position_embedding_type") == "rope"
    return "rope" if rope else "nope", "rotary only where position_embedding_type is rope"


def alibi_or_rope(c: Config) -> Found:
    """A switch (Falcon)."""
    on = c.flag("alibi")
    return "alibi" if on else "rope", "alibi is " + str(on).lower()


def rope_or_alibi_by_width(c: Config) -> Found:
    """RoPE in the 7B models, ALiBi in the 13B ones: no key says which, the width does (Baichuan)."""
    d = c.count("hidden_size")
    if d not in (4096, 5120):
        raise not_derivable(f"hidden_size is {d}: Baichuan has RoPE at 4096 and ALiBi at 5120, and no key says which")
    return "rope" if d == 4096 else "alibi", "RoPE at hidden_size 4096 (7B), ALiBi at 5120 (13B)"


def multi_query(c: Config) -> Found:
    """One KV head where `multi_query` is true, one per query head where not (GPT-BigCode)."""
    if c.flag("multi_query"):
        return 1, "multi_query: one KV head"
    return c.count("num_attention_heads"), "one KV head per query head"


def multi_query_before_new_decoder(c: Config) -> Found:
    """As `multi_query`; the new decoder states its KV heads (Falcon)."""
    return None if c.flag("new_decoder_architecture") else multi_query(c)


def one_per_query_head(c: Config) -> Found:
    """As many KV heads as query heads, whatever is stated (Baichuan)."""
    return c.count("num_attention_heads"), "one KV head per query head"


def value_width(c: Config) -> Found:
    """The hidden size over heads, where no width of values is stated (MiniCPM3)."""
    if c.opt_count("v_head_dim") is not None:
        return None
    d, heads = c.count("hidden_size"), c.count("num_attention_heads")
    if d % heads:
        raise contradiction(f"hidden_size {d} is not a multiple of {heads} heads and no v_head_dim is stated")
    return d // heads, f"hidden_size / num_attention_heads = {d} / {heads}"


def norm_by_type(c: Config) -> Found:
    """Queries and keys normed per head (`qwen3`) or over all heads (Molmo 2)."""
    wide = c.word("qk_norm_type") != "qwen3"
    return "full" if wide else "head", f"qk_norm_type is {'not ' if wide else ''}qwen3"


def norms_after(c: Config) -> Found:
    """Norms on the outputs of sublayers where `norm_after` says so (Molmo 2)."""
    return ("post_sublayer", "norm_after is true") if c.flag("norm_after") else None


def norms_first(c: Config) -> Found:
    """Norms before or after the sum (OPT)."""
    first = c.flag("norm_first")
    return "pre" if first else "post", f"do_layer_norm_before is {str(first).lower()}"


def norms_first_if_switched(c: Config) -> Found:
    """Norms before the sublayers where `pre_norm` says so (X-MOD)."""
    return ("pre", "pre_norm is true") if c.flag("pre_norm") else None


def norms_after_off(c: Config) -> Found:
    """The norms after the sublayers may be off."""
    return None if c.flag("sandwich") else ("pre", "the norms after the sublayers are off")


def last_norm_if_first(c: Config) -> Found:
    """A final norm only where norms stand first and it was not removed (OPT)."""
    last = c.flag("norm_first") and not c.flag("without_final_norm")
    return last, "only where norms stand first and it was not removed"


def norms_without_weights(c: Config) -> Found:
    """Norms may be without weights (OPT)."""
    if c.flag("norm_weights"):
        return None
    return NormClass.NONPARAMETRIC.value, "layer_norm_elementwise_affine is false"


def rmsnorm_if_eps(c: Config) -> Found:
    """RMSNorm where `rms_norm_eps` is stated, LayerNorm without bias where not (Cohere 2 with experts)."""
    cls = NormClass.LAYERNORM if c.opt("rms_norm_eps") is None else NormClass.RMSNORM
    return cls.value, "RMSNorm only where rms_norm_eps is stated"


def theta_by_ratio(c: Config) -> Found:
    """10,000 times the stated ratio (ChatGLM)."""
    ratio = finite("rope_ratio", c.need("rope_ratio"))
    return 10000.0 * ratio, f"10000 x rope_ratio {ratio:g}"


def one_if_wide(c: Config) -> Found:
    """One shared expert where its width is not 0 (Granite)."""
    return int(c.size("shared_intermediate_size") > 0), "one where shared_intermediate_size is not 0"


def half_of_ffn_dim(c: Config) -> Found:
    """The stated width counts gate and up projection together (Moshi)."""
    stated = c.count("ffn_dim")
    return stated // 2, f"half of ffn_dim {stated}"


def width_rounded_up(c: Config) -> Found:
    """A multiple of the hidden size, rounded up (xLSTM)."""
    factor, unit = c.number("ffn_proj_factor"), c.count("ffn_round_up_to_multiple_of")
    if factor is None or not 0 < factor <= 1000:
        raise bad_value("ffn_proj_factor", factor, "a number above 0")
    width = int((c.count("hidden_size") * factor + unit - 1) // unit * unit)
    return width, f"{factor:g} x hidden_size, rounded up to a multiple of {unit}"


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


def sparse_rate(c: Config) -> Found:
    """Tokens per entry of compressed sparse layers: stated by kind, else 4 (DeepSeek-V4)."""
    return _rate(c, "compress_rate_sparse", "compressed_sparse_attention", 4)


def heavy_rate(c: Config) -> Found:
    """Tokens per entry of heavily compressed layers: stated by kind, else 128 (DeepSeek-V4)."""
    return _rate(c, "compress_rate_heavy", "heavily_compressed_attention", 128)


def _rate(c: Config, field: str, kind: str, usual: int) -> Found:
    rate, stated = c.opt_count(field), c.opt("compress_rates")
    if rate is None and stated is not None:
        rate = mapping("compress_rates", stated).get(kind)
    return usual if rate is None else rate, f"tokens per entry of {kind}"


def rotated_share(c: Config) -> Found:
    """Dimensions of an entry that RoPE turns: stated, else a stated share, else an eighth (DeepSeek-V4)."""
    if c.opt_count("qk_rope_head_dim") is not None:
        return None
    share = c.number("partial_rotary_factor")
    share = 0.125 if share is None else share
    return int(c.count("head_dim") * share), f"head_dim x {share:g}"


def encoder_width(c: Config) -> Found:
    """The width of what a decoder looks at: that of the encoder, which has a config of its own (T5Gemma)."""
    return encoder_reader(c).count("hidden_size"), "the width of the encoder"


def as_networks(c: Config) -> Found:
    """Norms of the blocks have a bias where the networks have one (xLSTM)."""
    return c.flag("ffn_bias"), "use_bias"


DERIVATIONS: dict[str, Callable[[Config], Found]] = {
    f.__name__: f
    for f in (
        window_if_both_ways, window_if_all_both_ways, window_and_current, window_or_512, window_behind,
        window_around, rope_if_said, alibi_or_rope, rope_or_alibi_by_width, multi_query,
        multi_query_before_new_decoder, one_per_query_head, value_width, norm_by_type, norms_after, norms_first,
        norms_first_if_switched, norms_after_off, last_norm_if_first, norms_without_weights, rmsnorm_if_eps,
        theta_by_ratio, one_if_wide, half_of_ffn_dim, width_rounded_up, experts_width_if_dense, dense_width,
        off_in_first_class, gated_by_name, activation_by_name, sparse_rate, heavy_rate, rotated_share, encoder_width,
        as_networks,
    )
}  # fmt: skip
