"""Lists with one entry per layer, checked once for every family that has the key: length and words.

transformers 5.24, configuration_utils.py, PreTrainedConfig.validate_layer_type, refuses the same: an entry outside its
vocabulary, and a list of another length than `num_hidden_layers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas.refusal import bad_value, contradiction

if TYPE_CHECKING:
    from atlas.reading.config import Config

LISTS = (
    "layer_types",
    "mlp_layer_types",
    "layers_block_type",
    "attention_types_by_layer",
    "layer_rope_theta",
    "no_rope_layers",
)
"""Keys that hold one entry per layer in every class that has them."""

MIXING = frozenset((
    "full_attention", "sliding_attention", "chunked_attention", "window_attention", "indexed_attention",
    "compressed_sparse_attention", "heavily_compressed_attention", "minimax_m3_sparse", "conv", "moe", "hybrid",
    "hybrid_sliding", "reference_sliding_attention", "linear_attention", "mamba", "attention",
    "deepseek_sparse_attention", "qwen_sparse_attention",
))  # fmt: skip
"""The library's words for layers, older spellings among them."""
FEEDING = frozenset(("sparse", "dense"))
VOCABULARY = {"layer_types": MIXING, "mlp_layer_types": FEEDING}


def checked(c: Config) -> None:
    """Raise `Refused` where a list has another length than the stack, or a word that no layer of the class answers."""
    if c.raw.keys().isdisjoint(LISTS):
        return
    present = [key for key in LISTS if c.raw.get(key)]
    n, spare = c.opt("num_hidden_layers"), c.opt("n_mtp_layers")
    lengths = (n, n + spare) if type(n) is int and type(spare) is int else (n,)
    for key in present:
        entries: list[Any] = c.items(key) if key in c.rules.visible or key in c.rules.keys else c.raw[key]
        if type(n) is int and isinstance(entries, list) and len(entries) not in lengths:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise contradiction(f"{key} has {len(entries)} entries for {n} layers")
        _words(c, key, entries)


def _words(c: Config, key: str, entries: list[Any]) -> None:
    known = VOCABULARY.get(key)
    if known is None:
        return
    own = {word.partition(":")[0] for word in (*c.rules.mixers, *c.rules.ffns)}
    _among(key, entries, known | own, own & known or known)
    if key == "layer_types" and key in c.rules.visible and "full_attention" in own:
        _among(key, entries, own, own)


def _among(key: str, entries: list[Any], allowed: set[str] | frozenset[str], shown: set[str] | frozenset[str]) -> None:
    try:
        if allowed.issuperset(entries):
            return
    except TypeError:  # a list or an object among them: found below
        pass
    odd = next(word for word in entries if not isinstance(word, str) or word not in allowed)
    raise bad_value(key, odd, "one of " + ", ".join(sorted(shown)))
