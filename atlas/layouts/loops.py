"""Models that run some layers more than once: weights stand in the first round, every round has a cache of its own."""

from __future__ import annotations

from atlas.layouts.common import MAX_LAYERS, n_layers
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
    _merge_pairs(c)
    kinds = cycle(c)
    n, first, last = len(kinds), c.size("n_input_layers"), c.size("n_output_layers")
    middle = c.opt_count("n_recurrent_layers")
    middle = c.derived("n_recurrent_layers", n - first - last, "the layers between") if middle is None else middle
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


def _merge_pairs(c: Config) -> None:
    types = c.opt("layer_types")
    if not isinstance(types, list) or "mlp" not in types:
        return
    c.derived("layer_types", types[::2], "attention and the feed-forward after it are one layer")
    for field in ("num_hidden_layers", "n_input_layers", "n_recurrent_layers", "n_output_layers"):
        if c.opt(field) is not None:
            c.derived(field, c.size(field) // 2, "two listed blocks make one layer")


def as_mixer(_: Config, mixers: Words) -> Kinds:
    """The feed-forward of a round is that of its mixer: stored in the first, used again after."""
    return tuple("mlp_again" if kind_of(w).endswith("_again") else "mlp" for w in mixers)


LOOPED = {f.__name__: f for f in (two_stacks, looped_middle)}
FOLLOWING = {"as_mixer": as_mixer}
