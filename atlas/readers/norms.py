"""Which norms stand before a layer's mixer and its feed-forward network."""

from __future__ import annotations

from collections.abc import Callable

from atlas.reading.config import Config

Names = tuple[tuple[str, ...], tuple[str, ...]]


def listed(c: Config) -> Names:
    """The row's own lists."""
    return c.rules.mixer_norms, c.rules.ffn_norms


def falcon(c: Config) -> Names:
    """One norm where attention and feed-forward share it.

    Two where each has its own or where they follow each other.
    """
    if not c.flag("parallel_residual"):
        return ("input_layernorm",), ("post_attention_layernorm",)
    count = c.opt_count("num_ln_in_parallel_attn")
    if count is None:
        count = c.derived(
            "num_ln_in_parallel_attn", 2 if c.flag("new_decoder_architecture") else 1, "2 in the new decoder, else 1"
        )
    return (("ln_attn",), ("ln_mlp",)) if count == 2 else (("input_layernorm",), ())


def one_if_parallel(c: Config) -> Names:
    """One norm where attention and feed-forward stand side by side.

    The row's own lists where they follow each other.
    """
    return (c.rules.mixer_norms, ()) if c.flag("parallel_residual") else listed(c)


def sandwich_switch(c: Config) -> Names:
    """The row's two norms around each sublayer, or the first of them alone where the config has the second off."""
    if c.flag("sandwich"):
        return listed(c)
    return c.rules.mixer_norms[:1], c.rules.ffn_norms[:1]


NORMS: dict[str, Callable[[Config], Names]] = {
    f.__name__: f for f in (listed, falcon, one_if_parallel, sandwich_switch)
}
