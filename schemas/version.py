"""The version of the contract. Additions are minor; renaming or redefining a column is major. Each has a line here."""

from __future__ import annotations

SCHEMA_VERSION = "2.1.0"

SCHEMA_CHANGES: tuple[tuple[str, str], ...] = (
    (
        "2.1.0",
        "measurements: low, high, samples, hardware, engine, engine_version; conditions and day belong to its key.",
    ),
    (
        "2.0.0",
        (
            "design_id covers the activation as built and the mask. flops_per_token, attention_flops_*, decode_* and"
            " params_active_compute are of one decode step: what an encoder beside a decoder costs stands in"
            " source_flops_per_token and cross_attention_flops_per_source_token, short convolutions stand once, poolers"
            " and heads that run once a sequence nowhere; encoders have attention FLOPs. activation is canonical;"
            " norm_class has nonparametric_rmsnorm, norm_placement mixed; role has source, beside, once. New:"
            " attention_mask, growth_bytes_per_token and _first, params_active_max, prefill_attention_flops_*;"
            " layers.position and attention_mask; parameters.choices; states.stack, owner, owner_step, k_elements,"
            " v_elements, channels, kernel; kind and doubt of a config, the table constants, refusal_kind adapter."
            " tp_degrees says even, copied or uneven and why. More new: tp_alignment, params_rank_tp*,"
            " kv_bytes_per_token_rank_tp*, experts_touched_b*, decode_weight_bytes_b*, dispatch_ and"
            " combine_bytes_per_token, draft_kv_bytes_per_token, state_dtype; states.n_heads and groups; macros"
            " experts_touched, kv_bytes_rank and fits."
            " weight_bytes_checkpoint is of the files, never of a stated dtype; table stored has what they hold,"
            " configs.stored_reason why it is not known; params_checkpoint; verdict measured."
            " New: table runs (what happened in a refresh; models.outcome is never unchanged), views kept and lineage,"
            " macro kv_bytes_of; table sightings (model_types, classes and unread keys, each with the day it was first"
            " seen), which unread_keys reads; kv_bytes of an unknown name or of less than 0 tokens is an error."
        ),
    ),
    ("1.0.0", "First published tables, views and macros."),
)
"""(version, what changed for a reader), newest first."""
