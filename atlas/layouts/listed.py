"""Layouts of families whose config lists the layers, with the rule of the class where it does not."""

from __future__ import annotations

from atlas.layouts.common import listed, n_layers
from atlas.layouts.experts import dense_first
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction


def cycle(c: Config) -> Kinds:
    """The config's layer_types; where it has none, the row's `layer_cycle` over and over."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, unit, last = n_layers(c), c.rules.facts["layer_cycle"], c.rules.facts.get("last_layer")
    words = [unit[i % len(unit)] for i in range(n)]
    if last is not None:
        words[-1] = last
    return tuple(c.derived("layer_types", words, "the class's own order, as the config lists none"))


def counted_back(c: Config) -> Kinds:
    """The config's layer_types; where it has none, every 4th layer counted back from the last is full."""
    n = n_layers(c)
    if c.opt("layer_types") is None:
        words = ["sliding_attention" if (n - 1 - i) % 4 else "full_attention" for i in range(n)]
        c.derived("layer_types", words, "every 4th layer full, counted back from the last")
    if c.opt("layer_rope_theta") is None:
        c.derived(
            "layer_rope_theta",
            [float((n - 1 - i) % 4 > 0) for i in range(n)],
            "no RoPE in every 4th layer, counted back from the last",
        )
    return theta_per_layer(c)


def theta_per_layer(c: Config) -> Kinds:
    """As `cycle`; a layer whose own RoPE base is 0 has no positions."""
    kinds = tuple(k.removesuffix("_nope") for k in cycle(c))
    if c.opt("layer_rope_theta") is None:
        return kinds
    thetas = c.items("layer_rope_theta")
    if len(thetas) != len(kinds):
        raise contradiction(f"layer_rope_theta has {len(thetas)} entries for {len(kinds)} layers")
    return tuple(k if t else k + "_nope" for k, t in zip(kinds, thetas, strict=True))


def rope_in_windows(c: Config) -> Kinds:
    """As `every_nth_full` or `cycle`; where no window is stated all are full with RoPE, else windowed ones have it."""
    n = n_layers(c)
    if c.opt_count("sliding_window") is None:
        c.derived("layer_types", "full", "no window is stated: every layer is full, with RoPE")
        return ("full_with_rope",) * n
    if c.opt("layer_types") is not None or "layer_cycle" in c.rules.facts:
        return cycle(c)
    every = c.count("sliding_window_pattern")
    words = ["sliding_attention" if (i + 1) % every else "full_attention" for i in range(n)]
    return tuple(c.derived("layer_types", words, f"every {every}th layer full"))


def flint(c: Config) -> Kinds:
    """The config's layer_types; where it has none, layers 0, 1, every 4th from 1 on and the last are full."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n = n_layers(c)
    return tuple("full_attention" if i < 2 or i % 4 == 1 or i == n - 1 else "sliding_attention" for i in range(n))


def cohere2_moe(c: Config) -> Kinds:
    """Leading dense layers have a window pattern of their own, and RoPE in every one where that pattern is 1."""
    n, first, prefix = n_layers(c), c.size("first_k_dense_replace"), c.count("prefix_dense_sliding_window_pattern")
    if c.opt("layer_types") is None:
        every = c.count("sliding_window_pattern")
        each = [(i + 1, prefix) for i in range(min(first, n))] + [(i + 1, every) for i in range(n - first)]
        c.derived(
            "layer_types",
            ["sliding_attention" if i % e else "full_attention" for i, e in each],
            "the last of each pattern full",
        )
    kinds, dense = listed(c, "layer_types", c.rules.mixers), mlp_listed(c)
    forced = prefix == 1
    return tuple(
        "full_with_rope" if k == "full_attention" and forced and d == "dense" else k
        for k, d in zip(kinds, dense, strict=True)
    )


def local(c: Config) -> Kinds:
    """The config's layer_types, else every n-th layer from the first on full; layer 0 has no norm before attention."""
    n, every = n_layers(c), c.count("global_attn_every_n_layers")
    if c.opt("layer_types") is None:
        words = ["sliding_attention" if i % every else "full_attention" for i in range(n)]
        c.derived("layer_types", words, f"every {every}th layer full, from the first on")
    kinds = listed(c, "layer_types", c.rules.mixers)
    return ("first_" + kinds[0], *kinds[1:])


def mlp_listed(c: Config) -> Kinds:
    """The config's mlp_layer_types; where it has none, `first_k_dense_replace` layers dense, then experts."""
    if c.opt("mlp_layer_types") is None:
        return tuple("dense" if w == "dense" else "sparse" for w in dense_first(c))
    return listed(c, "mlp_layer_types", ("dense", "sparse"))


def flint_experts(c: Config) -> Kinds:
    """As Qwen-MoE, but layers 0 and 1 are dense where no list is stated."""
    if c.opt("mlp_only_layers") is None:
        c.derived("mlp_only_layers", [0, 1], "layers 0 and 1, as none are listed")
    dense, step = c.items("mlp_only_layers"), c.count("decoder_sparse_step")
    return tuple("dense" if i in dense or (i + 1) % step else "sparse" for i in range(n_layers(c)))


def moe_range(c: Config) -> Kinds:
    """Experts in every `moe_layer_interval`-th layer between the stated start and end (-1: to the last)."""
    n, every, start = n_layers(c), c.count("moe_layer_interval"), c.size("moe_layer_start_index")
    end = c.need("moe_layer_end_index")
    if type(end) is not int:
        raise bad_value("moe_layer_end_index", end, "a layer index, or -1")
    last = c.derived("moe_layer_end", n - 1, "-1: to the last layer") if end == -1 else end
    return tuple("moe" if (i + 1) % every == 0 and start <= i <= last else "dense" for i in range(n))


def dense_or_retrieved(c: Config) -> Kinds:
    """Every layer dense, or every layer with retrieved experts where `is_moe` is true."""
    return (("retrieved" if c.flag("is_moe") else "mlp"),) * n_layers(c)


def first_routed(c: Config) -> Kinds:
    """Experts in every layer; the first router has none before it."""
    return ("first",) + ("moe",) * (n_layers(c) - 1)


def lfm3(c: Config) -> Kinds:
    """The config's layer_types; where it has none, in fours: windowed (not in the first), conv, full, conv."""
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    words = [
        "full_attention" if i % 4 == 2 else "sliding_attention" if i % 4 == 0 and i else "conv"
        for i in range(n_layers(c))
    ]
    return tuple(c.derived("layer_types", words, "the class's own order, as the config lists none"))


def olmo_hybrid(c: Config) -> Kinds:
    """As `cycle`, the last layer full where no other is; no positions where the RoPE base is null."""
    stated = c.opt("layer_types") is not None
    kinds = cycle(c)
    if not stated and "full_attention" not in kinds:
        kinds = (*kinds[:-1], "full_attention")
    table = c.opt("rope_parameters")
    nope = isinstance(table, dict) and table.get("rope_theta", 1) is None  # pyright: ignore[reportUnknownMemberType]
    return tuple("full_attention_nope" if nope and k == "full_attention" else k for k in kinds)


def last_biased(c: Config) -> Kinds:
    """Every layer alike, but only the last has a bias on its output projection."""
    return ("full_attention",) * (n_layers(c) - 1) + ("last",)


MIXER_LAYOUTS = {
    f.__name__: f
    for f in (
        cycle,
        counted_back,
        theta_per_layer,
        rope_in_windows,
        flint,
        cohere2_moe,
        local,
        lfm3,
        olmo_hybrid,
        last_biased,
    )
}
FFN_LAYOUTS = {
    f.__name__: f
    for f in (
        mlp_listed,
        flint_experts,
        moe_range,
        dense_or_retrieved,
        first_routed,
    )
}
