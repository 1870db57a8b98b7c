"""What every layout uses: the depth of the stack, and lists with one word per layer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction, not_derivable

Words = tuple[str, ...]
MAX_LAYERS = 4096


def n_layers(c: Config) -> int:
    """Layers of the stack."""
    n = c.count("num_hidden_layers")
    if n > MAX_LAYERS:
        raise bad_value("num_hidden_layers", n, f"at most {MAX_LAYERS}")
    return n


def same(c: Config) -> Words:
    """Every layer alike: the row's only word."""
    word = next(iter(c.rules.mixers))
    return (word,) * n_layers(c)


def one_layer(c: Config) -> Words:
    """The row's only word, once: a draft of another depth is not described."""
    if n_layers(c) != 1:
        raise not_derivable(f"{n_layers(c)} layers: what such a draft's further layers read is not described")
    return (next(iter(c.rules.mixers)),)


def same_ffn(c: Config) -> Words:
    """Every layer alike: the row's only word."""
    word = next(iter(c.rules.ffns))
    return (word,) * n_layers(c)


def entries(field: str, value: Any) -> list[Any]:
    """A value that has to be a list; raises `Refused`."""
    if not isinstance(value, list):
        raise bad_value(field, value, "a list")
    return value  # pyright: ignore[reportUnknownVariableType]


def among(field: str, values: Sequence[Any], known: Collection[Any]) -> None:
    """Every value is one of the known ones; raises `Refused` naming the first that is not."""
    try:
        if set(values) <= set(known):
            return
    except TypeError:  # a list or an object among them: found below
        pass
    odd = next(i for i, v in enumerate(values) if isinstance(v, list | dict) or v not in known)
    raise bad_value(field, values[odd], "one of " + ", ".join(sorted(map(str, known))))


def listed(c: Config, field: str, known: Any) -> Words:
    """A list in the config with one known word per layer."""
    words = tuple(c.items(field))
    n = n_layers(c)
    if len(words) != n:
        raise contradiction(f"{field} has {len(words)} entries for {n} layers")
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise bad_value(field, word, "one of " + ", ".join(sorted(known)))
    return words


def layer_types(c: Config) -> Words:
    """The config's own list of layer types."""
    return listed(c, "layer_types", c.rules.mixers)


def every_nth(c: Config, interval: str, other: str) -> Words:
    """The config's layer_types.

    Where it has none, every n-th layer is full, n the field `interval`, and the rest are `other`.
    """
    if c.opt("layer_types") is not None:
        return listed(c, "layer_types", c.rules.mixers)
    n, every = n_layers(c), c.count(interval)
    c.derived("layer_types", f"every {every}th full", f"layer i is full where (i + 1) is a multiple of {interval}")
    return tuple(other if (i + 1) % every else "full_attention" for i in range(n))
