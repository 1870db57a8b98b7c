"""What a comparison shows, by section: a label, how a value is shown, and one value a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from atlas.numbers.fingerprint import Fingerprint
from pipeline.sheets import inspect
from pipeline.sheets.compared import Compared
from pipeline.sheets.sheet import COMPONENTS
from pipeline.sheets.stored import supposed
from pipeline.sheets.widths import words_of
from pipeline.units import binary, scaled

Show = Callable[[Any], str]
"""A value that is not null, in few characters."""

Fact = tuple[str, Show, list[Any]]
"""A label, how its values are shown, and one value a model."""


def facts(c: Compared) -> Iterator[tuple[str, list[Fact]]]:
    """The sections of the table; facts that apply to none of the models are left out."""
    rows = [s.row for s in c.subjects]
    at = words_of(c.at)
    yield "Shape", _applying(_shape(rows))
    yield "Weights", _applying(_weights(rows))
    if c.weights is not None:
        sizes = [supposed(s.derived, c.weights).bytes for s in c.subjects]
        yield f"Stored as {c.weights}, hypothetical", _applying([("tensor bytes", binary, list(sizes))])
    yield "Computation, where it differs", _computation(c)
    yield f"One sequence, cache at {c.dtype}", _applying(_state(c, at))
    yield "One token, weights at bf16", _applying(_cost(c, at))
    yield "Several GPUs, and a batch", _applying(_parallel(rows))
    yield "What else differs", _rest(rows)


def _computation(c: Compared) -> list[Fact]:
    """Epsilons, scales, pairings and the like that are not the same for all."""
    found = inspect.other_constants([s.derived for s in c.subjects])
    return [(name.replace("_", " "), _brief, list(values)) for name, values in found.items()]


def _brief(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and value >= 1000 else f"{value:g}"
    return str(value)


_ELSEWHERE = (
    "repo_id", "revision", "release_date", "created_at", "model_type", "design_id", "doubt", "n_layers",
    "layer_pattern", "d_model", "vocab_size", "attention_kind", "n_q_heads", "n_kv_heads", "head_dim", "sliding_window",
    "d_ff", "activation", "is_moe", "experts_per_token", "n_routed_experts", "n_shared_experts", "moe_d_ff",
    "architecture_class", "group_size", "layer_mix", "n_dense_ffn_layers", "n_moe_layers",
    "norm_class", "norm_placement", "position", "max_context", "dtype", "quant_method", "has_towers", "tp_degrees",
)  # fmt: skip
_FOLLOWING = (
    "params_", "share_", "kv_", "index_", "state_b", "growth_", "flops_", "attention_flops", "prefill_", "decode_",
    "weight_bytes", "experts_touched", "dispatch_", "combine_", "tp_alignment", "cross_", "source_", "draft_",
)  # fmt: skip
"""Columns that the sections above show, or whose difference follows from what they show."""


def _rest(rows: list[Fingerprint]) -> list[Fact]:
    """Every other column that is not the same for all; of one that is a map, the entries that differ."""
    found: list[Fact] = []
    for name in Fingerprint.__struct_fields__:
        values = [getattr(r, name) for r in rows]
        if name in _ELSEWHERE or name.startswith(_FOLLOWING) or not unequal(values):
            continue
        if all(isinstance(v, dict | None) for v in values):
            maps: list[dict[str, Any]] = [v or {} for v in values]
            keys = dict.fromkeys(k for m in maps for k in m)
            entries = [(k, [m.get(k) for m in maps]) for k in keys]
            found += [(f"{_words(name)}: {k}", _brief, each) for k, each in entries if unequal(each)]
        else:
            found.append((_words(name), _brief, values))
    return found


def _words(name: str) -> str:
    return name.removeprefix("is_").removeprefix("has_").removeprefix("n_").replace("_", " ")


def _applying(found: list[Fact]) -> list[Fact]:
    return [f for f in found if any(v is not None for v in f[2])]


def _column(rows: list[Fingerprint], label: str, name: str, show: Show = str) -> Fact:
    return label, show, [getattr(r, name) for r in rows]


def _shape(rows: list[Fingerprint]) -> list[Fact]:
    return [
        _column(rows, "family", "model_type"),
        *_designs(rows),
        _column(rows, "layers", "n_layers"),
        _column(rows, "layer pattern", "layer_pattern"),
        _column(rows, "width", "d_model", grouped),
        _column(rows, "vocabulary", "vocab_size", grouped),
        _column(rows, "attention", "attention_kind"),
        _column(rows, "query heads", "n_q_heads"),
        _column(rows, "KV heads", "n_kv_heads"),
        _column(rows, "head width", "head_dim"),
        _column(rows, "window", "sliding_window", grouped),
        _column(rows, "dense ffn width", "d_ff", grouped),
        _column(rows, "activation", "activation"),
        ("experts", str, [_experts(r) for r in rows]),
        _column(rows, "expert width", "moe_d_ff", grouped),
        ("norm", str, [f"{r.norm_class}, {r.norm_placement}" for r in rows]),
        _column(rows, "position", "position"),
        _column(rows, "context stated", "max_context", grouped),
    ]


def _designs(rows: list[Fingerprint]) -> list[Fact]:
    """Designs by name where some are the same and some are not: else the sections below say it all."""
    return [_column(rows, "design", "design_id")] if 1 < len({r.design_id for r in rows}) < len(rows) else []


def _experts(row: Fingerprint) -> str | None:
    if not row.is_moe:
        return None
    return f"{row.experts_per_token} of {row.n_routed_experts}" + (
        f" + {row.n_shared_experts}" if row.n_shared_experts else ""
    )


def _weights(rows: list[Fingerprint]) -> list[Fact]:
    parts = [_column(rows, f"  {label}", f"params_{key}", grouped) for key, label in COMPONENTS.items()]
    drafts = _column(rows, "drafting (MTP) layers", "params_mtp", grouped)
    return [
        _column(rows, "parameters", "params_total", grouped),
        *(fact for fact in parts if any(fact[2])),
        _column(rows, "one token uses", "params_active", grouped),
        _column(rows, "  and multiplies by", "params_active_compute", grouped),
        *([drafts] if any(drafts[2]) else []),
        ("towers, projectors", str, [_towers(r) for r in rows]),
        _column(rows, "bytes at bf16", "weight_bytes_bf16", binary),
        ("stored type", str, [_stored(r) for r in rows]),
        _column(rows, "bytes as stored", "weight_bytes_checkpoint", binary),
    ]


def _towers(row: Fingerprint) -> str | None:
    if not row.has_towers:
        return None
    return "there, not counted" if row.params_towers is None else f"{row.params_towers:,}"


def _stored(row: Fingerprint) -> str | None:
    return ", ".join(x for x in (row.dtype, row.quant_method) if x) or None


def _state(c: Compared, at: str) -> list[Fact]:
    constant = _column([s.row for s in c.subjects], "bytes of fixed size", "state_bytes_constant", grouped)
    rows = [s.row for s in c.subjects]
    index = _column(rows, "+ index, each token", "index_bytes_per_token", grouped)
    return [
        _sizes(c, "bytes a token adds", "kv_bytes_per_token", grouped),
        *([index] if any(index[2]) else []),
        *([constant] if any(constant[2]) else []),
        _sizes(c, f"at {at}", "state_bytes", binary),
    ]


def _cost(c: Compared, at: str) -> list[Fact]:
    return [
        _column([s.row for s in c.subjects], "FLOPs", "flops_per_token", scaled),
        _sizes(c, f"+ looking back at {at}", "attention_flops_per_token", scaled),
        _sizes(c, f"decode reads at {at}", "decode_bytes_per_token", binary),
    ]


def _parallel(rows: list[Fingerprint]) -> list[Fact]:
    """Tensor-parallel degrees, what a rank of eight holds, experts in a batch, bytes on a network."""
    return [
        *_degrees(rows),
        _column(rows, "weights a rank, TP 8", "params_rank_tp8", grouped),
        _column(rows, "cache B/token, TP 8", "kv_bytes_per_token_rank_tp8", lambda n: f"{n:,.0f}"),
        _column(rows, "experts touched by 64", "experts_touched_b64", lambda n: f"{n:,.1f}"),
        _column(rows, "step of 64 reads", "decode_weight_bytes_b64", binary),
        _column(rows, "sent to experts, token", "dispatch_bytes_per_token", binary),
    ]


def _degrees(rows: list[Fingerprint]) -> list[Fact]:
    """What happens at each tensor-parallel degree; degrees at which it is the same for every model stand together."""
    alike: dict[tuple[str | None, ...], list[str]] = {}
    for t in ("2", "4", "8", "16"):
        alike.setdefault(tuple(None if r.tp_degrees is None else r.tp_degrees[t] for r in rows), []).append(t)
    return [(f"TP {', '.join(degrees)}", str, list(values)) for values, degrees in alike.items()]


def _sizes(c: Compared, label: str, name: str, show: Show) -> Fact:
    return label, show, [getattr(s.sized, name) for s in c.subjects]


def grouped(n: int) -> str:
    """A whole number with its thousands apart."""
    return f"{n:,}"


def unequal(values: Sequence[object]) -> bool:
    """Whether the values are not all the same."""
    return any(v != values[0] for v in values)
