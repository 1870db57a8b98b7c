"""Layers whose kind, heads and networks are listed one by one (Laguna, Step 3.5, MiniMax-M3)."""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import checked, n_layers
from atlas.layouts.latent import flags, mlp_types
from atlas.layouts.words import Heads, Kinds, Shaped, Wide, Words
from atlas.reading.config import Config
from atlas.reading.values import among, entries, unsigned
from atlas.refusal import bad_value, contradiction

MOST_HEADS = 100_000


def _types(c: Config, n: int, spare: int = 0) -> Kinds:
    """The listed kinds of layers, full where there is no list.

    `spare` entries after the last layer describe drafting layers.
    """
    stated = c.opt("layer_types")
    if stated is None:
        return ("full_attention",) * n
    listed = entries("layer_types", stated)
    if len(listed) not in (n, n + spare):
        raise contradiction(f"layer_types has {len(listed)} entries for {n} layers")
    words = listed[:n]
    among("layer_types", words, c.rules.mixers)
    return tuple(words)


def heads_listed(c: Config) -> Words:
    """Kinds of layers, and query heads by layer where they are listed (Laguna)."""
    n = n_layers(c)
    types, heads = _types(c, n), c.opt("num_attention_heads_per_layer")
    if heads is None:
        return types
    field = "num_attention_heads_per_layer"
    each = entries(field, heads)
    if len(each) != n:
        raise contradiction(f"{field} has {len(each)} entries for {n} layers")
    for heads in each:
        if type(heads) is not int or not 0 < heads <= MOST_HEADS:
            raise bad_value(field, heads, "a number of heads")
    return tuple(map(Heads, types, each))


def heads_by_kind(c: Config) -> Words:
    """Kinds of layers, with query heads of their own in windowed ones (Step 3.5)."""
    n, spare = n_layers(c), c.opt("n_mtp_layers")
    heads = c.opt_count("num_sliding_attention_heads") or c.count("num_attention_heads")
    words = _types(c, n, spare if type(spare) is int else 0)
    return tuple(Heads(t, heads) if t == "sliding_attention" else t for t in words)


def experts_listed(c: Config) -> Kinds:
    """mlp_layer_types, else the layers that moe_layers_enum lists hold experts (Step 3.5)."""
    n, spare = n_layers(c), c.opt("n_mtp_layers")
    stated, listed = c.opt("mlp_layer_types"), c.opt("moe_layers_enum")
    if stated is not None and type(spare) is int and len(entries("mlp_layer_types", stated)) == n + spare:
        return checked("mlp_layer_types", stated[:n], n, c.rules.ffns)
    if stated is not None or listed is None:
        return mlp_types(c)
    items = listed.split(",") if isinstance(listed, str) else entries("moe_layers_enum", listed)
    if not all(str(i).strip().isdecimal() and len(str(i)) < 10 for i in items):
        raise bad_value("moe_layers_enum", listed, "layer indices")
    sparse = {int(i) for i in items}
    return tuple("sparse" if i in sparse else "dense" for i in range(n))


def sparse_freq(c: Config) -> Kinds:
    """The listed kinds, else one number per layer (1: an indexer over blocks), else every layer full (MiniMax-M3)."""
    n, freq = n_layers(c), c.opt("sparse_attention_freq")
    if c.opt("layer_types") is not None or freq is None:
        return _types(c, n)
    return flags("sparse_attention_freq", freq, n, ("full_attention", "minimax_m3_sparse"))


def heads_and_kv_listed(c: Config) -> Words:
    """Query and KV heads of every layer, each one number or a list (OpenELM)."""
    n = n_layers(c)
    both = [_each(c, field, n) for field in ("num_attention_heads", "num_key_value_heads")]
    c.derived("heads_by_layer", [list(x) for x in both], "num_query_heads and num_kv_heads, layer by layer")
    return tuple(Shaped("full_attention", q, kv) for q, kv in zip(*both, strict=True))


def _each(c: Config, field: str, n: int) -> list[int]:
    stated = c.need(field)
    each: list[Any] = entries(field, stated) if isinstance(stated, list) else [stated] * n
    if len(each) != n or any(type(x) is not int or not 0 < x <= MOST_HEADS for x in each):
        raise bad_value(field, each, f"a number of heads, or one for each of the {n} layers")
    return each


def multiples_listed(c: Config) -> Words:
    """Widths of the networks as multiples of the hidden size, rounded to a unit and never by more than a tenth down."""
    n, d, unit, stated = n_layers(c), c.count("hidden_size"), c.count("ffn_dim_divisor"), c.need("ffn_multipliers")
    each = entries("ffn_multipliers", stated) if isinstance(stated, list) else [stated] * n
    if len(each) != n:
        raise contradiction(f"ffn_multipliers has {len(each)} entries for {n} layers")
    shares = [unsigned("ffn_multipliers", x) for x in each]
    widths = [_rounded(x * d, unit) for x in shares]
    c.derived("intermediate_size", widths, f"ffn_multipliers x {d}, in units of {unit}")
    return tuple(Wide("mlp", w) for w in widths)


def _rounded(width: float, unit: int) -> int:
    near = max(unit, int(width + unit / 2) // unit * unit)
    return near + unit if near < 0.9 * width else near


LAYOUTS = {
    "heads_and_kv_listed": heads_and_kv_listed,
    "heads_listed": heads_listed,
    "heads_by_kind": heads_by_kind,
    "sparse_freq": sparse_freq,
}
FFN_LAYOUTS = {"experts_listed": experts_listed, "multiples_listed": multiples_listed}
