"""The JSON Schema of what `--json` prints of a model, made from the records that are printed."""

from __future__ import annotations

from typing import Any

import msgspec

from atlas.numbers.fingerprint import Evidence, Fingerprint, LayerRow
from atlas.numbers.storage import StoredRow
from pipeline.ask.found import Adapter
from schemas.fields import FINGERPRINT

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Of `atlas inspect --json` and `show --json`: the fingerprint's columns with meanings and units, and the rest."""
    types = (Fingerprint, LayerRow, Evidence, StoredRow, Adapter)
    _, parts = msgspec.json.schema_components(types, ref_template="#/$defs/{name}", schema_hook=_any)
    row = parts.pop("Fingerprint")
    meanings = {f.name: f.meaning + (f" Unit: {f.unit}." if f.unit else "") for f in FINGERPRINT}
    columns = {
        name: {k: v for k, v in each.items() if k != "default"}
        | ({"description": meanings[name]} if name in meanings else {})
        for name, each in row["properties"].items()
    }
    return {
        "$schema": DRAFT,
        "title": "A model as atlas inspect --json and atlas show --json print it",
        "description": "Null means not derived or not applicable, never zero.",
        "type": "object",
        "required": ["repo_id", "verdict", "params_total"],
        "properties": columns | _beside(),
        "$defs": parts,
    }


def _any(kind: type) -> dict[str, Any]:
    """A value of a config is anything."""
    if kind is not object:
        raise NotImplementedError
    return {"description": "Anything that a config can hold."}


def _beside() -> dict[str, Any]:
    text, many = {"type": ["string", "null"]}, {"type": "array"}
    return {
        "states": many | {"items": {"type": "object"}},
        "stored": many | {"items": {"$ref": "#/$defs/StoredRow"}},
        "stored_evidence": text,
        "stored_reason": text,
        "layers": many | {"items": {"$ref": "#/$defs/LayerRow"}},
        "evidence": many | {"items": {"$ref": "#/$defs/Evidence"}},
        "unread": many | {"items": {"type": "string"}},
        "source": {"type": "string", "description": "Where the config is from."},
        "snapshot": text,
        "cite": text,
        "reported": many | {"items": {"type": "object", "required": ["fact", "value", "unit", "citation"]}},
        "adapter": {"$ref": "#/$defs/Adapter"},
        "cache_dtype": {"type": "string"},
        "state_bytes_at_dtype": {"type": "object", "additionalProperties": {"type": "number"}},
        "hypothetical": {"type": "object"},
        "warnings": many | {"items": {"type": "string"}, "description": "What to know of a what-if first."},
        "original": {"type": "object", "description": "The model without the what-if's changes."},
    }
