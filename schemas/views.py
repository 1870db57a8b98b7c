"""Views and macros that travel in the snapshot, so that a plain `duckdb` client is already a good tool."""

from __future__ import annotations

from schemas.fields import FINGERPRINT, Field, count, word
from schemas.registry import CONFIGS, DESIGNS, LAYERS, MODELS, SIGHTINGS
from schemas.registry import EVIDENCE as EVIDENCE_FIELDS
from schemas.tables import comment, quoted
from schemas.vocabulary import Sighting

_VERDICT_OF_CHECKS = (
    "SELECT repo_id, CASE WHEN bool_or(result = 'off') THEN 'off' WHEN bool_or(result = 'exact') THEN 'exact'"
    " ELSE 'unchecked' END AS result FROM checks GROUP BY repo_id"
)
_STORED_BYTES = (
    "SELECT subject, CASE WHEN count(bytes) = count(*) THEN sum(bytes)::BIGINT END AS bytes"
    " FROM stored GROUP BY subject"  # of a repository's own headers, settings or counts
)
_SPECIAL = {
    "weight_bytes_checkpoint": "coalesce(w.bytes, c.weight_bytes_checkpoint)",
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
        f" LEFT JOIN ({_STORED_BYTES}) w ON w.subject = m.repo_id"
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
    "kept": (MODELS.fields[0], Field("states", "states", "Each state: copies, elements, bytes, kind, stride, bound.")),
    "lineage": (
        MODELS.fields[0],
        word("base_model", "A model it says it was made from.", nullable=False),
        word("relation", "How it was made from it, as listed: finetune, quantized, adapter or merge."),
        Field("is_base_here", "flag", "Whether the snapshot holds that base.", nullable=False),
        Field(
            "is_same_design",
            "flag",
            "Whether both have the same design; null where one has none. False contradicts a finetune.",
        ),
        DESIGNS.fields[0]._replace(nullable=True),
        word("base_design_id", "Design of the base; null where it is not here or refused."),
    ),
    "unread_keys": (
        _MODEL_TYPE,
        word("key", "A key of the config that nothing read and that is not reviewed as irrelevant.", nullable=False),
        count("configs", "Distinct configs of this model_type that state the key.", "configs"),
        *(f for f in SIGHTINGS.fields if f.name in {"models", "downloads", "first_seen"}),
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
    "CREATE VIEW unread_keys AS SELECT nullif(model_type, '(none)') AS model_type, name AS key, configs, first_seen,"
    f" models, downloads FROM sightings WHERE kind = '{Sighting.KEY}' AND configs > 0"
)
_FACTS = ("repeats", "elements", "width_bytes", "kind", "stride")
KEPT = (
    "CREATE VIEW kept AS SELECT m.repo_id, (SELECT list(struct_pack("
    + ", ".join(f'"{name}" := s."{name}"' for name in _FACTS)
    + ', bound := s."window") ORDER BY s.run, s.slot, s.ordinal) FROM states s WHERE s.design_id = c.design_id)'
    " AS states FROM models m JOIN configs c ON c.config_id = m.config_id"
)
_HELD = (
    "s.repeats * s.elements * coalesce(s.width_bytes, {width})::DOUBLE * CASE WHEN s.stride = 0 THEN 1"
    " WHEN s.kind = 'cross' THEN 0 ELSE least(coalesce(s.{bound}, {tokens}), {tokens}) // s.stride END"
)
# A text that is no number ends the query with that text; `error` would count as a side effect, and no alias of it could
# be used in WHERE or HAVING.
_SANE = (
    "WHEN {tokens} < 0 THEN ('a context has 0 tokens or more, not ' || {tokens})::BIGINT"
    " WHEN {width} <= 0 THEN ('an element takes more than 0 bytes, not ' || {width})::BIGINT"
)
# A lambda has a scope of its own, and no table is named: right in every clause, and on an attached file.
KV_BYTES_OF = (
    "CREATE MACRO kv_bytes_of(states, context, bytes_per_element) AS CASE"
    f" {_SANE.format(tokens='context', width='bytes_per_element')}"
    " WHEN states IS NULL OR context IS NULL OR bytes_per_element IS NULL THEN NULL ELSE"
    " ceil(list_sum(list_transform(states, lambda s:"
    f" {_HELD.format(tokens='context', width='bytes_per_element', bound='bound')})))::BIGINT END"
)
# What is asked for is evaluated before any table is in scope: a `repo_id` of the caller's stays the caller's.
_ASKED = {"tokens": "asked.kv_context", "width": "asked.kv_width", "bound": '"window"'}


def _of_model(signature: str, summed: str, more: str = "") -> str:
    """A macro that sums over the states of a model given by its name."""
    return (
        f"CREATE MACRO {signature} AS (SELECT CASE WHEN asked.kv_model IS NULL OR"
        f" asked.kv_context IS NULL OR asked.kv_width IS NULL THEN NULL {_SANE.format(**_ASKED)}"
        " WHEN NOT EXISTS (SELECT 1 FROM models m WHERE m.repo_id = asked.kv_model)"
        " THEN ('there is no model ' || asked.kv_model || ' in this snapshot')::BIGINT"
        f" ELSE (SELECT {summed} FROM models m"
        " JOIN configs c ON c.config_id = m.config_id JOIN states s ON s.design_id = c.design_id"
        " WHERE m.repo_id = asked.kv_model) END FROM"
        f" (SELECT model AS kv_model, context AS kv_context, bytes_per_element AS kv_width{more}) AS asked)"
    )


KV_BYTES = _of_model("kv_bytes(model, context, bytes_per_element)", f"ceil(sum({_HELD.format(**_ASKED)}))::BIGINT")
EXPERTS_TOUCHED = (
    "CREATE MACRO experts_touched(experts, per_token, tokens) AS"
    " (experts * (1 - (1 - per_token::DOUBLE / experts) ** tokens))"
)


def _rank_bytes(tokens: str, width: str, ranks: str) -> str:
    """Bytes of the fullest of so many ranks, over the rows of states; null where they do not share as is known."""
    on_rank = (
        f"CASE WHEN s.kind = 'constant' THEN s.elements::DOUBLE / {ranks} WHEN s.n_heads IS NULL"
        " THEN s.elements::DOUBLE"
        f" ELSE s.elements::DOUBLE / s.n_heads * greatest(1, ceil(s.n_heads::DOUBLE / {ranks})) END"
    )
    not_shared = (
        f"{ranks} > 1 AND ((s.kind = 'constant' AND s.n_heads IS NULL AND s.channels IS NULL)"
        f" OR s.groups % {ranks} > 0 OR (s.kind = 'kv' AND s.n_heads % {ranks} > 0 AND {ranks} % s.n_heads > 0))"
    )
    entries = (
        "CASE WHEN s.stride = 0 THEN 1 WHEN s.kind = 'cross' THEN 0"
        f' ELSE least(coalesce(s."window", {tokens}), {tokens}) // s.stride END'
    )
    return (
        f"CASE WHEN bool_or(coalesce({not_shared}, false)) THEN NULL ELSE ceil(sum(s.repeats * {on_rank}"
        f" * coalesce(s.width_bytes, {width})::DOUBLE * ({entries})))::BIGINT END"
    )


KV_BYTES_RANK = _of_model(
    "kv_bytes_rank(model, context, bytes_per_element, tp)",
    _rank_bytes("asked.kv_context", "asked.kv_width", "asked.kv_ranks"),
    ", tp AS kv_ranks",
)
_RANK_PARAMS = (
    "CASE tp WHEN 1 THEN f.params_total WHEN 2 THEN f.params_rank_tp2 WHEN 4 THEN f.params_rank_tp4"
    " WHEN 8 THEN f.params_rank_tp8 WHEN 16 THEN f.params_rank_tp16 END"
)
_CACHE = _rank_bytes("context", "bytes_per_element", "tp")
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
    f" FROM fingerprints f JOIN (SELECT s.design_id, {_CACHE} AS cache FROM states s GROUP BY s.design_id) k"
    " USING (design_id))"
)

# A base is found by its name; one that the snapshot does not hold says nothing.
LINEAGE = (
    "CREATE VIEW lineage AS SELECT x.repo_id, x.base_model, x.relation, b.repo_id IS NOT NULL AS is_base_here,"
    " CASE WHEN x.design_id IS NOT NULL AND b.design_id IS NOT NULL THEN x.design_id = b.design_id END"
    " AS is_same_design, x.design_id, b.design_id AS base_design_id FROM"
    " (SELECT m.repo_id, unnest(m.base_models) AS base_model, m.base_model_relation AS relation, c.design_id"
    " FROM models m LEFT JOIN configs c ON c.config_id = m.config_id) x LEFT JOIN"
    " (SELECT m.repo_id, c.design_id FROM models m LEFT JOIN configs c ON c.config_id = m.config_id) b"
    " ON b.repo_id = x.base_model"
)

MACROS = ("kv_bytes", "kv_bytes_of", "experts_touched", "kv_bytes_rank")
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
    "kept": "One row per model with a config: the states of one sequence as a list, for the macro kv_bytes_of.",
    "lineage": "One row per model and base it states: whether the two have the same design.",
    "kv_bytes": (
        "kv_bytes(model, context, bytes_per_element): bytes of cache and state that one sequence of"
        " that many tokens holds, windows, strides, index caches and constant states"
        " included; null for a model without such states or numbers, an error for a name that is not here. Of an"
        " attached file: USE it first, or kv_bytes_of."
    ),
    "kv_bytes_of": (
        "kv_bytes_of(states, context, bytes_per_element): the same from the column states of view kept; names no table,"
        " so that it works on an attached file: SELECT repo_id, s.kv_bytes_of(states, 131072, 2) FROM s.kept."
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
    comments += [f"COMMENT ON MACRO {m} IS {quoted(MEANINGS[m])}" for m in MACROS]
    comments.append(f"COMMENT ON MACRO TABLE fits IS {quoted(MEANINGS['fits'])}")
    macros = [KV_BYTES, KV_BYTES_OF, EXPERTS_TOUCHED, KV_BYTES_RANK, FITS]
    return [*_views(), *macros, *comments]


def _views() -> list[str]:
    return [fingerprints(), EVIDENCE, layers_expanded(), UNREAD_KEYS, KEPT, LINEAGE]
