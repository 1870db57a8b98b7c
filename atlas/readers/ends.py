"""The ends of a decoder as a config states them: the head is that of the class that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from atlas.numbers.structure import Part
from atlas.parts.ends import Ends, ends, learned_vector
from atlas.reading.config import Config
from atlas.reading.values import count
from atlas.refusal import Refused, contradiction, not_derivable, shown
from schemas.vocabulary import RefusalKind

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


Made = tuple[tuple[Part, ...], str | None]
"""The parts outside the stack, and the class that the config names."""


def head_of(c: Config) -> tuple[str | None, str]:
    """The class a config names (or None) and its head; raises `Refused` (unknown_class)."""
    named = c.outer.get("architectures")
    if not isinstance(named, list) or not named or not isinstance(named[0], str):
        if c.rules.facts.get("class_decides"):
            said = "no class is named, and those of the model_type hold different modules"
            raise Refused(RefusalKind.UNKNOWN_CLASS, said)
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


def known_head(c: Config, *heads: str) -> tuple[str | None, str]:
    """The class and its head, where the head is one of these; raises `Refused` (unknown_class)."""
    cls, head = head_of(c)
    if head not in heads:
        raise Refused(RefusalKind.UNKNOWN_CLASS, f"what the head of {shown(cls)} weighs is not known")
    return cls, head


FIXED = {"qa": 2, "value": 1, "value_bias": 1, "process_reward": 2, "outcome_reward": 1}
"""Heads whose number of outputs no key states: the two ends of a span, or one value without or with a bias."""


def tied(c: Config) -> bool:
    """Whether the head is the embedding; raises `Unknown` where neither a key nor the family's class says so.

    Of a wrapper and its language model, which one decides is a matter of the wrapper's class (`ties` of its row).
    """
    decides = c.rules.outer.get("ties")
    if decides == "either":
        return _tied_by_either(c)
    stated = c.opt("tie_word_embeddings") if decides == "inner" else c.top("tie_word_embeddings")
    if c.rules.facts.get("never_tied") or decides == "never":
        return c.derived("tie_word_embeddings", False, "the class ties nothing, whatever the config states")
    if stated is None and "tie_word_embeddings" not in c.raw and "tie_word_embeddings" not in c.outer:
        return bool(c.need("tie_word_embeddings"))
    return bool(stated)


def _tied_by_either(c: Config) -> bool:
    """Whether a wrapper or its language model ties, where two modules of the class tie the same tensors (BLIP)."""
    outer, inner = c.outer.get("tie_word_embeddings"), c.opt("tie_word_embeddings")
    wrapper = c.rules.outer["tie_word_embeddings"] if outer is None else outer
    said = "the class ties where the wrapper or its language model says so, and each takes true where it says nothing"
    return c.derived("tie_word_embeddings", bool(wrapper or inner), said)


def labels_of(c: Config) -> int:
    """Outputs of a classifier: num_labels, else the length of id2label, else what the class takes, mostly 2.

    Raises `Refused` where either says that there are none.
    """
    stated, table = c.outer.get("num_labels"), c.outer.get("id2label")
    if stated is not None:
        return count("num_labels", stated, least=1)
    if isinstance(table, dict):
        return count("id2label", len(table), least=1)  # pyright: ignore[reportUnknownArgumentType]
    unstated: int = c.rules.facts.get("default_labels", 2)
    return unstated


def decoder(c: Config, *, norm_bias: bool | None = None) -> Made:
    """The ends of a decoder, and the class named; `norm_bias` where the last norm differs from those of the layers."""
    cls, head = head_of(c)
    if c.outer.get("add_cross_attention") is True:
        raise not_derivable("add_cross_attention is true: layers look at an encoder that this config does not describe")
    positions = c.count("max_position_embeddings") + c.size("position_offset") if c.word("position") == "learned" else 0
    vocab, extra, shared = c.count("vocab_size"), c.opt_count("extra_vocab_rows"), tied(c)
    if shared and head != "lm":
        shared = c.derived("tie_word_embeddings", False, "the class has no language-model head to tie")
    rows = _rows_of_wrapper(c) if head == "lm" and not shared else None
    if rows is not None:
        vocab, extra = rows, vocab + (0 if extra is None else extra) - rows
    scalars = Ends(
        vocab,
        c.count("hidden_size"),
        shared,
        head,
        FIXED[head] if head in FIXED else 0 if head in ("lm", "none") else labels_of(c),
        c.word("norm_class"),
        c.flag("norm_bias") if norm_bias is None else norm_bias,
        c.flag("final_norm"),
        positions,
        c.flag("lm_head_bias"),
        c.flag("embedding_norm"),
        c.opt_count("embedding_width"),
        0 if extra is None else extra,
    )
    return ends(scalars) + besides(c), cls


def _rows_of_wrapper(c: Config) -> int | None:
    """Rows of a head that the wrapper's class builds by its own numbers; None where the language model's hold.

    Raises `Refused` where that head is not as wide as the language model's state.
    """
    own: Mapping[str, int] | None = c.rules.outer.get("head")
    if own is None:
        return None
    width, rows = (count(k, c.outer.get(k, own[k]), least=1) for k in ("hidden_size", "vocab_size"))
    if width != c.count("hidden_size"):
        raise contradiction(
            f"nothing is tied, and the wrapper's class builds a head of {width:,} by a hidden_size of its own, while "
            f"the language model is {c.count('hidden_size'):,} wide"
        )
    return rows


def besides(c: Config) -> tuple[Part, ...]:
    """Vectors that a wrapper learns beside its language model and its towers.

    The mark between the rows of an image, a gate.
    """
    widths = {
        name: c.count("hidden_size") if width == "d" else width
        for name, width in c.rules.outer.get("vectors", {}).items()
    }
    return tuple(learned_vector(name, width) for name, width in widths.items())


ENDS: dict[str, Callable[[Config], Made]] = {"decoder": decoder}
