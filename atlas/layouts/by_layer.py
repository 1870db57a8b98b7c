"""Layers whose kind, heads and networks are listed one by one (Laguna, Step 3.5, MiniMax-M3)."""

from __future__ import annotations

from typing import Any

from atlas.config import Config
from atlas.layouts.common import Words, n_layers
from atlas.layouts.latent import mlp_types
from atlas.refusal import bad_value, contradiction


def _types(c: Config, n: int, spare: int = 0) -> Words:
    """The listed kinds of layers, full where there is no list; `spare` entries after the last layer describe drafting layers."""
    stated = c.opt("layer_types")
    if stated is None:
        return ("full_attention",) * n
    if not isinstance(stated, list) or len(stated) not in (n, n + spare):  # pyright: ignore[reportUnknownArgumentType]
        raise contradiction(f"layer_types does not name each of the {n} layers")
    words: list[Any] = stated[:n]  # pyright: ignore[reportUnknownVariableType]
    wrong = next((w for w in words if not isinstance(w, str) or w not in c.rules.mixers), None)
    if wrong is not None:
        raise bad_value("layer_types", wrong, "one of " + ", ".join(sorted(c.rules.mixers)))
    return tuple(words)


def heads_listed(c: Config) -> Words:
    """Kinds of layers, and query heads by layer where they are listed (Laguna)."""
    n = n_layers(c)
    types, heads = _types(c, n), c.opt("num_attention_heads_per_layer")
    if heads is None:
        return tuple(f"{t}:" for t in types)
    if not isinstance(heads, list) or len(heads) != n or not all(type(h) is int and 0 < h <= 100_000 for h in heads):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        raise bad_value("num_attention_heads_per_layer", heads, f"a number of heads for each of the {n} layers")
    return tuple(f"{t}:{h}" for t, h in zip(types, heads, strict=True))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]


def heads_by_kind(c: Config) -> Words:
    """Kinds of layers, with query heads of their own in windowed ones (Step 3.5)."""
    n, spare = n_layers(c), c.opt("n_mtp_layers")
    heads = c.opt_count("num_sliding_attention_heads") or c.count("num_attention_heads")
    words = _types(c, n, spare if type(spare) is int else 0)
    return tuple(f"{t}:{heads}" if t == "sliding_attention" else f"{t}:" for t in words)


def experts_listed(c: Config) -> Words:
    """mlp_layer_types, else the layers that moe_layers_enum lists hold experts (Step 3.5)."""
    n, spare = n_layers(c), c.opt("n_mtp_layers")
    stated, listed = c.opt("mlp_layer_types"), c.opt("moe_layers_enum")
    if isinstance(stated, list) and type(spare) is int and len(stated) == n + spare:  # pyright: ignore[reportUnknownArgumentType]
        c.derived("mlp_layer_types", stated[:n], "entries after the last layer describe drafting layers")
    if stated is not None or listed is None:
        return mlp_types(c)
    items = listed.split(",") if isinstance(listed, str) else listed
    if not isinstance(items, list) or not all(str(i).strip().isdecimal() for i in items):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        raise bad_value("moe_layers_enum", listed, "layer indices")
    sparse = {int(i) for i in items}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    return tuple("sparse" if i in sparse else "dense" for i in range(n))


def sparse_freq(c: Config) -> Words:
    """Layer_types, else one number per layer of which 1 means an indexer over blocks, else every layer full (MiniMax-M3)."""
    n, freq = n_layers(c), c.opt("sparse_attention_freq")
    if c.opt("layer_types") is not None or freq is None:
        return _types(c, n)
    if not isinstance(freq, list) or len(freq) != n or any(f not in (0, 1) for f in freq):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        raise bad_value("sparse_attention_freq", freq, f"0 or 1 for each of the {n} layers")
    return tuple("minimax_m3_sparse" if f else "full_attention" for f in freq)  # pyright: ignore[reportUnknownVariableType]


LAYOUTS = {"heads_listed": heads_listed, "heads_by_kind": heads_by_kind, "sparse_freq": sparse_freq}
FFN_LAYOUTS = {"experts_listed": experts_listed}
