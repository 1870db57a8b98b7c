"""From a structure to the columns of its design: mixers, widths, weights, cache, cost, parallel degrees, features."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from atlas.numbers.degrees import serving_columns
from atlas.numbers.experts import expert_columns
from atlas.numbers.measure import COMPONENTS, Ledger, component, model_ledger, params_total
from atlas.numbers.shape import Shape, pattern, shape_of
from atlas.numbers.structure import ONE_BY_ONE, Mixing, Model, design_id
from atlas.refusal import Refused
from schemas.vocabulary import AttentionKind, Component, Ffn, Mask, Mixer, RefusalKind

MOST = 2**62
"""A total beyond this cannot be stored, and no model has it."""

ATTENDING = frozenset(
    {
        Mixer.FULL_ATTENTION,
        Mixer.SLIDING_ATTENTION,
        Mixer.CHUNKED_ATTENTION,
        Mixer.SPARSE_ATTENTION,
        Mixer.COMPRESSED_ATTENTION,
    }
)

AS_FULL = frozenset({Mixer.FULL_ATTENTION, Mixer.SPARSE_ATTENTION, Mixer.COMPRESSED_ATTENTION})


@lru_cache(maxsize=ONE_BY_ONE)
def design_columns(model: Model) -> dict[str, Any]:
    """Every column that follows from the structure alone.

    Raises `Refused` where a total is beyond what can be stored.
    """
    shape, ledger = shape_of(model), model_ledger(model)
    storable((params_total(ledger), *ledger.params, *ledger.kv, *ledger.flops))
    columns: dict[str, Any] = {
        "design_id": design_id(model),
        "n_layers": model.n_layers,
        "norm_class": model.norm_class,
        "norm_placement": model.norm_placement,
        "layer_pattern": pattern(model.stack()),
        **_attention(shape),
        **_feeding(shape),
        **_weights(ledger),
        **_per_step(ledger),
    }
    if model.has_cache:
        columns |= _cache(ledger)
    columns |= serving_columns(model) | expert_columns(model)
    storable(columns.values())
    return columns


def storable(numbers: Iterable[object]) -> None:
    """Raise `Refused` where one of the numbers is beyond what can be stored; words and None are none."""
    if any(isinstance(n, int | float) and n >= MOST for n in numbers):
        raise Refused(
            RefusalKind.BAD_VALUE, "the stated sizes multiply to more than can be stored: no model is this large"
        )


def _attention(shape: Shape) -> dict[str, Any]:
    mix: dict[str, int] = {}
    for m, n in shape.mixers:
        mix[m.mixer.value] = mix.get(m.mixer.value, 0) + n
    if shape.bare:
        mix[Mixer.NONE.value] = shape.bare
    heads = [m for m, _ in shape.mixers if m.mixer in ATTENDING]
    full = [m for m in heads if m.mixer in AS_FULL]
    main = (full or heads)[0] if heads else None
    position = _position(heads)
    rotates = position in ("rope", "mixed")
    rotary_main = next((m for m in heads if m.rotary_dim is not None), None)
    return {
        "layer_mix": mix,
        "attention_kind": AttentionKind.NONE.value
        if main is None or main.attention_kind is None
        else main.attention_kind.value,
        "n_q_heads": main and main.n_q_heads,
        "n_kv_heads": main and main.n_kv_heads,
        "head_dim": main and main.head_dim,
        "v_head_dim": main and main.v_head_dim,
        "group_size": main.n_q_heads // main.n_kv_heads if main and main.n_q_heads and main.n_kv_heads else None,
        "sliding_window": max((m.window for m in heads if m.window is not None), default=None),
        "is_heterogeneous": len(
            {(m.attention_kind, m.n_q_heads, m.n_kv_heads, m.head_dim, m.v_head_dim) for m in heads}
        )
        > 1,
        "n_kv_shared_layers": sum(n for m, n in shape.mixers if m.shared_from is not None),
        "has_qk_norm": None if main is None else any(m.qk_norm not in ("none", "latent") for m in heads),
        "has_attention_bias": None if main is None else any(m.has_bias for m in heads),
        "has_sinks": None if main is None else any(m.has_sinks for m in heads),
        "attention_mask": _mask(heads),
        "position": position,
        "partial_rotary": _rotated(rotary_main) if rotates else None,
    }


def _mask(heads: list[Mixing]) -> str | None:
    """Which positions a token may look at; None where nothing attends."""
    masks = {m.mask for m in heads}
    if not masks:
        return None
    return next(iter(masks)).value if len(masks) == 1 else Mask.MIXED.value


def _rotated(m: Mixing | None) -> float | None:
    """Share of a head's query and key dimensions that RoPE turns."""
    return None if m is None or m.rotary_dim is None or m.head_dim is None else m.rotary_dim / m.head_dim


def _position(heads: list[Mixing]) -> str:
    schemes = {m.position for m in heads}
    if not schemes:
        return "none"
    if schemes == {"rope", "nope"}:
        return "mixed"
    return str(next(iter(schemes))) if len(schemes) == 1 else "mixed"


def _feeding(shape: Shape) -> dict[str, Any]:
    dense = [(f, n) for f, n in shape.ffns if f.ffn is Ffn.DENSE]
    moe = [(f, n) for f, n in shape.ffns if f.ffn is Ffn.MOE]
    first, experts = (shape.ffns[0][0] if shape.ffns else None), (moe[0][0] if moe else None)
    return {
        "d_ff": dense[0][0].d_ff if dense else None,
        "activation": first and first.activation,
        "is_gated_ffn": first and first.is_gated,
        "is_moe": bool(moe),
        "n_routed_experts": experts and experts.n_routed,
        "n_shared_experts": experts and experts.n_shared,
        "experts_per_token": experts and experts.top_k,
        "moe_d_ff": experts and experts.d_ff,
        "n_moe_layers": sum(n for _, n in moe),
        "n_dense_ffn_layers": sum(n for _, n in dense),
    }


def _weights(ledger: Ledger) -> dict[str, Any]:
    whole_model = params_total(ledger)
    found: dict[str, Any] = {
        "params_total": whole_model,
        "params_active": ledger.active,
        "params_active_max": None if ledger.active_max == ledger.active else ledger.active_max,
        "params_active_compute": ledger.active_compute,
        "weight_bytes_bf16": 2 * whole_model,
        "params_buffers": component(ledger, Component.BUFFERS),
    }
    for x in COMPONENTS:
        found[f"params_{x}"] = n = component(ledger, x)
        found[f"share_{x}"] = n / whole_model
    return found


def _per_token(growth: float) -> int:
    """Bytes a token adds; raises `Refused` where compressed entries are so odd that it is a fraction of a byte."""
    if growth != int(growth):
        raise Refused(RefusalKind.NOT_DERIVABLE, f"the cache grows by {growth:g} bytes per token, no whole number")
    return int(growth)


def _per_step(ledger: Ledger) -> dict[str, Any]:
    """FLOPs of one step, of a source token where there is a source, and of a whole prompt."""
    return {
        "flops_per_token": 2 * ledger.active_compute,
        "source_flops_per_token": 2 * ledger.source_compute or None,
        "cross_attention_flops_per_source_token": ledger.cross_flops or None,
        "attention_flops_per_token_4k": ledger.flops[0],
        "attention_flops_per_token_128k": ledger.flops[1],
        "prefill_attention_flops_4k": ledger.prompt[0],
        "prefill_attention_flops_128k": ledger.prompt[1],
    }


def _cache(ledger: Ledger) -> dict[str, Any]:
    """What a sequence keeps, and what a step loads."""
    kv = dict(zip(("kv_bytes_4k", "kv_bytes_32k", "kv_bytes_128k", "kv_bytes_1m"), ledger.kv, strict=True))
    return kv | {
        "kv_bytes_per_token": _per_token(ledger.growth),
        "kv_bytes_per_token_first": _per_token(ledger.growth_first),
        "growth_bytes_per_token_first": ledger.growth_first + ledger.index_growth,
        "index_bytes_per_token": _per_token(ledger.index_growth),
        "state_bytes_constant": ledger.constant,
        "cross_kv_bytes_per_source_token": _per_token(ledger.cross) if ledger.cross else None,
        "decode_bytes_per_token_4k": 2 * ledger.active_compute + ledger.read_bytes[0],
        "decode_bytes_per_token_128k": 2 * ledger.active_compute + ledger.read_bytes[1],
    }


@lru_cache(maxsize=16384)
def design_features(model: Model) -> tuple[str, ...]:
    """The words a population of designs is counted by."""
    of = design_columns(model)
    mix = of["layer_mix"]
    found = [f"{of['activation']}_activation"] if of["activation"] else []
    found += [of["norm_class"]]
    found += [of["attention_kind"]] if of["attention_kind"] != "none" else []
    named = {
        "moe": of["is_moe"],
        "gated_ffn": of["is_gated_ffn"],
        "qk_norm": of["has_qk_norm"],
        "attention_sinks": of["has_sinks"],
        "attention_bias": of["has_attention_bias"],
        "sliding_window": "sliding_attention" in mix,
        **{
            k: k in mix
            for k in (
                "chunked_attention",
                "sparse_attention",
                "compressed_attention",
                "linear_attention",
                "ssm",
                "conv",
            )
        },
        "shared_experts": bool(of["n_shared_experts"]),
        "kv_sharing": bool(of["n_kv_shared_layers"]),
        "nope_layers": of["position"] == "mixed",
        "partial_rotary": of["partial_rotary"] is not None and of["partial_rotary"] < 1,
        "heterogeneous_attention": of["is_heterogeneous"],
    }
    return (*found, *(k for k, v in named.items() if v), f"position_{of['position']}")
