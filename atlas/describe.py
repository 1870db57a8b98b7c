"""From a structure to the columns of a fingerprint.

Counts of mixers, widths, the layer pattern, features, tensor-parallel degrees.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from atlas.config import Config, Raw, mapping
from atlas.fingerprint import Fingerprint
from atlas.measure import COMPONENTS, Ledger, component, model_ledger, params_total
from atlas.parts import mtp
from atlas.refusal import Refused
from atlas.rotary import Rotary, read_rotary
from atlas.structure import Feeding, Layer, Mixing, Model, Run, design_id, runs_of
from schemas.vocabulary import AttentionKind, Check, Component, Ffn, Mixer, RefusalKind, Verdict

if TYPE_CHECKING:
    from atlas.interpret import Derived

MOST = 2**62
"""A total beyond this cannot be stored, and no model has it."""

DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
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


class Shape(NamedTuple):
    """What the layers of a stack hold, counted: mixers and feed-forwards with how often each stands."""

    mixers: tuple[tuple[Mixing, int], ...]
    ffns: tuple[tuple[Feeding, int], ...]
    bare: int  # layers without a mixer
    blank: int  # layers without a feed-forward


@lru_cache(maxsize=16384)
def infos(each: Layer) -> tuple[tuple[Mixing, ...], tuple[Feeding, ...]]:
    """The mixers and feed-forwards of a layer."""
    found = [p.info for p in each.parts]
    return tuple(i for i in found if isinstance(i, Mixing)), tuple(i for i in found if isinstance(i, Feeding))


def shape_of(model: Model) -> Shape:
    """Count what stands in the stack that describes the model."""
    mixers: dict[Mixing, int] = {}
    ffns: dict[Feeding, int] = {}
    bare = blank = 0
    for run in model.stack():
        for each in run.layers:
            mixing, feeding = infos(each)
            bare += 0 if mixing else run.repeats
            blank += 0 if feeding else run.repeats
            for m in mixing:
                mixers[m] = mixers.get(m, 0) + run.repeats
            for f in feeding:
                ffns[f] = ffns.get(f, 0) + run.repeats
    return Shape(tuple(mixers.items()), tuple(ffns.items()), bare, blank)


def described(c: Config, model: Model, data: Raw, name: str | None, cls: str | None) -> Derived:
    """The finished row with its evidence; raises `Refused` where a total is beyond what can be stored."""
    from atlas.interpret import Derived

    design, rotary = design_columns(model), read_rotary(c)
    dtype, quant = _storage(c)
    row = Fingerprint(
        repo_id=name,
        model_type=data["model_type"],
        architecture_class=cls,
        verdict=Verdict.KNOWN.value,
        check=Check.UNCHECKED.value,
        d_model=c.count("hidden_size"),
        vocab_size=c.count("vocab_size"),
        tie_word_embeddings=bool(c.top("tie_word_embeddings")),
        dtype=dtype,
        quant_method=quant,
        has_towers=bool(c.rules.outer.get("has_towers")) or bool(c.opt("has_towers")),
        n_mtp_layers=mtp.stated(c),
        params_mtp=component(model_ledger(model), Component.MTP) if mtp.known(c) else None,
        weight_bytes_checkpoint=_stored_bytes(design["params_total"], dtype, quant),
        **_context(rotary, design["position"]),
        **design,
    )
    return Derived(row, model, c.evidence(), c.unread(), (*design_features(model), *_own_features(row)))


@lru_cache(maxsize=16384)
def design_columns(model: Model) -> dict[str, Any]:
    """Every column that follows from the structure alone.

    Raises `Refused` where a total is beyond what can be stored.
    """
    shape, ledger = shape_of(model), model_ledger(model)
    if max(params_total(ledger), *ledger.kv, *ledger.flops, 2 * ledger.active_compute) >= MOST:
        raise Refused(
            RefusalKind.BAD_VALUE, "the stated sizes multiply to more than can be stored: no model is this large"
        )
    columns: dict[str, Any] = {
        "design_id": design_id(model),
        "n_layers": model.n_layers,
        "norm_class": model.norm_class,
        "norm_placement": model.norm_placement,
        "layer_pattern": pattern(model.stack()),
        **_attention(shape),
        **_feeding(shape),
        **_weights(ledger),
        **_costs(ledger, has_decoder=any(r.stack == "decoder" for r in model.runs)),
    }
    return columns | {"tp_degrees": degrees(columns)}


def _storage(c: Config) -> tuple[str | None, str | None]:
    """The stated dtype (torch_dtype in older files) and quantization method, as stated.

    The wrapper's word goes first.
    """
    dtype, quant = _first(c, ("dtype", "torch_dtype")), _first(c, ("quantization_config", "compression_config"))
    if quant is None:
        method = None
    else:
        stated = mapping("quantization_config", quant).get("quant_method")
        method = stated[:40] if isinstance(stated, str) else "unnamed"
    return dtype.removeprefix("torch.")[:40] if isinstance(dtype, str) else None, method


def _first(c: Config, keys: tuple[str, ...]) -> Any:
    for raw in (c.outer,) if c.outer is c.raw else (c.outer, c.raw):
        for key in keys:
            value = raw.get(key)
            if value:
                return value
    return None


def _context(rotary: Rotary, position: str) -> dict[str, Any]:
    """RoPE's settings where anything is rotated, and the context in any case."""
    rotates = position in ("rope", "mixed")
    return {
        "rope_theta": rotary.theta if rotates else None,
        "rope_scaling": rotary.scaling if rotates else None,
        "rope_factor": rotary.factor if rotates else None,
        "max_context": rotary.max_context,
        "native_context": rotary.native_context,
    }


def _stored_bytes(params: int, dtype: str | None, quant: str | None) -> int | None:
    """What the weights weigh at the stated dtype.

    None where it is not stated, or a quantization stores some otherwise.
    """
    width = DTYPE_BYTES.get(dtype or "")
    return width * params if width and quant is None else None


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
        "position": position,
        "partial_rotary": _rotated(rotary_main) if rotates else None,
    }


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


def _costs(ledger: Ledger, *, has_decoder: bool) -> dict[str, Any]:
    flops = {
        "flops_per_token": 2 * ledger.active_compute,
        "attention_flops_per_token_4k": ledger.flops[0],
        "attention_flops_per_token_128k": ledger.flops[1],
    }
    if not has_decoder:
        return {"flops_per_token": flops["flops_per_token"]}
    kv = dict(zip(("kv_bytes_4k", "kv_bytes_32k", "kv_bytes_128k", "kv_bytes_1m"), ledger.kv, strict=True))
    return (
        flops
        | kv
        | {
            "kv_bytes_per_token": _per_token(ledger.growth),
            "kv_bytes_per_token_first": _per_token(ledger.growth_first),
            "index_bytes_per_token": _per_token(ledger.index_growth),
            "state_bytes_constant": ledger.constant,
            "cross_kv_bytes_per_source_token": _per_token(ledger.cross) if ledger.cross else None,
            "decode_bytes_per_token_4k": 2 * ledger.active_compute + ledger.read_bytes[0],
            "decode_bytes_per_token_128k": 2 * ledger.active_compute + ledger.read_bytes[1],
        }
    )


def pattern(runs: list[Run]) -> str:
    """Run-length text of the layers: `12x(swa moe . gqa moe)`; equal neighbours inside a unit are counted too."""
    return " . ".join(_run_text(r) for r in runs)


def _run_text(run: Run) -> str:
    unit = _unit_text(tuple(_word(each) for each in run.layers))
    return unit if run.repeats == 1 else f"{run.repeats}x({unit})"


@lru_cache(maxsize=4096)
def _unit_text(words: tuple[str, ...]) -> str:
    pieces = [(n, words[start : start + unit]) for n, start, unit in runs_of(words)]
    return " . ".join(" . ".join(u) if n == 1 else f"{n}x({' . '.join(u)})" for n, u in pieces)


@lru_cache(maxsize=16384)
def _word(each: Layer) -> str:
    mixing, feeding = infos(each)
    return (
        " ".join(
            [
                *("+".join(m.label for m in mixing),) * bool(mixing),
                *("+".join(f.label for f in feeding),) * bool(feeding),
            ]
        )
        or "none"
    )


def degrees(columns: dict[str, Any]) -> dict[str, str]:
    """Which tensor-parallel degrees divide query heads and feed-forward widths.

    And where KV heads have to be copied.
    """
    widths = [columns[k] for k in ("n_q_heads", "d_ff", "moe_d_ff") if columns.get(k)]
    kv = columns.get("n_kv_heads")
    return {str(t): _degree(t, widths, kv) for t in (2, 4, 8, 16)}


def _degree(t: int, widths: list[int], kv: int | None) -> str:
    if not widths or any(w % t for w in widths) or (kv and kv % t and t % kv):
        return "no"
    return "kv_replicated" if kv and kv % t else "even"


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


def _own_features(row: Fingerprint) -> tuple[str, ...]:
    """The words that a config adds to its design's."""
    named = {
        "tied_embeddings": row.tie_word_embeddings,
        "mtp": bool(row.n_mtp_layers),
        "towers": row.has_towers,
        "quantized": row.quant_method is not None,
        f"rope_{row.rope_scaling}": row.rope_scaling is not None,
    }
    return tuple(k for k, v in named.items() if v)
