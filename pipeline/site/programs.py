"""What programs read: one JSON a design, one index of models, their JSON Schema, and llms.txt that leads to them."""

from __future__ import annotations

from typing import Any

import msgspec

from pipeline.site import words
from pipeline.site.gather import About, Design, Detail, Gathered, Row, licence
from pipeline.text import json_line, markdown
from schemas.fields import FINGERPRINT

_OF_MODEL = frozenset(
    {"repo_id", "revision", "model_type", "architecture_class", "verdict", "check", "refusal_kind", "refusal_reason"}
)
_HERE = frozenset({"design_id", *_OF_MODEL})


class StateRow(msgspec.Struct, frozen=True):
    """One row of `states`: `elements` per `stride` tokens (0: a fixed size) within `window`, `repeats` times."""

    kind: str
    repeats: int
    elements: int
    stride: int
    window: int | None
    width_bytes: int | None


class ModelRow(msgspec.Struct, frozen=True):
    """A model: its name, where its sheet is, and what of it is not the design's."""

    repo_id: str
    design_id: str | None
    model_type: str | None
    verdict: str | None
    check: str | None
    refusal_reason: str | None
    dtype: str | None
    quant_method: str | None
    weight_bytes_checkpoint: int | None
    max_context: int | None
    params_total: int | None
    params_active: int | None
    growth_bytes_per_token: float | None
    kv_bytes_128k: int | None
    licence: str | None
    created_at: str | None


class DesignFile(msgspec.Struct, frozen=True):
    """One design: every column of `fingerprints` that is its own, its states, and the models that have it."""

    design_id: str
    name: str
    snapshot: str
    summary: str
    facts: dict[str, Any]
    states: list[StateRow]
    layers: list[dict[str, Any]]
    models: list[ModelRow]
    evidence: list[dict[str, Any]]


class Index(msgspec.Struct, frozen=True):
    """Every model of a snapshot."""

    snapshot: str
    schema_version: str
    models: list[ModelRow]


def model(m: Row) -> ModelRow:
    """A model's row."""
    own = {f: m[f] for f in ModelRow.__struct_fields__ if f not in ("licence", "created_at")}
    return ModelRow(
        **own, licence=licence(m), created_at=m["created_at"].date().isoformat() if m["created_at"] else None
    )


def design(d: Design, of: Detail, about: About) -> str:
    """The JSON of a design."""
    facts = {f.name: d.facts[f.name] for f in FINGERPRINT if f.name in d.facts and f.name not in _HERE}
    states = [StateRow(s.kind, s.repeats, s.elements, s.stride, s.window, s.width) for s in d.states]
    layers = [{k: v for k, v in row.items() if k != "design_id"} for row in of.layers]
    evidence = [dict(e) for e in of.evidence]
    made = DesignFile(
        d.design_id,
        d.name,
        about.snapshot,
        words.sentence(d),
        facts,
        states,
        layers,
        [model(m) for m in d.models],
        evidence,
    )
    return written(made)


def index(g: Gathered) -> str:
    """The JSON of all models."""
    return written(Index(g.snapshot, g.about.schema_version, [model(m) for m in g.models]))


def written(made: object) -> str:
    """JSON on one line a value, with nothing in it that a terminal obeys."""
    return json_line(msgspec.json.encode(made, enc_hook=str).decode()) + "\n"


def schema() -> str:
    """The JSON Schema of both kinds of file."""
    (of_design, of_index), defined = msgspec.json.schema_components((DesignFile, Index), ref_template="#/$defs/{name}")
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "LLM architecture atlas: files of the site",
        "anyOf": [of_design, of_index], "$defs": defined,
    }  # fmt: skip
    return msgspec.json.format(msgspec.json.encode(made), indent=2).decode() + "\n"


def llms(g: Gathered, pages: list[tuple[str, str]]) -> str:
    """What a language model should read first."""
    guide = "\n".join(f"- [{markdown(title)}]({path})" for title, path in pages)
    return (
        f"# LLM architecture atlas\n\n> Exact parameters, cache and cost of {len(g.models)} models in {len(g.designs)} "
        f"designs, each value with its evidence. Snapshot {g.snapshot}.\n\n"
        "A number's name says what it counts; null is 'does not apply' or 'not known', never zero. A model without a "
        "design_id was refused, and refusal_reason says why.\n\n## Data\n\n"
        "- [Index of models](data/models.json): one object a model; design_id leads to designs/<design_id>.json\n"
        "- [JSON Schema](schema.json) of both\n- [Tables as Parquet](data.html)\n"
        "- Bytes of a sequence of T tokens: the sum over a design's states of repeats x elements x width_bytes (or the "
        "cache's bytes per element) x floor(min(T, window) / stride), once where stride is 0\n\n"
        f"## Guide\n\n{guide}\n"
    )
