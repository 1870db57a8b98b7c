"""Which layers hold another mixer than attention, or one part alone."""

from __future__ import annotations

from typing import Any

from atlas.config import Config
from atlas.layouts.common import MAX_LAYERS, Words, listed, n_layers
from atlas.refusal import bad_value, contradiction


def every_nth_linear(c: Config) -> Words:
    """The config's layer_types.

    Where it has none, every `full_attention_interval`-th layer is full and the others linear.
    """
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, every = n_layers(c), c.count("full_attention_interval")
    c.derived(
        "layer_types", f"every {every}th full", "layer i is full where (i + 1) is a multiple of full_attention_interval"
    )
    return tuple("linear_attention" if (i + 1) % every else "full_attention" for i in range(n))


BLOCKS = {
    "M": "mamba", "*": "attention", "-": "mlp", "E": "moe",
    "mamba": "mamba", "attention": "attention", "mlp": "mlp", "moe": "moe",
    "linear_attention": "mamba", "full_attention": "attention",
}  # fmt: skip


def pattern_letters(c: Config) -> Words:
    """One part per layer (Nemotron-H), listed or as letters: M is Mamba-2, * attention, - an MLP, E experts.

    The list decides the depth, as in the class; a stated num_hidden_layers must agree where the list is only the
    class default.
    """
    pattern = c.opt("hybrid_override_pattern") if c.raw.get("layers_block_type") is None else None
    blocks = c.need("layers_block_type") if pattern is None else pattern
    if not isinstance(blocks, list | str) or not 0 < len(blocks) <= MAX_LAYERS:  # pyright: ignore[reportUnknownArgumentType]
        raise bad_value("hybrid_override_pattern", blocks, "one letter or word per layer")  # pyright: ignore[reportUnknownArgumentType]
    stated = c.opt_count("num_hidden_layers")
    if stated not in (None, len(blocks)) and pattern is None and c.raw.get("layers_block_type") is None:  # pyright: ignore[reportUnknownArgumentType]
        raise contradiction(f"{stated} layers are stated, but no pattern says what stands in them")
    unknown: list[Any] = [b for b in blocks if not isinstance(b, str) or b not in BLOCKS]  # pyright: ignore[reportUnknownVariableType]
    if unknown:
        raise bad_value("hybrid_override_pattern", unknown[0], "one of " + ", ".join(BLOCKS))
    return tuple(BLOCKS[b] for b in blocks)  # pyright: ignore[reportUnknownVariableType]
