"""Which layers hold another mixer than attention, or one part alone."""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import MAX_LAYERS, every_nth
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction


def every_nth_linear(c: Config) -> Kinds:
    """Every `full_attention_interval`-th layer full and the others linear, where no layer_types are stated."""
    return every_nth(c, "full_attention_interval", "linear_attention")


BLOCKS = {
    "M": "mamba", "*": "attention", "-": "mlp", "E": "moe",
    "mamba": "mamba", "attention": "attention", "mlp": "mlp", "moe": "moe",
    "linear_attention": "mamba", "full_attention": "attention",
}  # fmt: skip


def pattern_letters(c: Config) -> Kinds:
    """One part per layer (Nemotron-H), listed or as letters: M is Mamba-2, * attention, - an MLP, E experts.

    The list decides the depth, as in the class; a stated num_hidden_layers must agree where the list is only the
    class default.
    """
    listed = any(c.raw.get(k) is not None for k in ("layer_types", "layers_block_type"))
    pattern = None if listed else c.opt("hybrid_override_pattern")
    blocks = c.need("layers_block_type") if pattern is None else pattern
    if not isinstance(blocks, list | str) or not 0 < len(blocks) <= MAX_LAYERS:  # pyright: ignore[reportUnknownArgumentType]
        raise bad_value("hybrid_override_pattern", blocks, "one letter or word per layer")  # pyright: ignore[reportUnknownArgumentType]
    stated = c.opt_count("num_hidden_layers")
    if stated not in (None, len(blocks)) and pattern is None and not listed:  # pyright: ignore[reportUnknownArgumentType]
        raise contradiction(f"{stated} layers are stated, but no pattern says what stands in them")
    unknown: list[Any] = [b for b in blocks if not isinstance(b, str) or b not in BLOCKS]  # pyright: ignore[reportUnknownVariableType]
    if unknown:
        raise bad_value("hybrid_override_pattern", unknown[0], "one of " + ", ".join(BLOCKS))
    return tuple(BLOCKS[b] for b in blocks)  # pyright: ignore[reportUnknownVariableType]
