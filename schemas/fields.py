"""One registry of quantities: every column of a fingerprint, with its type, unit and meaning.

Table models, column comments, the view `fingerprints` and the data dictionary are made from these rows, so a quantity
has one name, one unit and one definition everywhere. Null means "does not apply"; 0 means "known to be none". The
rest of the tables is in `schemas/registry.py`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

from schemas.vocabulary import (
    AttentionKind,
    Check,
    Component,
    Mask,
    ModelKind,
    NormClass,
    NormPlacement,
    Position,
    RefusalKind,
    Verdict,
)

Kind = Literal[
    "text", "int", "real", "flag", "date", "time", "blob", "texts", "ints", "counts", "words", "evidence", "states"
]  # fmt: skip
"""`texts`, `ints`: lists; `counts` maps text to int, `words` text to text; `evidence`: see registry.EVIDENCE, `states`:
views.KEPT."""

Home = Literal["models", "configs", "designs", "refusals", "checks"]


class Field(NamedTuple):
    """One column. `least` bounds a number from below, `among` is the closed set of a text."""

    name: str
    kind: Kind
    meaning: str
    unit: str | None = None
    nullable: bool = True
    least: float | None = None
    among: type[StrEnum] | None = None
    home: Home = "designs"


def count(name: str, meaning: str, unit: str, *, home: Home = "designs") -> Field:
    """A whole number of things that cannot be negative."""
    return Field(name, "int", meaning, unit, least=0, home=home)


def word(
    name: str, meaning: str, among: type[StrEnum] | None = None, *, nullable: bool = True, home: Home = "designs"
) -> Field:
    """A text, perhaps of a closed set."""
    return Field(name, "text", meaning, None, nullable, None, among, home)


def flag(name: str, meaning: str) -> Field:
    """A yes or no."""
    return Field(name, "flag", meaning)


def _params(component: Component, meaning: str) -> Field:
    home: Home = "configs" if component in OF_CONFIGS else "designs"
    return count(f"params_{component}", f"Stored weights of: {meaning}.", "weights", home=home)


def _share(component: Component) -> Field:
    return Field(f"share_{component}", "real", f"params_{component} / params_total.", "fraction", least=0)


COMPONENT_MEANINGS: dict[Component, str] = {
    Component.EMBEDDING: "token table, learned positions, token types, per-layer embeddings with their projections",
    Component.UNEMBEDDING: "output head; 0 when it is tied to the token table",
    Component.ATTENTION: (
        "projections and biases of attention, Q/K norms, sinks, MLA with its latent norms, sparse-attention indexers"
    ),
    Component.RECURRENT: "SSM, linear attention and short convolutions, with their gated norms",
    Component.FFN_DENSE: "dense feed-forward networks",
    Component.EXPERTS_ROUTED: "routed experts, all of them, with their biases",
    Component.EXPERTS_SHARED: "experts that every token uses",
    Component.ROUTER: "routers with their correction biases, and the gate of a shared expert",
    Component.NORM: "block norms and the final norm",
    Component.OTHER: "hyper-connections, residual scales, latent projections around experts, classifier heads",
    Component.MTP: "multi-token-prediction and draft layers; apart, not in params_total",
    Component.TOWERS: "vision and audio towers and their projectors; apart, not in params_total",
    Component.BUFFERS: "persistent buffers that are not weights; apart, not in params_total",
}

OF_CONFIGS = (Component.TOWERS, Component.BUFFERS)
"""Components that configs of one design may have differently: towers, with their buffers, are no part of a design."""

SUMMED = tuple(c for c in Component if c not in (Component.MTP, Component.TOWERS, Component.BUFFERS))
"""Components that add up to params_total."""

_BF16 = "Logical size at 2 bytes an element; no allocator, page or engine reserve."


def _kv_at(suffix: str, tokens: int) -> Field:
    meaning = (
        f"Cache and state of one sequence of {tokens:,} tokens: growing, windowed, index and constant together. {_BF16}"
    )
    return count(f"kv_bytes_{suffix}", meaning, "bytes")


def _reads_at(suffix: str, tokens: int) -> tuple[Field, Field, Field]:
    flops = (
        f"Weight-free work of one token that looks at {tokens:,} tokens, on top of flops_per_token: attention's two"
        " products and the scores of an indexer (its weighting by head is left out); MLA as it reads its latent; sparse"
        " attention at its top-k; windows at their bound; a recurrent step at 4 (RG-LRU), 6 (Mamba), 8 (delta rule,"
        " RWKV) FLOPs per element of its state. The mixing of several residual streams, convolutions (in"
        " flops_per_token), norms, softmax, activations, rotations, masks and biases are left out."
    )
    moved = (
        f"Bytes moved to decode one token after {tokens:,}: params_active_compute at 2 bytes plus the cache it reads."
    )
    prompt = (
        f"The same of a whole prompt of {tokens:,} tokens: the sum of the reads at each position, itself included, a"
        " windowed or chunked layer at min(t, window), MLA expanded (the form prefill runs), top-k applied; state work"
        " left out. Where attention looks both ways, every position looks at all."
    )
    return (
        count(f"attention_flops_per_token_{suffix}", flops, "FLOPs"),
        count(f"prefill_attention_flops_{suffix}", prompt, "FLOPs"),
        count(f"decode_bytes_per_token_{suffix}", moved, "bytes"),
    )


_READS_4K, _READS_128K = _reads_at("4k", 4_096), _reads_at("128k", 131_072)

IDENTITY: tuple[Field, ...] = (
    word("repo_id", "Repository, as owner/name. Null where a config was read without one.", home="models"),
    word("revision", "Commit of the repository that the config was read at.", home="models"),
    word("model_type", "model_type of the config: the family's name.", home="configs"),
    word("architecture_class", "First entry of architectures: the class a checkpoint is stored for.", home="configs"),
    word("kind", "What the language model in the file is, also under a wrapper.", ModelKind, home="configs"),
    word(
        "design_id",
        "Digest of the structure: repositories with the same one have the same architecture.",
        home="configs",
    ),
    word("verdict", "How far the derivation can be trusted.", Verdict, nullable=False, home="configs"),
    word("check", "The derived total held against the checkpoint's own.", Check, nullable=False, home="checks"),
    word("refusal_kind", "Why no number is given, as a word.", RefusalKind, home="refusals"),
    word("refusal_reason", "Why no number is given, as a sentence.", home="refusals"),
    word("doubt", "Why the answer is assumed and not known, as a sentence.", home="configs"),
)

SHAPE: tuple[Field, ...] = (
    count("n_layers", "Layers of the decoder, or of the encoder where there is no decoder.", "layers"),
    count("d_model", "Width of the residual stream.", "elements"),
    count("vocab_size", "Rows of the token table.", "tokens"),
    count("d_ff", "Inner width of the dense feed-forward network.", "elements"),
    word("attention_kind", "How keys and values are shared among query heads.", AttentionKind),
    count(
        "n_q_heads", "Query heads of the full-attention mixers (of all attention mixers where none is full).", "heads"
    ),
    count("n_kv_heads", "Key and value heads of the same mixers; null for MLA.", "heads"),
    count("head_dim", "Width of one query and key head; for MLA qk_nope + qk_rope.", "elements"),
    count("v_head_dim", "Width of one value head.", "elements"),
    count("group_size", "Query heads per key and value head; null for MLA.", "heads"),
    Field(
        "layer_mix",
        "counts",
        "Mixers by kind. A layer with two counts under both, so the sum may exceed n_layers.",
        "mixers",
    ),
    count("sliding_window", "Bound of windowed or chunked layers; null where none is effective.", "tokens"),
    word("layer_pattern", "The layers as run-length text, for example 12x(swa moe . gqa moe)."),
    flag("is_heterogeneous", "Whether mixers of one kind differ among layers; then the table layers is the authority."),
    count("n_kv_shared_layers", "Layers that read the cache of an earlier layer.", "layers"),
)

EXPERTS: tuple[Field, ...] = (
    flag("is_moe", "Whether any layer has routed experts."),
    count("n_routed_experts", "Routed experts of one layer.", "experts"),
    count("n_shared_experts", "Experts of one layer that every token uses.", "experts"),
    count("experts_per_token", "Routed experts that one token uses in one layer.", "experts"),
    count("moe_d_ff", "Inner width of one routed expert.", "elements"),
    count("n_moe_layers", "Layers with routed experts.", "layers"),
    count("n_dense_ffn_layers", "Layers with a dense feed-forward network.", "layers"),
)

ATOMS: tuple[Field, ...] = (
    word(
        "activation",
        "Activation of the feed-forward networks as the class builds it, not as the config spells it: silu, gelu (by"
        " the error function), gelu_tanh (its approximation, under its many names), quick_gelu, relu, relu2 (squared),"
        " swigluoai (gpt-oss: gate x sigmoid(1.702 gate), both halves clamped), xielu, ...; gated or not is"
        " is_gated_ffn.",
    ),
    flag("is_gated_ffn", "Whether the feed-forward network multiplies by a gate (three matrices instead of two)."),
    word("norm_class", "Normalisation of the blocks.", NormClass),
    word("norm_placement", "Where the block norms stand.", NormPlacement),
    flag("has_qk_norm", "Whether queries and keys are normalised."),
    flag("has_attention_bias", "Whether any attention projection has a bias."),
    flag("has_sinks", "Whether attention has learned sinks."),
    word(
        "attention_mask",
        "Which positions a token may look at; of an encoder-decoder the decoder's; null where nothing attends.",
        Mask,
    ),
    flag("tie_word_embeddings", "Whether the output head is the token table."),
)

CONTEXT: tuple[Field, ...] = (
    word("position", "How the model knows where a token stands.", Position),
    Field(
        "rope_theta", "real", "Base of the rotary frequencies (of the full-attention layers).", least=0, home="configs"
    ),
    word(
        "rope_scaling", "Kind of rotary scaling: yarn, llama3, linear, ...; null where there is none.", home="configs"
    ),
    Field("rope_factor", "real", "Factor of the rotary scaling.", "ratio", least=0, home="configs"),
    Field("partial_rotary", "real", "Part of a head that is rotated.", "fraction", least=0, home="configs"),
    count("max_context", "Context as the config states it, never multiplied.", "tokens", home="configs"),
    count("native_context", "Context before the rotary scaling, where the config states it.", "tokens", home="configs"),
)

STORAGE: tuple[Field, ...] = (
    word("dtype", "Element type the config states.", home="configs"),
    word("quant_method", "Quantization the config states.", home="configs"),
)

PARAMETERS: tuple[Field, ...] = (
    count(
        "params_total",
        "Weights that a checkpoint of the class stores, tied weights once. Components sum to it exactly.",
        "weights",
    ),
    count(
        "params_active",
        "Stored weights that one token uses, each once; the token table whole. Where a router has empty choices, the"
        " mean over all choices.",
        "weights",
    ),
    count(
        "params_active_max",
        "The most stored weights that a token can use, where a router has empty choices; null where that is"
        " params_active.",
        "weights",
    ),
    count(
        "params_active_compute",
        "Matmul weights as often as they multiply in one decode step, or for one token of an encoder; no looked-up"
        " tables. Convolutions are in it once. An encoder beside a decoder, the keys and values of cross-attention,"
        " what needs an image (in a step of text alone), poolers and heads that run once a sequence, and the mixing of"
        " several residual streams are left out.",
        "weights",
    ),
    *(_params(c, m) for c, m in COMPONENT_MEANINGS.items()),
    count(
        "params_checkpoint",
        "Logical weights of the repository's files: params_total with drafts, towers and buffers, as far as stored;"
        " packed weights count as what they stand for. Null where a part is not known.",
        "weights",
        home="configs",
    ),
    *(_share(c) for c in SUMMED),
)

_GROWTH = "DOUBLE: a cache may have one entry per several tokens."

CACHE: tuple[Field, ...] = (
    Field(
        "growth_bytes_per_token",
        "real",
        "Growth of keys, values and index per token at the stated context: a window no shorter than max_context is no"
        f" bound; where max_context is null every window bounds. {_BF16} {_GROWTH}",
        "bytes/token",
        least=0,
        home="configs",
    ),
    Field(
        "growth_bytes_per_token_first",
        "real",
        f"The same below every window: what one of the first tokens adds. {_BF16} {_GROWTH}",
        "bytes/token",
        least=0,
    ),
    count("kv_bytes_per_token", f"Growth per token once every window is full. {_BF16}", "bytes/token"),
    count("kv_bytes_per_token_first", f"What one token adds while every window is open. {_BF16}", "bytes/token"),
    count("index_bytes_per_token", "Side caches of sparse-attention indexers, apart from both.", "bytes/token"),
    count(
        "cross_kv_bytes_per_source_token",
        f"Cross-attention cache of a decoder per source token. {_BF16}",
        "bytes/token",
    ),
    count(
        "state_bytes_constant",
        "State of a fixed size (SSM, conv, linear attention), at the width the family keeps it in.",
        "bytes",
    ),
    _kv_at("4k", 4_096),
    _kv_at("32k", 32_768),
    _kv_at("128k", 131_072),
    _kv_at("1m", 1_048_576),
)

COST: tuple[Field, ...] = (
    count("flops_per_token", "2 x params_active_compute: a multiply-add is 2.", "FLOPs"),
    count(
        "source_flops_per_token",
        "2 x the weights that one token of a source is multiplied by: the encoder's layers, keys and values of"
        " cross-attention. Convolutions that make the source's tokens, and the reads within the source, are left out."
        " Null where there is no source.",
        "FLOPs",
    ),
    count(
        "cross_attention_flops_per_source_token",
        "What one decoded token spends looking at one token of the source; null where there is no source.",
        "FLOPs",
    ),
    _READS_4K[0],
    _READS_128K[0],
    _READS_4K[1],
    _READS_128K[1],
    _READS_4K[2],
    _READS_128K[2],
    count("weight_bytes_bf16", "params_total at 2 bytes.", "bytes"),
    count(
        "weight_bytes_checkpoint",
        "Tensor bytes of the repository's weight files: packed weights, scales, zero points, indices, towers, drafts"
        " and buffers, by headers, an index that the rule agrees with, or the quantization's rule; null where nothing"
        " proves it (a stated dtype does not). Table stored says what it is made of.",
        "bytes",
        home="configs",
    ),
)

BEYOND: tuple[Field, ...] = (
    count("n_mtp_layers", "Multi-token-prediction or draft layers in the checkpoint.", "layers"),
    flag("has_towers", "Whether the checkpoint holds vision or audio towers.")._replace(home="configs"),
    Field(
        "tp_degrees",
        "words",
        "For tensor-parallel degrees 2, 4, 8, 16: even; copied or uneven, with the heads and widths that make it so;"
        " unknown where how a part is shared out is not described.",
    ),
)

_RANK = "on the fullest of {} tensor-parallel ranks; null where a width does not divide or the split is not described."

SERVING: tuple[Field, ...] = (
    Field(
        "tp_alignment",
        "counts",
        "For degrees that divide: the largest power of two, at most 256, that divides every rank's widths.",
        "elements",
    ),
    *(count(f"params_rank_tp{t}", f"Stored weights {_RANK.format(t)}", "weights") for t in (2, 4, 8, 16)),
    *(
        Field(
            f"kv_bytes_per_token_rank_tp{t}",
            "real",
            f"Cache that one more token adds, windows full, {_RANK.format(t)} {_BF16}",
            "bytes/token",
            least=0,
        )
        for t in (2, 4, 8, 16)
    ),
    *(
        Field(
            f"experts_touched_b{b}",
            "real",
            f"Experts of a layer that {b} tokens touch in the mean under even routing: n (1 - (1 - k/n)^{b}); where a"
            " router has empty choices, n in the power counts them too.",
            "experts",
            least=0,
        )
        for b in (8, 64, 256)
    ),
    *(
        count(
            f"decode_weight_bytes_b{b}",
            f"Weights that a decode step of {b} sequences reads, those of touched experts only. At 2 bytes an element.",
            "bytes",
        )
        for b in (8, 64, 256)
    ),
    count(
        "dispatch_bytes_per_token",
        "Hidden states of one token sent to its routed experts, all layers, were each on another GPU. At 2 bytes.",
        "bytes/token",
    ),
    count(
        "combine_bytes_per_token",
        "Results of one token's routed experts sent back, all layers, were each on another GPU. At 2 bytes.",
        "bytes/token",
    ),
    count(
        "draft_kv_bytes_per_token",
        "Cache that draft layers keep per token where they run; apart, in no other figure. At 2 bytes an element.",
        "bytes/token",
    ),
    word("state_dtype", "Element type the config states for recurrent states.", home="configs"),
)

FINGERPRINT: tuple[Field, ...] = (
    *IDENTITY, *SHAPE, *EXPERTS, *ATOMS, *CONTEXT, *STORAGE, *PARAMETERS, *CACHE, *COST, *BEYOND, *SERVING
)  # fmt: skip
"""The columns of the view `fingerprints`, in the order of `atlas.numbers.fingerprint.Fingerprint`."""


def at_home(home: Home) -> tuple[Field, ...]:
    """The fingerprint columns that live in one table."""
    return tuple(f for f in FINGERPRINT if f.home == home)
