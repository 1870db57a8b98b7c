"""The words of the atlas: every value of a closed set that a column, a row or a page may hold.

The words are the field's own where the field has one. Column comments, checks and the data dictionary are made from
here.
"""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Where a value comes from."""

    EXPLICIT = "explicit"  # a key of the config, under its usual name
    ALIAS = "alias"  # another spelling of that key
    CLASS_DEFAULT = "class_default"  # what this model_type takes when the key is absent
    FAMILY_RULE = "family_rule"  # known of the family, in no config
    DERIVED = "derived"  # computed from other values, with the rule in words
    CORRECTION = "correction"  # a known wrong config, set right with a reason
    HEADER = "header"  # read from a safetensors header
    REPORTED = "reported"  # stated by a paper or a card, cited


class Verdict(StrEnum):
    """How far a derivation can be trusted."""

    KNOWN = "known"
    ASSUMED = "assumed"
    MEASURED = "measured"  # exact weights from headers or a GGUF's table, and nothing else
    REFUSED = "refused"


class StoredGroup(StrEnum):
    """What a tensor of a checkpoint's files belongs to."""

    LANGUAGE_MODEL = "language_model"
    TOWERS = "towers"
    DRAFTS = "drafts"
    TIED_HEAD = "tied_head"  # a tied head stored a second time
    BUFFERS = "buffers"
    SCALES = "scales"  # scales, zero points, orders and settings of quantized weights
    TEXTS = "texts"  # settings written out, whose length is data


class StoredEvidence(StrEnum):
    """What says how weights are stored, the strongest first."""

    HEADER = "header"
    INDEX = "index"
    HUB = "hub"  # the Hub's own counts by type, which the structure explains to the unit
    RULE = "rule"


class ModelKind(StrEnum):
    """What the language model in a file is."""

    CAUSAL_LM = "causal_lm"
    ENCODER = "encoder"  # sees the whole input at once: masked models, embedders
    ENCODER_DECODER = "encoder_decoder"
    DIFFUSION_LM = "diffusion_lm"
    HEADLESS = "headless"  # a decoder without a head
    CLASSIFIER = "classifier"  # an output per label; cross-encoders too
    REWARD = "reward"  # an output that says how good a text is; value heads too
    DRAFT = "draft"  # proposes tokens to a larger model
    ADAPTER = "adapter"


class Check(StrEnum):
    """The derived total held against the checkpoint's own."""

    EXACT = "exact"
    OFF = "off"
    UNCHECKED = "unchecked"


class RefusalKind(StrEnum):
    """Why no number is given."""

    UNREADABLE = "unreadable"
    NOT_JSON = "not_json"
    NOT_AN_OBJECT = "not_an_object"
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    UNKNOWN_FAMILY = "unknown_family"
    UNKNOWN_CLASS = "unknown_class"
    ADAPTER = "adapter"
    MISSING_KEY = "missing_key"
    BAD_VALUE = "bad_value"
    CONTRADICTION = "contradiction"
    NOT_DERIVABLE = "not_derivable"


class Sighting(StrEnum):
    """What of a config may be seen for the first time."""

    MODEL_TYPE = "model_type"
    CLASS = "class"  # the first of architectures
    KEY = "key"  # one that nothing read


class Outcome(StrEnum):
    """How a listed repository ended in a refresh."""

    OK = "ok"
    UNCHANGED = "unchanged"
    GATED = "gated"
    MISSING = "missing"
    DISABLED = "disabled"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    DEFERRED = "deferred"


class Component(StrEnum):
    """What a weight belongs to. The first eleven sum to params_total; the last three stand apart from it."""

    EMBEDDING = "embedding"
    UNEMBEDDING = "unembedding"
    ATTENTION = "attention"
    RECURRENT = "recurrent"
    FFN_DENSE = "ffn_dense"
    EXPERTS_ROUTED = "experts_routed"
    EXPERTS_SHARED = "experts_shared"
    ROUTER = "router"
    NORM = "norm"
    OTHER = "other"
    MTP = "mtp"
    TOWERS = "towers"
    BUFFERS = "buffers"


APART = frozenset({Component.MTP, Component.TOWERS, Component.BUFFERS})
"""Components that are counted beside params_total, never in it."""


class Role(StrEnum):
    """What one token does with a weight."""

    MATMUL = "matmul"  # every element is multiplied and added once
    SOURCE = "source"  # multiplied once per token of the source: an encoder's, keys and values of cross-attention
    BESIDE = "beside"  # multiplied by a token only where a source stands beside the text
    ONCE = "once"  # not by every token: once a sequence (poolers, its classifier), before there are any, per frame
    VECTOR = "vector"  # scales, biases, gains: no matrix product
    LOOKUP = "lookup"  # one row is read


class Mixer(StrEnum):
    """How a layer mixes tokens."""

    FULL_ATTENTION = "full_attention"
    SLIDING_ATTENTION = "sliding_attention"
    CHUNKED_ATTENTION = "chunked_attention"
    SPARSE_ATTENTION = "sparse_attention"
    COMPRESSED_ATTENTION = "compressed_attention"
    CROSS_ATTENTION = "cross_attention"
    LINEAR_ATTENTION = "linear_attention"
    SSM = "ssm"
    CONV = "conv"
    NONE = "none"


class AttentionKind(StrEnum):
    """How keys and values are shared among query heads."""

    MHA = "mha"
    GQA = "gqa"
    MQA = "mqa"
    MLA = "mla"
    NONE = "none"


class Ffn(StrEnum):
    """What feed-forward network a layer has."""

    DENSE = "dense"
    MOE = "moe"
    NONE = "none"


class NormClass(StrEnum):
    """The normalisation a model uses."""

    RMSNORM = "rmsnorm"
    LAYERNORM = "layernorm"
    NONPARAMETRIC = "nonparametric_layernorm"
    NONPARAMETRIC_RMS = "nonparametric_rmsnorm"

    @property
    def has_weights(self) -> bool:
        """Whether the norm multiplies by weights of its own."""
        return self in (NormClass.RMSNORM, NormClass.LAYERNORM)


class NormPlacement(StrEnum):
    """Where the block norms stand."""

    PRE = "pre"
    POST = "post"  # after the residual sum, as in BERT and the first GPT
    POST_SUBLAYER = "post_sublayer"  # on the sublayer's output, inside the residual (OLMo-2)
    SANDWICH = "sandwich"  # before and after each sublayer
    PARALLEL = "parallel"  # attention and FFN read the same normed input or stand side by side
    MIXED = "mixed"  # layers differ


class Mask(StrEnum):
    """Which positions a token may look at."""

    CAUSAL = "causal"  # itself and those before it
    BIDIRECTIONAL = "bidirectional"  # all of the sequence
    PREFIX = "prefix"  # all of a prefix, then back
    MIXED = "mixed"  # layers differ


class Position(StrEnum):
    """How a model knows where a token stands."""

    ROPE = "rope"
    NOPE = "nope"  # attention without positions
    MIXED = "mixed"  # RoPE in some attention layers, none in others
    LEARNED = "learned"
    SINUSOIDAL = "sinusoidal"
    RELATIVE = "relative"
    ALIBI = "alibi"
    NONE = "none"  # nothing attends


class StateKind(StrEnum):
    """What tokens leave behind in a layer."""

    KV = "kv"  # keys and values, or MLA's latent: the cache proper
    INDEX = "index"  # side cache of a sparse-attention indexer
    CROSS = "cross"  # keys and values of a source (an image, an encoder's output), per source token
    CONSTANT = "constant"  # a state whose size does not depend on the tokens
