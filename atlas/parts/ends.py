"""What stands outside the stack: embedding, positions, final norm, and the head of the class that the config names."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Part, Tensor, part
from atlas.reading.config import Config
from atlas.refusal import Refused, not_derivable, shown
from schemas.vocabulary import Component, NormClass, RefusalKind, Role

HEADS = {
    "ForCausalLM": "lm",
    "LMHeadModel": "lm",
    "ForConditionalGeneration": "lm",
    "ForSequenceClassification": "score",
    "ForTokenClassification": "token_score",
    "ForQuestionAnswering": "qa",
    "Model": "none",
}
"""What a class name's ending says of its head."""
LANGUAGE_MODELS = tuple(ending for ending, head in HEADS.items() if head == "lm")


@lru_cache(maxsize=4096)
def norm(name: str, width: int, cls: str, bias: bool) -> Part:
    """A norm over `width`: one vector (RMSNorm), two (LayerNorm with bias), or no weights."""
    if not NormClass(cls).has_weights:
        return part("norm", [])
    made = [Tensor(f"{name}.weight", (width,), Component.NORM, Role.VECTOR)]
    made += [Tensor(f"{name}.bias", (width,), Component.NORM, Role.VECTOR)] * bias
    return part("norm", made)


class Ends(NamedTuple):
    """Scalars of the ends. `d_embed` differs from `d` where a projection stands between (OPT-350m)."""

    vocab: int
    d: int
    tied: bool
    head: str
    labels: int
    norm_class: str
    norm_bias: bool
    final_norm: bool = True
    positions: int = 0  # rows of a learned position table
    head_bias: bool = False
    embedding_norm: bool = False
    d_embed: int | None = None
    extra_rows: int = 0  # rows of the embedding beyond the vocabulary, that the head does not have


@lru_cache(maxsize=8192)
def ends(s: Ends) -> tuple[Part, ...]:
    """Embedding, positions, final norm and head of these scalars."""
    e = s.d if s.d_embed is None else s.d_embed
    embed = [Tensor("model.embed_tokens.weight", (s.vocab + s.extra_rows, e), Component.EMBEDDING, Role.LOOKUP)]
    embed += [Tensor("model.embed_positions.weight", (s.positions, s.d), Component.EMBEDDING, Role.LOOKUP)] * (
        s.positions > 0
    )
    made = [part("embedding", embed)]
    made += [norm("model.embed_norm", s.d, s.norm_class, s.norm_bias)] * s.embedding_norm
    made += [norm("model.norm", s.d, s.norm_class, s.norm_bias)] * s.final_norm
    return (*made, *_projections(s, e), *_head(s, e))


def _projections(s: Ends, e: int) -> list[Part]:
    if e == s.d:
        return []
    shapes = {"project_in": (s.d, e), "project_out": (e, s.d)}
    return [part("embedding", [Tensor(f"model.{n}.weight", x, Component.EMBEDDING) for n, x in shapes.items()])]


def _head(s: Ends, e: int) -> list[Part]:
    if s.head == "none":
        return []
    if s.head == "lm":
        made = [Tensor("lm_head.weight", (s.vocab, e), Component.UNEMBEDDING, stored=0 if s.tied else 1)]
        made += [Tensor("lm_head.bias", (s.vocab,), Component.UNEMBEDDING, Role.VECTOR)] * s.head_bias
        return [part("head", made)]
    made = [Tensor("score.weight", (s.labels, e), Component.OTHER)]
    made += [Tensor("score.bias", (s.labels,), Component.OTHER, Role.VECTOR)] * (s.head not in ("score", "value"))
    return [part("head", made)]


def head_of(c: Config) -> tuple[str | None, str]:
    """The class a config names (or None) and its head; raises `Refused` (unknown_class)."""
    named = c.outer.get("architectures")
    if not isinstance(named, list) or not named or not isinstance(named[0], str):
        alone = c.outer is c.raw and c.raw.get("model_type") == c.rules.model_type
        if alone and c.rules.facts.get("headless_alone"):
            return None, c.derived("head", "none", "no class is named, and no class of the model_type alone has a head")
        return None, c.derived("head", "lm", "no class is named: the model_type's language-model class")
    cls: str = named[0]
    if cls in c.rules.classes:
        return cls, c.derived("head", c.rules.classes[cls], f"what {shown(cls)} holds")
    for ending, head in HEADS.items():
        if cls.endswith(ending):
            return cls, c.derived("head", head, f"what a class named ...{ending} holds")
    raise Refused(RefusalKind.UNKNOWN_CLASS, f"the class {shown(cls)} is not known to be a language model")


FIXED = {"qa": 2, "value": 1, "value_bias": 1}
"""Heads whose number of outputs no key states: the two ends of a span, or one value without or with a bias."""


def tied(c: Config) -> bool:
    """Whether the head is the embedding; raises `Unknown` where neither a key nor the family's class says so.

    Of a wrapper and its language model, which one decides is a matter of the wrapper's class (`ties` of its row).
    """
    decides = c.rules.outer.get("ties")
    stated = c.opt("tie_word_embeddings") if decides == "inner" else c.top("tie_word_embeddings")
    if c.rules.facts.get("never_tied") or decides == "never":
        return c.derived("tie_word_embeddings", False, "the class ties nothing, whatever the config states")
    if stated is None and "tie_word_embeddings" not in c.raw and "tie_word_embeddings" not in c.outer:
        return bool(c.need("tie_word_embeddings"))
    return bool(stated)


def labels_of(c: Config) -> int:
    """Outputs of a classifier: num_labels, else the length of id2label, else 2 as the library takes it."""
    stated = c.outer.get("num_labels")
    if type(stated) is int and 0 < stated <= 1_000_000:
        return stated
    table = c.outer.get("id2label")
    return len(table) if isinstance(table, dict) and table else 2  # pyright: ignore[reportUnknownArgumentType]


def decoder(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """The ends of a decoder, and the class named."""
    cls, head = head_of(c)
    if c.outer.get("add_cross_attention") is True:
        raise not_derivable("add_cross_attention is true: layers look at an encoder that this config does not describe")
    positions = c.count("max_position_embeddings") + c.size("position_offset") if c.word("position") == "learned" else 0
    vocab, extra, shared = c.count("vocab_size"), c.opt_count("extra_vocab_rows"), tied(c)
    if shared and head != "lm":
        shared = c.derived("tie_word_embeddings", False, "the class has no language-model head to tie")
    scalars = Ends(
        vocab,
        c.count("hidden_size"),
        shared,
        head,
        FIXED[head] if head in FIXED else labels_of(c),
        c.word("norm_class"),
        c.flag("norm_bias"),
        c.flag("final_norm"),
        positions,
        c.flag("lm_head_bias"),
        c.flag("embedding_norm"),
        c.opt_count("embedding_width"),
        0 if extra is None else extra,
    )
    return ends(scalars) + besides(c), cls


def besides(c: Config) -> tuple[Part, ...]:
    """Vectors that a wrapper learns beside its language model and its towers.

    The mark between the rows of an image, a gate.
    """
    widths = {
        name: c.count("hidden_size") if width == "d" else width
        for name, width in c.rules.outer.get("vectors", {}).items()
    }
    return tuple(vector(name, width) for name, width in widths.items())


@lru_cache(maxsize=256)
def vector(name: str, width: int) -> Part:
    """A learned vector that belongs to no other component."""
    return part("vector", [Tensor(f"model.{name}", (width,), Component.OTHER, Role.VECTOR)])


@lru_cache(maxsize=8192)
def kept(kind: str, *tensors: Tensor) -> Part:
    """A part of these weights alone; cached, so that equal ends are one object."""
    return part(kind, tensors)


def chatglm(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """A decoder whose checkpoint also stores the frequencies of its rotary positions: half of each head, in pairs."""
    parts, cls = decoder(c)
    buffer = Tensor("transformer.rotary_pos_emb.inv_freq", (c.count("head_dim") // 4,), Component.BUFFERS, Role.VECTOR)
    return (*parts, kept("buffers", buffer)), cls


def opt(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """OPT's ends: no final norm where norms follow the sum or where it was removed; norms may be without weights."""
    first = c.flag("norm_first")
    c.derived("norm_placement", "pre" if first else "post", f"do_layer_norm_before is {str(first).lower()}")
    c.derived(
        "final_norm", first and not c.flag("without_final_norm"), "only where norms stand first and it was not removed"
    )
    if not c.flag("norm_weights"):
        c.derived("norm_class", NormClass.NONPARAMETRIC.value, "layer_norm_elementwise_affine is false")
    return decoder(c)


ENDS = {"decoder": decoder, "opt": opt, "chatglm": chatglm}
