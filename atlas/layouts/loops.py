"""Models that run some layers more than once: weights stand in the first round, every round has a cache of its own."""

from __future__ import annotations

from typing import Any

from atlas.layouts.common import MAX_LAYERS, checked, n_layers
from atlas.layouts.listed import cycle
from atlas.layouts.words import Kinds, Words, kind_of
from atlas.reading.config import Config
from atlas.refusal import bad_value, contradiction, not_derivable


def two_stacks(c: Config) -> Kinds:
    """A low stack run `L_cycles` times, then a high stack once, all of it `H_cycles` times (HRM-Text).

    A config written by the library states the depth of all rounds together beside the depth of one stack.
    """
    stated, one = n_layers(c), c.opt_count("num_layers_per_stack")
    high, low = c.count("H_cycles"), c.count("L_cycles")
    if one is None:
        one = c.derived("num_layers_per_stack", stated, "the stated depth is that of one stack")
        c.derived("num_hidden_layers", one * high * (low + 1), f"{high} x ({low} + 1) rounds of {one}")
    elif one * high * (low + 1) != stated:
        raise contradiction(f"{stated} layers are not {high} x ({low} + 1) rounds of {one}")
    if one * high * (low + 1) > MAX_LAYERS:
        raise bad_value("num_hidden_layers", one * high * (low + 1), f"at most {MAX_LAYERS}")
    round_one = ("layer",) * one + ("layer_again",) * (one * (low - 1)) + ("layer",) * one
    return round_one + ("layer_again",) * (one * (low + 1) * (high - 1))


def looped_middle(c: Config) -> Kinds:
    """Input layers, middle layers run `n_recurrent_loops` times, output layers (Dory).

    A released config lists attention and feed-forward as blocks of their own: every pair of them is one layer.
    """
    kinds, blocks = _layers(c)
    n, first, last = len(kinds), c.size("n_input_layers") // blocks, c.size("n_output_layers") // blocks
    stated = c.opt_count("n_recurrent_layers")
    middle = c.derived("middle_layers", n - first - last, "the layers between") if stated is None else stated // blocks
    if middle < 1 or first + middle + last != n:
        raise contradiction(f"{first} + {middle} + {last} layers are not {n}")
    if c.word("recurrent_kv_cache_mode") != "per_loop":
        raise not_derivable(
            "recurrent_kv_cache_mode is not per_loop: which round's cache a layer reads is a run-time choice"
        )
    loops = c.count("n_recurrent_loops")
    if n * loops > MAX_LAYERS:
        raise bad_value("n_recurrent_loops", loops, f"at most {MAX_LAYERS} layers in all rounds")
    round_two = tuple(k + "_again" for k in kinds[first : first + middle])
    return kinds[: first + middle] + round_two * (loops - 1) + kinds[first + middle :]


def _layers(c: Config) -> tuple[Kinds, int]:
    """The kinds of layers, and how many listed blocks make one of them."""
    types: Any = c.opt("layer_types")
    if not isinstance(types, list) or "mlp" not in types:
        return cycle(c), 1
    n = n_layers(c) // 2
    c.derived("layers", n, "attention and the feed-forward after it are listed apart, and are one layer")
    return checked("layer_types", c.items("layer_types")[::2], n, c.rules.mixers), 2


def passes(c: Config, layers: int) -> int:
    """How often the whole stack is run: weights stand once, and each pass keeps a cache of its own."""
    n = c.count("passes")
    if n * layers > MAX_LAYERS:
        raise bad_value("passes", n, f"at most {MAX_LAYERS} layers in all passes")
    if n > 1:
        c.derived("cache_layers", n * layers, f"{n} passes over {layers} layers, each with a cache of its own")
    return n


def as_mixer(_: Config, mixers: Words) -> Kinds:
    """The feed-forward of a round is that of its mixer: stored in the first, used again after."""
    return tuple("mlp_again" if kind_of(w).endswith("_again") else "mlp" for w in mixers)


LOOPED = {f.__name__: f for f in (two_stacks, looped_middle)}
FOLLOWING = {"as_mixer": as_mixer}
