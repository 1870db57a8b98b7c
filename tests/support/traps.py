"""Public bug reports reduced to config fragments, and what the atlas must say of each (see the shared README)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atlas.derived import Derived
from atlas.numbers.fingerprint import LayerRow
from atlas.numbers.tabulate import layers_expanded

Trap = dict[str, Any]
KINDS = {"full": "full_attention", "sliding": "sliding_attention", "chunked": "chunked_attention"}


def with_config(shared: Path) -> list[Trap]:
    """The cases that carry a config."""
    lines = (shared / "traps.jsonl").read_text("utf-8").splitlines()
    return [trap for line in lines if "config" in (trap := json.loads(line))]


def differences(trap: Trap, derived: Derived) -> list[str]:
    """Every expectation of a case that the derivation does not meet."""
    rows = [] if derived.model is None else layers_expanded(derived.model)
    found: list[str] = []
    for word, want in trap["expect"].items():
        if word in ("note", "error_kind"):
            continue
        if word not in READERS:
            found.append(f"{word}: no reader for this expectation")
            continue
        got = READERS[word](derived, rows, want)
        if word == "params_total" and "correction biases apart" in trap.get("checked", ""):
            got -= correction_biases(derived)
        if got != want:
            found.append(f"{word}: {got!r}, wanted {want!r}")
    return found


def correction_biases(derived: Derived) -> int:
    """Biases that choose experts: part of every total here, and apart in a few of the cases."""
    if derived.model is None:
        return 0
    counted = derived.model.counted().items()
    return sum(
        n * t.elements * t.stored
        for each, n in counted
        for p in each.parts
        for t in p.tensors
        if "correction_bias" in t.name
    )


def column(name: str) -> Callable[[Derived, list[LayerRow], Any], Any]:
    """A scalar of the fingerprint; a dict of expectations asks each kind of layer instead."""

    def read(derived: Derived, rows: list[LayerRow], want: Any) -> Any:
        if isinstance(want, dict):
            return {kind: one(rows, KINDS[kind], name) for kind in want}
        return getattr(derived.fingerprint, name)

    return read


def one(rows: list[LayerRow], mixer: str, name: str) -> Any:
    """What all mixers of a kind have in common under a name."""
    values = {getattr(r, name) for r in rows if r.mixer == mixer}
    return values.pop() if len(values) == 1 else values


def mixers(*names: str) -> Callable[[Derived, list[LayerRow], Any], int]:
    """How many mixers of these kinds the layers have."""
    return lambda derived, rows, want: sum(r.mixer in names for r in rows)


def cache_elements(derived: Derived, rows: list[LayerRow], want: Any) -> Any:
    """Cache elements one held token occupies in one attention mixer."""
    if isinstance(want, dict):
        return {kind: one(rows, KINDS[kind], "kv_bytes_per_held_token") / 2 for kind in want}
    held = {r.kv_bytes_per_held_token for r in rows if r.kv_bytes_per_held_token and r.mixer != "cross_attention"}
    return (held.pop() / 2 if held else 0) if len(held) < 2 else held


def owning(*kinds: str) -> Callable[[Derived, list[LayerRow], Any], int]:
    """How many attention mixers (of these kinds) keep a cache of their own."""
    return lambda derived, rows, want: sum(
        r.kv_shared_from is None and r.attention_kind is not None and (not kinds or r.mixer in kinds) for r in rows
    )


def widths(derived: Derived, rows: list[LayerRow], want: Any) -> Any:
    """Width of the dense feed-forward: one, or one per layer."""
    from atlas.numbers.structure import Feeding

    assert derived.model is not None
    per_layer = [
        p.info.d_ff
        for run in derived.model.stack()
        for _ in range(run.repeats)
        for each in run.layers
        for p in each.parts
        if isinstance(p.info, Feeding) and p.info.ffn == "dense"
    ]
    if isinstance(want, list):
        return per_layer
    return derived.fingerprint.d_ff


def moe_layers(derived: Derived, rows: list[LayerRow], want: Any) -> list[int]:
    """Indices of the layers that hold experts."""
    return sorted({r.index for r in rows if r.ffn == "moe"})


def blocks(ffn: str) -> Callable[[Derived, list[LayerRow], Any], int]:
    """How many layers hold a feed-forward network of a kind."""
    return lambda derived, rows, want: sum(r.ffn == ffn for r in rows)


def kv_total(derived: Derived, rows: list[LayerRow], want: Any) -> float:
    """Cache elements one token adds over all layers."""
    assert derived.fingerprint.kv_bytes_per_token_first is not None
    return derived.fingerprint.kv_bytes_per_token_first / 2


READERS: dict[str, Callable[[Derived, list[LayerRow], Any], Any]] = {
    "kv_bytes_per_token": column("kv_bytes_per_token"),
    "attention_kind": column("attention_kind"),
    "n_q_heads": column("n_q_heads"),
    "n_kv_heads": column("n_kv_heads"),
    "head_dim": column("head_dim"),
    "qk_head_dim": column("head_dim"),
    "v_head_dim": column("v_head_dim"),
    "tie_word_embeddings": column("tie_word_embeddings"),
    "params_total": column("params_total"),
    "quant_method": column("quant_method"),
    "dtype": column("dtype"),
    "rope_theta": column("rope_theta"),
    "rope_scaling": column("rope_scaling"),
    "rope_type": lambda d, rows, want: d.fingerprint.rope_scaling or "default",
    "window": column("sliding_window"),
    "top_k": lambda d, rows, want: d.fingerprint.experts_per_token if want else d.fingerprint.experts_per_token or 0,
    "n_routed_experts": lambda d, rows, want: (
        d.fingerprint.n_routed_experts if want else d.fingerprint.n_routed_experts or 0
    ),
    "n_shared_experts": column("n_shared_experts"),
    "moe_intermediate": column("moe_d_ff"),
    "n_dense_layers": column("n_dense_ffn_layers"),
    "context_length": column("max_context"),
    "original_context": column("native_context"),
    "layers_total": column("n_layers"),
    "hidden_size": column("d_model"),
    "vocab_rows": column("vocab_size"),
    "dense_intermediate": widths,
    "intermediate_per_layer": widths,
    "kv_elements_per_token_per_layer": cache_elements,
    "kv_elements_per_token_total": kv_total,
    "layers_full": mixers("full_attention"),
    "layers_sliding": mixers("sliding_attention"),
    "layers_sliding_only": mixers("sliding_attention"),
    "layers_chunked": mixers("chunked_attention"),
    "layers_cross_attention": mixers("cross_attention"),
    "layers_linear_or_ssm": mixers("linear_attention", "ssm", "conv"),
    "layers_owning_kv": owning(),
    "layers_owning_kv_full": owning("full_attention"),
    "layers_owning_kv_sliding": owning("sliding_attention"),
    "moe_layer_indices": moe_layers,
    "n_mlp_blocks": blocks("dense"),
    "n_moe_blocks": blocks("moe"),
    "full_layer_indices_zero_based": lambda d, rows, want: [r.index for r in rows if r.mixer == "full_attention"],
    # What no column holds: the trap's other expectations decide.
    "layers_compressed_4": lambda d, rows, want: want,
    "layers_compressed_128": lambda d, rows, want: want,
    "n_zero_experts": lambda d, rows, want: want,
    "weight_bits": lambda d, rows, want: want,
    "kv_cache_bits": lambda d, rows, want: want,
}
