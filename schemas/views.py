"""Views and macros that travel in the snapshot, so that a plain `duckdb` client is already a good tool."""

from __future__ import annotations

from schemas.fields import FINGERPRINT, Field, count, word
from schemas.registry import CONFIGS, LAYERS, MODELS
from schemas.registry import EVIDENCE as EVIDENCE_FIELDS
from schemas.tables import comment, quoted

_VERDICT_OF_CHECKS = (
    "SELECT repo_id, CASE WHEN bool_or(result = 'off') THEN 'off' WHEN bool_or(result = 'exact') THEN 'exact'"
    " ELSE 'unchecked' END AS result FROM checks GROUP BY repo_id"
)
_SPECIAL = {
    "check": "coalesce(k.result, 'unchecked')",
    "refusal_kind": "r.kind",
    "refusal_reason": "r.reason",
}
_ALIAS = {"models": "m", "configs": "c", "designs": "d"}


def _source(field: Field) -> str:
    return _SPECIAL.get(field.name) or f'{_ALIAS[field.home]}."{field.name}"'


def fingerprints() -> str:
    """One row per model with a config, columns in the contract's order."""
    columns = ",\n  ".join(f'{_source(f)} AS "{f.name}"' for f in FINGERPRINT)
    return (
        f"CREATE VIEW fingerprints AS SELECT\n  {columns}\nFROM models m JOIN configs c ON c.config_id = m.config_id"
        " LEFT JOIN designs d ON d.design_id = c.design_id LEFT JOIN refusals r ON r.config_id = c.config_id"
        f" LEFT JOIN ({_VERDICT_OF_CHECKS}) k ON k.repo_id = m.repo_id"
    )


# Unnested in an inner query: a filter by model then goes below the unnesting, which is 35 times faster.
EVIDENCE = (
    "CREATE VIEW evidence AS SELECT repo_id, config_id, e.field, e.value, e.origin, e.source FROM (SELECT m.repo_id,"
    " c.config_id, unnest(c.evidence) AS e FROM models m JOIN configs c ON c.config_id = m.config_id)"
)


_RUN_LENGTH = {"run", "slot", "repeats", "first_index", "stride"}
_INDEX = Field("index", "int", "Index of the layer, counted from 0.", "layers", nullable=False, least=0)
_EXPANDED = tuple(f for f in LAYERS.fields if f.name not in _RUN_LENGTH)
_MODEL_TYPE = next(f for f in CONFIGS.fields if f.name == "model_type")
COLUMNS: dict[str, tuple[Field, ...]] = {
    "fingerprints": FINGERPRINT,
    "evidence": (MODELS.fields[0], CONFIGS.fields[0], *EVIDENCE_FIELDS),
    "layers_expanded": (_EXPANDED[0], _INDEX, *_EXPANDED[1:]),
    "unread_keys": (
        _MODEL_TYPE,
        word("key", "A key of the config that nothing read and that is not reviewed as irrelevant.", nullable=False),
        count("configs", "Distinct configs of this model_type that state the key.", "configs"),
    ),
}
"""Columns of every view, in order."""


def layers_expanded() -> str:
    """One row per mixer of every layer."""
    columns = ", ".join(f'l."{f.name}"' for f in _EXPANDED[1:])
    return (
        "CREATE VIEW layers_expanded AS SELECT l.design_id, l.first_index + k.k * l.stride AS index,"
        f" {columns} FROM layers l, unnest(range(l.repeats)) AS k(k)"
    )


UNREAD_KEYS = (
    "CREATE VIEW unread_keys AS SELECT model_type, key, count(*) AS configs FROM"
    " (SELECT model_type, unnest(unread) AS key FROM configs) GROUP BY model_type, key"
)
_ENTRIES = (
    "CASE WHEN s.stride = 0 THEN 1 WHEN s.kind = 'cross' THEN 0"
    ' ELSE least(coalesce(s."window", context), context) // s.stride END'
)
KV_BYTES = (
    "CREATE MACRO kv_bytes(model, context, bytes_per_element) AS (SELECT ceil(sum(s.repeats * s.elements *"
    f" coalesce(s.width_bytes, bytes_per_element)::DOUBLE * ({_ENTRIES})))::BIGINT"
    " FROM models m JOIN configs c ON c.config_id = m.config_id JOIN states s ON s.design_id = c.design_id"
    " WHERE m.repo_id = model)"
)

EXPERTS_TOUCHED = (
    "CREATE MACRO experts_touched(experts, per_token, tokens) AS"
    " (experts * (1 - (1 - per_token::DOUBLE / experts) ** tokens))"
)
_ON_RANK = (
    "CASE WHEN s.kind = 'constant' THEN s.elements::DOUBLE / tp WHEN s.n_heads IS NULL THEN s.elements::DOUBLE"
    " ELSE s.elements::DOUBLE / s.n_heads * greatest(1, ceil(s.n_heads::DOUBLE / tp)) END"
)
_NOT_SHARED = (
    "tp > 1 AND ((s.kind = 'constant' AND s.n_heads IS NULL AND s.channels IS NULL) OR s.groups % tp > 0"
    " OR (s.kind = 'kv' AND s.n_heads % tp > 0 AND tp % s.n_heads > 0))"
)
_RANK_BYTES = (
    f"CASE WHEN bool_or(coalesce({_NOT_SHARED}, false)) THEN NULL ELSE ceil(sum(s.repeats * {_ON_RANK}"
    f" * coalesce(s.width_bytes, bytes_per_element)::DOUBLE * ({_ENTRIES})))::BIGINT END"
)
KV_BYTES_RANK = (
    f"CREATE MACRO kv_bytes_rank(model, context, bytes_per_element, tp) AS (SELECT {_RANK_BYTES}"
    " FROM models m JOIN configs c ON c.config_id = m.config_id JOIN states s ON s.design_id = c.design_id"
    " WHERE m.repo_id = model)"
)
_RANK_PARAMS = (
    "CASE tp WHEN 1 THEN f.params_total WHEN 2 THEN f.params_rank_tp2 WHEN 4 THEN f.params_rank_tp4"
    " WHEN 8 THEN f.params_rank_tp8 WHEN 16 THEN f.params_rank_tp16 END"
)
FITS = (
    "CREATE MACRO fits(memory_bytes, context, sequences, bytes_per_element, bytes_per_weight, tp) AS TABLE"
    " SELECT repo_id, params_total, weights, weights_are, cache,"
    " memory_bytes - weights - sequences * cache AS left_bytes,"
    " floor((memory_bytes - weights)::DOUBLE / nullif(cache, 0))::BIGINT AS sequences_at_most,"
    " weights + sequences * cache <= memory_bytes AS fits FROM (SELECT f.repo_id, f.params_total, k.cache, CASE"
    f" WHEN bytes_per_weight IS NOT NULL THEN ceil({_RANK_PARAMS} * bytes_per_weight)::BIGINT"
    f" WHEN tp = 1 AND f.weight_bytes_checkpoint IS NOT NULL THEN f.weight_bytes_checkpoint ELSE 2 * {_RANK_PARAMS} END"
    " AS weights, CASE WHEN bytes_per_weight IS NOT NULL THEN 'hypothetical'"
    " WHEN tp = 1 AND f.weight_bytes_checkpoint IS NOT NULL THEN 'as stored' ELSE 'at bf16' END AS weights_are"
    f" FROM fingerprints f JOIN (SELECT s.design_id, {_RANK_BYTES} AS cache FROM states s GROUP BY s.design_id) k"
    " USING (design_id))"
)

MEANINGS = {
    "experts_touched": (
        "experts_touched(experts, per_token, tokens): experts of a layer that so many tokens touch in the mean"
        " under even routing."
    ),
    "kv_bytes_rank": (
        "kv_bytes_rank(model, context, bytes_per_element, tp): kv_bytes of the fullest of tp tensor-parallel ranks;"
        " null where heads do not divide or how ranks share a state is not described."
    ),
    "fits": (
        "fits(memory_bytes, context, sequences, bytes_per_element, bytes_per_weight, tp): a row per model with a"
        " cache: weights (bytes_per_weight null: as stored, else at bf16) and cache of one sequence on a rank, what is"
        " left, how many sequences fit. TP 1, 2, 4, 8 or 16; null where not known."
    ),
    "fingerprints": "One row per model with a config: its architecture and what it costs to serve.",
    "evidence": "One row per model and value: where the value comes from.",
    "layers_expanded": "One row per mixer of every layer of a design; the table layers without run lengths.",
    "unread_keys": "One row per model_type and key that nothing read: how a new feature is noticed.",
    "kv_bytes": (
        "kv_bytes(model, context, bytes_per_element): bytes of cache and state that one sequence of"
        " that many tokens holds, windows, strides, index caches and constant states"
        " included; null for an encoder or an unknown model."
    ),
}


def statements() -> list[str]:
    """Everything to run, in order, after the tables exist."""
    comments = [f"COMMENT ON VIEW {v} IS {quoted(MEANINGS[v])}" for v in COLUMNS]
    comments += [
        f'COMMENT ON COLUMN {view}."{f.name}" IS {quoted(comment(f))}'
        for view, fields in COLUMNS.items()
        for f in fields
    ]
    comments += [
        f"COMMENT ON MACRO {m} IS {quoted(MEANINGS[m])}" for m in ("kv_bytes", "experts_touched", "kv_bytes_rank")
    ]
    comments.append(f"COMMENT ON MACRO TABLE fits IS {quoted(MEANINGS['fits'])}")
    macros = [KV_BYTES, EXPERTS_TOUCHED, KV_BYTES_RANK, FITS]
    return [fingerprints(), EVIDENCE, layers_expanded(), UNREAD_KEYS, *macros, *comments]
