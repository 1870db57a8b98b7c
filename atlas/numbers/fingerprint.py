"""What the atlas knows of one config: one row of the view `fingerprints`, and the evidence behind it.

Names, units and conventions are described, column by column, in `schemas/fields.py`; bytes are at 2 bytes an element
unless a
name says otherwise, and `None` means "does not apply", never "none".
"""

from __future__ import annotations

import msgspec


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """One answer of the reader: which value a field has, and where it comes from."""

    field: str
    value: object
    origin: str
    source: str


class LayerRow(msgspec.Struct, frozen=True, gc=False):
    """One mixer of one layer (a layer with two mixers has two rows; `index` repeats)."""

    index: int
    mixer: str
    attention_kind: str | None
    n_q_heads: int | None
    n_kv_heads: int | None
    head_dim: int | None
    v_head_dim: int | None
    window: int | None
    kv_bytes_per_held_token: int | float | None
    index_bytes_per_held_token: int | float | None
    state_bytes_constant: int
    kv_shared_from: int | None
    position: str | None
    attention_mask: str | None
    ffn: str
    params: int


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One model's architecture and what it costs to serve. See `schemas/fields.py` for every unit and convention."""

    # identity
    repo_id: str | None = None
    revision: str | None = None
    model_type: str | None = None
    architecture_class: str | None = None
    kind: str | None = None
    design_id: str | None = None
    verdict: str
    check: str = "unchecked"
    refusal_kind: str | None = None
    refusal_reason: str | None = None
    doubt: str | None = None
    # shape
    n_layers: int | None = None
    d_model: int | None = None
    vocab_size: int | None = None
    d_ff: int | None = None
    attention_kind: str | None = None
    n_q_heads: int | None = None
    n_kv_heads: int | None = None
    head_dim: int | None = None
    v_head_dim: int | None = None
    group_size: int | None = None
    layer_mix: dict[str, int] | None = None
    sliding_window: int | None = None
    layer_pattern: str | None = None
    is_heterogeneous: bool | None = None
    n_kv_shared_layers: int | None = None
    # mixture of experts
    is_moe: bool | None = None
    n_routed_experts: int | None = None
    n_shared_experts: int | None = None
    experts_per_token: int | None = None
    moe_d_ff: int | None = None
    n_moe_layers: int | None = None
    n_dense_ffn_layers: int | None = None
    # atoms
    activation: str | None = None
    is_gated_ffn: bool | None = None
    norm_class: str | None = None
    norm_placement: str | None = None
    has_qk_norm: bool | None = None
    has_attention_bias: bool | None = None
    has_sinks: bool | None = None
    attention_mask: str | None = None
    tie_word_embeddings: bool | None = None
    # position and context
    position: str | None = None
    rope_theta: float | None = None
    rope_scaling: str | None = None
    rope_factor: float | None = None
    partial_rotary: float | None = None
    max_context: int | None = None
    native_context: int | None = None
    # storage
    dtype: str | None = None
    quant_method: str | None = None
    # parameters
    params_total: int | None = None
    params_active: int | None = None
    params_active_max: int | None = None
    params_active_compute: int | None = None
    params_embedding: int | None = None
    params_unembedding: int | None = None
    params_attention: int | None = None
    params_recurrent: int | None = None
    params_ffn_dense: int | None = None
    params_experts_routed: int | None = None
    params_experts_shared: int | None = None
    params_router: int | None = None
    params_norm: int | None = None
    params_other: int | None = None
    params_mtp: int | None = None
    params_towers: int | None = None
    params_buffers: int | None = None
    params_checkpoint: int | None = None
    share_embedding: float | None = None
    share_unembedding: float | None = None
    share_attention: float | None = None
    share_recurrent: float | None = None
    share_ffn_dense: float | None = None
    share_experts_routed: float | None = None
    share_experts_shared: float | None = None
    share_router: float | None = None
    share_norm: float | None = None
    share_other: float | None = None
    # cache and state of one sequence
    growth_bytes_per_token: float | None = None
    growth_bytes_per_token_first: float | None = None
    kv_bytes_per_token: int | None = None
    kv_bytes_per_token_first: int | None = None
    index_bytes_per_token: int | None = None
    cross_kv_bytes_per_source_token: int | None = None
    state_bytes_constant: int | None = None
    kv_bytes_4k: int | None = None
    kv_bytes_32k: int | None = None
    kv_bytes_128k: int | None = None
    kv_bytes_1m: int | None = None
    # cost of one token
    flops_per_token: int | None = None
    source_flops_per_token: int | None = None
    cross_attention_flops_per_source_token: int | None = None
    attention_flops_per_token_4k: int | None = None
    attention_flops_per_token_128k: int | None = None
    prefill_attention_flops_4k: int | None = None
    prefill_attention_flops_128k: int | None = None
    decode_bytes_per_token_4k: int | None = None
    decode_bytes_per_token_128k: int | None = None
    weight_bytes_bf16: int | None = None
    weight_bytes_checkpoint: int | None = None
    # beyond the decoder
    n_mtp_layers: int | None = None
    has_towers: bool | None = None
    tp_degrees: dict[str, str] | None = None
    # several GPUs, and experts in a batch and on a network
    tp_alignment: dict[str, int] | None = None
    params_rank_tp2: int | None = None
    params_rank_tp4: int | None = None
    params_rank_tp8: int | None = None
    params_rank_tp16: int | None = None
    kv_bytes_per_token_rank_tp2: float | None = None
    kv_bytes_per_token_rank_tp4: float | None = None
    kv_bytes_per_token_rank_tp8: float | None = None
    kv_bytes_per_token_rank_tp16: float | None = None
    experts_touched_b8: float | None = None
    experts_touched_b64: float | None = None
    experts_touched_b256: float | None = None
    decode_weight_bytes_b8: int | None = None
    decode_weight_bytes_b64: int | None = None
    decode_weight_bytes_b256: int | None = None
    dispatch_bytes_per_token: int | None = None
    combine_bytes_per_token: int | None = None
    draft_kv_bytes_per_token: int | None = None
    state_dtype: str | None = None
