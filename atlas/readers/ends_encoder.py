"""Ends of BERT and its kin as a config states them: tables, a pooler, and the heads of their usual classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from atlas.numbers.structure import Part, Standing, Tensor
from atlas.parts import heads, tables
from atlas.parts.ends import kept
from atlas.parts.norms import norm
from atlas.readers import disentangled
from atlas.readers.ends import Made, head_of, labels_of, tied
from atlas.reading.config import Config
from atlas.refusal import Refused, not_derivable, shown
from schemas.vocabulary import Component, RefusalKind, Role

HEADS = {
    "ForMaskedLM": "lm", "ForCausalLM": "lm", "LMHeadModel": "lm", "ForPreTraining": "pretraining", "Model": "none",
    "ForSequenceClassification": "sequence", "ForTokenClassification": "token", "ForQuestionAnswering": "qa",
}  # fmt: skip


def head(c: Config) -> tuple[str | None, str]:
    """The class and its head; raises `Refused` (unknown_class)."""
    named = c.outer.get("architectures")
    cls = named[0] if isinstance(named, list) and named else None  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(cls, str) or (cls in c.rules.classes and c.rules.classes[cls] != "unknown"):
        return head_of(c)
    found = next((h for ending, h in HEADS.items() if cls.endswith(ending)), None)
    if (
        found is None
        or cls in c.rules.classes
        or (found == "pretraining" and not c.rules.facts.get("has_pretraining_class"))
    ):
        raise Refused(RefusalKind.UNKNOWN_CLASS, f"what the head of {shown(cls)} weighs is not known")
    return cls, c.derived("head", found, f"what {shown(cls)} holds")


def _tables(c: Config, width: int) -> list[Tensor]:
    """Tables of tokens, positions and segments, and what the family adds to them."""
    sizes = {"word_embeddings": c.count("vocab_size")}
    if c.word("position") == "learned":
        sizes["position_embeddings"] = c.count("max_position_embeddings") + c.size("position_offset")
    if c.opt("type_vocab_size") is not None:
        sizes["token_type_embeddings"] = c.size("type_vocab_size")
    if c.opt("use_task_id"):
        sizes["task_type_embeddings"] = c.count("task_type_vocab_size")
    return tables.tables(sizes, width) + MORE_TABLES[c.rules.facts.get("more_tables", "none")](c, width)


def _no_more(_: Config, __: int) -> list[Tensor]:
    return []


def _rotary_table(c: Config, _: int) -> list[Tensor]:
    width = c.count("hidden_size") // c.count("num_attention_heads")
    return tables.rotary_table(c.count("max_position_embeddings"), width)


def _sounds_and_shapes(c: Config, width: int) -> list[Tensor]:
    rows: dict[str, tuple[int, int]] = {}
    joined = width
    for x in ("pronunciation", "shape"):
        each = c.count(f"{x}_embed_dim")
        rows[x] = c.count(f"{x}_vocab_size"), each
        joined += each * c.flag(f"enable_{x}")
    return tables.sounds_and_shapes(rows, width, joined if c.flag("concat_input") else 0)


def _languages(c: Config, width: int) -> list[Tensor]:
    """A table of languages, where there are several (XLM)."""
    if c.opt("asm"):
        raise not_derivable("asm is true: the adaptive head is not described by the config's usual keys")
    rows = c.count("n_langs")
    return tables.languages(rows, width) if rows > 1 and c.flag("use_lang_emb") else []


def _mask(_: Config, width: int) -> list[Tensor]:
    return tables.mask(width)


def _one_bias(c: Config, _: int) -> list[Tensor]:
    return tables.shared_bias(c.count("relative_attention_num_buckets"), c.count("num_attention_heads"))


def _layout(c: Config, width: int) -> list[Tensor]:
    """Tables of the place on the page: left and right share one, top and bottom, height, width (LayoutLM)."""
    rows = c.count("max_2d_position_embeddings")
    return tables.tables({f"{x}_position_embeddings": rows for x in "xyhw"}, width)


def _contacts(c: Config, _: int) -> list[Tensor]:
    """A regression over the scores of all heads of all layers (ESM)."""
    return tables.contacts(c.count("num_hidden_layers") * c.count("num_attention_heads"))


MORE_TABLES: dict[str, Callable[[Config, int], list[Tensor]]] = {
    "none": _no_more,
    "rotary": _rotary_table,
    "sounds_and_shapes": _sounds_and_shapes,
    "languages": _languages,
    "mask": _mask,
    "one_bias": _one_bias,
    "layout": _layout,
    "contacts": _contacts,
    "disentangled": disentangled.tables,
}


def _masked(c: Config, d: int, e: int) -> tuple[Part, ...]:
    """The head of a (masked) language model."""
    style = c.word("transform")
    own = style not in ("none", "roberta")
    width, cls = (c.opt_count("output_embedding_size") or e, c.word("norm_class")) if own else (e, "")
    vocab, shares = c.count("vocab_size"), tied(c)
    two = not shares and c.flag("two_biases")
    return heads.masked(heads.Masked(vocab, d, e, style, width, cls, shares, two))


def bert(c: Config) -> Made:
    """The ends of an encoder, or of a decoder built like one."""
    cls, kind = head(c)
    d = c.count("hidden_size")
    e = c.opt_count("embedding_size") or d
    if kind not in ("lm", "pretraining"):
        c.derived("tie_word_embeddings", value=False, rule="the class has no language-model head to tie")
    made = [kept("embedding", *_tables(c, e))]
    made += [norm("embeddings.LayerNorm", e, c.word("norm_class"), True, Standing("embedding"))] * c.flag(
        "embedding_norm"
    )
    made += [heads.projection(d, e)] * (e != d or c.flag("always_projects"))
    made += [norm("encoder.ln", d, c.word("norm_class"), True, Standing("final"))] * c.flag("final_norm")
    return (*made, *_pooler(c, kind, d), *_head(c, kind, d, e)), cls


def _pooler(c: Config, kind: str, d: int) -> Iterable[Part]:
    if kind not in c.items("pooled"):
        return []
    return [heads.pooler(d, Component.FFN_DENSE if c.word("pooler_component") == "ffn_dense" else Component.OTHER)]


def _head(c: Config, kind: str, d: int, e: int) -> Iterable[Part]:
    if kind == "none":
        return []
    if kind == "discriminator":
        return [heads.discriminator(d)]
    if kind in ("lm", "pretraining"):
        return [*_masked(c, d, e), *[heads.order(d)] * (kind == "pretraining")]
    labels = labels_of(c) if kind != "qa" or c.rules.facts.get("spans_by_labels") else 2
    role = Role.ONCE if kind == "sequence" else Role.MATMUL
    deep = kind == "sequence" and c.word("classifier") == "head"
    return [heads.classifier(labels, d, deep, role)]


ENDS: dict[str, Callable[[Config], Made]] = {"bert": bert}
