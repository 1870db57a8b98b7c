"""A tiny atlas written by hand: two designs counted on paper, one refused config, one gated repository.

Design `aaaa`, two layers of width 4, 10 tokens, untied. Ends: 10x4 + 4 + 10x4 = 84. Each layer: qkv 8x4 = 32, o 4x4 =
16, up 8x4 = 32, down 4x8 = 32, together 112. Total 84 + 2 x 112 = 308; without the table and the norm 264 multiply.
Both layers keep 4 elements of 2 bytes per token, the second for at most 1,024 tokens: 8 bytes grow, 16 at first; at
4,096 tokens 8 x 4,096 + 8 x 1,024 = 40,960.

Design `bbbb`, one layer without attention: table 10x4 = 40, one 4x4 = 16 mixer, total 56. It keeps 6 elements of 4
bytes for ever.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.store import snapshot
from schemas.fields import SUMMED
from schemas.registry import TABLES
from schemas.tables import polars_schema

DAY = dt.date(2026, 11, 29)
CREATED = dt.datetime.fromisoformat("2026-01-02T03:04:05")
RAW_A, RAW_A2, RAW_B = '{"model_type": "llama", "n": 1}', '{"model_type": "llama", "n": 2}', '{"model_type": "mamba2"}'
RAW_BAD = b"\xff\xfe not json"


def config_id(raw: str | bytes) -> str:
    """SHA-256 of the raw bytes."""
    return hashlib.sha256(raw if isinstance(raw, bytes) else raw.encode()).hexdigest()


A, A2, B, BAD = (config_id(r) for r in (RAW_A, RAW_A2, RAW_B, RAW_BAD))


def frame(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a table's frame; what a row leaves out is null."""
    schema = polars_schema(TABLES[name])
    return pl.DataFrame([tuple(row.get(c) for c in schema) for row in rows], schema=schema, orient="row")


def content() -> dict[str, pl.DataFrame]:
    """All tables of the tiny atlas; `runs` and `sightings` follow from the others when it is published."""
    return {name: frame(name, rows) for name, rows in _ROWS.items() if name not in RECORDED}


def records() -> dict[str, pl.DataFrame]:
    """What happened to its models on the day, and what was seen for the first time."""
    return {name: frame(name, _ROWS[name]) for name in RECORDED}


LISTED = 5
RECORDED = ("runs", "sightings")


def _model(repo: str, config: str | None, outcome: str = "ok", **listing: object) -> dict[str, Any]:
    as_of = DAY if config else None
    return {"repo_id": repo, "outcome": outcome, "config_id": config, "as_of": as_of, "source": "hub", **listing}


def _config(raw: str, design: str, **values: object) -> dict[str, Any]:
    evidence = [{"field": "n_layers", "value": "2", "origin": "explicit", "source": "num_hidden_layers"}]
    known = {"config_id": config_id(raw), "raw": raw, "size_bytes": len(raw), "design_id": design, "verdict": "known"}
    return {**known, "model_type": "llama", "evidence": evidence, "unread": [], **values}


def _design(
    design: str, layers: int, active: int, compute: int, params: dict[str, int], **more: object
) -> dict[str, Any]:
    counts = {f"params_{c}": params.get(c, 0) for c in (*SUMMED, "mtp", "towers", "buffers")}
    total = sum(params.values())
    shares = {f"share_{c}": params.get(c, 0) / total for c in SUMMED}
    costs = {"flops_per_token": 2 * compute, "weight_bytes_bf16": 2 * total}
    sums = {"params_total": total, "params_active": active, "params_active_compute": compute}
    return {"design_id": design, "n_layers": layers, "layer_mix": [], **counts, **shares, **costs, **sums, **more}


def _weight(
    design: str, run: int, slot: int, ordinal: int, name: str, shape: list[int], component: str, role: str
) -> dict[str, Any]:
    elements = shape[0] * (shape[1] if len(shape) > 1 else 1)
    place = {"design_id": design, "run": run, "slot": slot, "ordinal": ordinal, "part": component, "name": name}
    return {
        **place,
        "repeats": 1,
        "shape": shape,
        "stored": 1,
        "touched": 1,
        "role": role,
        "component": component,
        "elements": elements,
    }


def _layer_weights(slot: int) -> list[dict[str, Any]]:
    return [
        _weight("aaaa", 0, slot, 0, "qkv", [8, 4], "attention", "matmul"),
        _weight("aaaa", 0, slot, 1, "o", [4, 4], "attention", "matmul"),
        _weight("aaaa", 0, slot, 2, "up", [8, 4], "ffn_dense", "matmul"),
        _weight("aaaa", 0, slot, 3, "down", [4, 8], "ffn_dense", "matmul"),
    ]


def _layer(design: str, slot: int, mixer: str, params: int, **more: object) -> dict[str, Any]:
    place = {
        "design_id": design,
        "run": 0,
        "slot": slot,
        "mixer_slot": 0,
        "repeats": 1,
        "first_index": slot,
        "stride": 2,
    }
    return {**place, "mixer": mixer, "state_bytes_constant": 0, "ffn": "dense", "params": params, **more}


def _state(design: str, slot: int, kind: str, elements: int, stride: int, **more: object) -> dict[str, Any]:
    place = {"design_id": design, "run": 0, "slot": slot, "ordinal": 0, "part": "attention", "repeats": 1}
    place |= {"stack": "decoder", "owner": slot, "owner_step": 2 if design == "aaaa" else 1}
    halves = {"k_elements": elements // 2, "v_elements": elements // 2} if kind == "kv" else {}
    return {**place, "kind": kind, "elements": elements, "stride": stride, **halves, **more}


_A_PARAMS = {"embedding": 40, "norm": 4, "unembedding": 40, "attention": 96, "ffn_dense": 128}
_A_CACHE = {
    "kv_bytes_per_token": 8.0, "kv_bytes_per_token_first": 16.0, "index_bytes_per_token": 0.0,
    "growth_bytes_per_token_first": 16.0,
    "state_bytes_constant": 0, "kv_bytes_4k": 40_960, "kv_bytes_32k": 270_336,
    "kv_bytes_128k": 1_056_768, "kv_bytes_1m": 8_396_800,
}  # fmt: skip
_B_CACHE = {
    "kv_bytes_per_token": 0.0, "kv_bytes_per_token_first": 0.0, "index_bytes_per_token": 0.0,
    "growth_bytes_per_token_first": 0.0,
    "state_bytes_constant": 24, "kv_bytes_4k": 24, "kv_bytes_32k": 24, "kv_bytes_128k": 24, "kv_bytes_1m": 24,
}  # fmt: skip

_UNPROVEN = {"stored_reason": "nothing proves how the weights are stored"}


def _stored(group: str, scheme: str, dtype: str, tensors: int, elements: int, size: int) -> dict[str, Any]:
    place = {"subject": A2, "group": group, "scheme": scheme, "dtype": dtype}
    return {**place, "tensors": tensors, "elements": elements, "bytes": size, "evidence": "rule"}


_ROWS: dict[str, list[dict[str, Any]]] = {
    "models": [
        _model("org/A-8B", A, downloads=100, created_at=CREATED, tags=["a", "b"]),
        _model("org/A-8B-Instruct", A2),
        _model("org/Bamba", B, hub_params_by_dtype=[{"key": "BF16", "value": 56}], hub_params_total=56),
        _model("other/bad", BAD, "malformed"),
        _model("other/gated", None, "gated"),
    ],
    "runs": [
        {"repo_id": name, "outcome": outcome, "day": DAY}
        for name, outcome in {
            "org/A-8B": "ok",
            "org/A-8B-Instruct": "ok",
            "org/Bamba": "ok",
            "other/bad": "malformed",
            "other/gated": "gated",
        }.items()
    ],
    "sightings": [
        {"kind": "model_type", "model_type": name, "name": name, "first_seen": DAY, "configs": n, "models": n}
        | {"downloads": downloads}
        for name, n, downloads in (("llama", 2, 100), ("mamba2", 1, None))
    ],
    "configs": [
        _config(RAW_A, "aaaa", rope_theta=10_000.0, max_context=4_096, growth_bytes_per_token=8.0, **_UNPROVEN),
        _config(
            RAW_A2, "aaaa", rope_theta=500_000.0, max_context=131_072, growth_bytes_per_token=8.0,
            quant_method="fp8", weight_bytes_checkpoint=404,
        ),
        _config(RAW_B, "bbbb", model_type="mamba2", growth_bytes_per_token=0.0, **_UNPROVEN),
        {"config_id": BAD, "raw_bytes": RAW_BAD, "size_bytes": len(RAW_BAD), "verdict": "refused"}
        | {"evidence": [], "unread": []},
    ],
    "designs": [
        _design("aaaa", 2, 308, 264, _A_PARAMS, **_A_CACHE),
        _design("bbbb", 1, 56, 16, {"embedding": 40, "recurrent": 16}, **_B_CACHE),
    ],
    "layers": [
        _layer("aaaa", 0, "full_attention", 112),
        _layer("aaaa", 1, "sliding_attention", 112, window=1_024),
        _layer("bbbb", 0, "ssm", 16, state_bytes_constant=24, ffn="none"),
    ],
    "parameters": [
        _weight("aaaa", -1, 0, 0, "embed", [10, 4], "embedding", "lookup"),
        _weight("aaaa", -1, 0, 1, "norm", [4], "norm", "vector"),
        _weight("aaaa", -1, 0, 2, "head", [10, 4], "unembedding", "matmul"),
        *_layer_weights(0),
        *_layer_weights(1),
        _weight("bbbb", -1, 0, 0, "embed", [10, 4], "embedding", "lookup"),
        _weight("bbbb", 0, 0, 0, "in_proj", [4, 4], "recurrent", "matmul"),
    ],
    "states": [
        _state("aaaa", 0, "kv", 4, 1),
        _state("aaaa", 1, "kv", 4, 1, window=1_024),
        _state("bbbb", 0, "constant", 6, 0, width_bytes=4),
    ],
    "stored": [
        _stored("language_model", "fp8_tensor", "F8_E4M3", 8, 224, 224),
        _stored("language_model", "unquantized", "BF16", 3, 84, 168),
        _stored("scales", "fp8_tensor", "F32", 3, 3, 12),
    ],
    "refusals": [{"config_id": BAD, "kind": "not_json", "reason": "not JSON: 'utf-8' codec can't decode byte 0xff"}],
    "constants": [
        {"config_id": A, "field": "norm_epsilon", "value": "1e-6", "origin": "alias", "source": "rms_norm_eps"},
        {"config_id": A2, "field": "norm_epsilon", "value": "1e-5", "origin": "alias", "source": "rms_norm_eps"},
    ],
    "features": [{"config_id": A, "feature": "gqa"}, {"config_id": A2, "feature": "gqa"}],
    "reported": [{"repo_id": "org/A-8B", "fact": "n", "value": "308", "unit": "weights", "citation": "Paper, table 1"}],
    "checks": [{"repo_id": "org/Bamba", "kind": "safetensors_total", "expected": 56, "derived": 56, "result": "exact"}],
    "disagreements": [{"repo_id": "org/A-8B", "field": "kv_bytes_128k", "tool": "other 1.0", "theirs": "0"}],
    "measurements": [
        {"experiment": "x", "subject": "org/A-8B", "quantity": "time", "value": 1.5, "unit": "ms",
         "conditions": "one thread", "measured_on": DAY}
    ],
}  # fmt: skip


def publish(home: Path, day: str, downloads: int) -> None:
    """Publish the hand-made atlas on a day, with other download counts."""
    made = content()
    made["models"] = made["models"].with_columns(pl.lit(downloads, dtype=pl.Int64).alias("downloads"))
    about = snapshot.Publication(day=dt.date.fromisoformat(day), source="hand", listed=LISTED, code_version="0")
    snapshot.publish(home, made, about)
