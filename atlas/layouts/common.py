"""What every layout uses: the depth of the stack, and lists with one word per layer."""

from __future__ import annotations

from typing import Any

from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction, not_derivable

MAX_LAYERS = 4096


def n_layers(c: Config) -> int:
    """Layers of the stack."""
    n = c.count("num_hidden_layers")
    if n > MAX_LAYERS:
        raise bad_value("num_hidden_layers", n, f"at most {MAX_LAYERS}")
    return n


def same(c: Config) -> Kinds:
    """Every layer alike: the row's only word."""
    word = next(iter(c.rules.mixers))
    return (word,) * n_layers(c)


def one_layer(c: Config) -> Kinds:
    """The row's only word, once: a draft of another depth is not described."""
    if n_layers(c) != 1:
        raise not_derivable(f"{n_layers(c)} layers: what such a draft's further layers read is not described")
    return (next(iter(c.rules.mixers)),)


def same_ffn(c: Config) -> Kinds:
    """Every layer alike: the row's only word."""
    word = next(iter(c.rules.ffns))
    return (word,) * n_layers(c)


def listed(c: Config, field: str, known: Any) -> Kinds:
    """A list in the config with one known word per layer."""
    return checked(field, c.items(field), n_layers(c), known)


def checked(field: str, stated: list[Any], n: int, known: Any) -> Kinds:
    """A list with one known word for each of `n` layers; raises `Refused`."""
    words = tuple(stated)
    if len(words) != n:
        raise contradiction(f"{field} has {len(words)} entries for {n} layers")
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise bad_value(field, word, "one of " + ", ".join(sorted(known)))
    return words


def layer_types(c: Config) -> Kinds:
    """The config's own list of layer types."""
    return listed(c, "layer_types", c.rules.mixers)


def every_nth(c: Config, interval: str, other: str) -> Kinds:
    """The config's layer_types.

    Where it has none, every n-th layer is full, n the field `interval`, and the rest are `other`.
    """
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, every = n_layers(c), c.count(interval)
    c.derived("layer_types", f"every {every}th full", f"layer i is full where (i + 1) is a multiple of {interval}")
    return tuple(other if (i + 1) % every else "full_attention" for i in range(n))
