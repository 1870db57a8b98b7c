"""Windows, positions and heads that follow from other keys."""

from __future__ import annotations

from atlas.reading.config import Config
from atlas.reading.derivations.rule import Found, Rule
from atlas.reading.values import finite, mapping
from atlas.refusal import not_derivable


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


def learned_if_biased_input(c: Config) -> Found:
    """A table of positions beside the input only where a switch says so; relative ones else (DeBERTa)."""
    on = c.flag("position_biased_input")
    return "learned" if on else "relative", "position_biased_input is " + str(on).lower()


def learned_if_absolute(c: Config) -> Found:
    """A table of positions where position_embedding_type says so, rotary ones else (ESM)."""
    on = c.opt("position_embedding_type") == "absolute"
    return "learned" if on else "rope", "position_embedding_type"


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


def heads_by_width(c: Config) -> Found:
    """Heads of a stated width, whatever number is stated; else the stated number (HGRN 2)."""
    width = c.opt_count("expand_ratio")
    if width is None:
        return None
    return c.count("hidden_size") // width, f"hidden_size over expand_ratio {width}"


def theta_by_ratio(c: Config) -> Found:
    """10,000 times the stated ratio (ChatGLM)."""
    ratio = finite("rope_ratio", c.need("rope_ratio"))
    return 10000.0 * ratio, f"10000 x rope_ratio {ratio:g}"


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


RULES: dict[str, Rule] = {
    f.__name__: f
    for f in (
        window_if_both_ways, window_if_all_both_ways, window_and_current, window_or_512, window_behind,
        window_around, rope_if_said, learned_if_biased_input, learned_if_absolute, alibi_or_rope,
        rope_or_alibi_by_width, multi_query,
        multi_query_before_new_decoder, one_per_query_head, heads_by_width, theta_by_ratio, sparse_rate, heavy_rate,
        rotated_share,
    )
}  # fmt: skip
