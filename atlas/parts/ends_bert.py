"""Ends of BERT and its kin: tables of tokens, positions and segments, a pooler, and the heads of their usual classes.

Square matrices around the stack (pooler, transform before the head) are booked where the reference ledger books them:
with the feed-forward networks where the layer is named dense, else with what is left; RoBERTa's with its head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from atlas.numbers.structure import Part, Tensor
from atlas.parts.ends import head_of, kept, labels_of, norm, tied
from atlas.parts.extras import vector
from atlas.reading.config import Config
from atlas.refusal import Refused, not_derivable, shown
from schemas.vocabulary import Component, RefusalKind, Role

Made = tuple[tuple[Part, ...], str | None]
E, U, F, X = Component.EMBEDDING, Component.UNEMBEDDING, Component.FFN_DENSE, Component.OTHER

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


def linear(name: str, out: int, inside: int, component: Component, role: Role = Role.MATMUL) -> list[Tensor]:
    """A matrix and its bias."""
    return [Tensor(f"{name}.weight", (out, inside), component, role), vector(f"{name}.bias", out, component)]


def tables(c: Config, width: int) -> list[Tensor]:
    """Tables of tokens, positions and segments, and what the family adds to them."""
    sizes = {"word_embeddings": c.count("vocab_size")}
    if c.word("position") == "learned":
        sizes["position_embeddings"] = c.count("max_position_embeddings")
    segments = c.opt("type_vocab_size")
    if segments is not None:
        sizes["token_type_embeddings"] = c.size("type_vocab_size")
    if c.opt("use_task_id"):
        sizes["task_type_embeddings"] = c.count("task_type_vocab_size")
    made = [Tensor(f"embeddings.{n}.weight", (rows, width), E, Role.LOOKUP) for n, rows in sizes.items() if rows]
    return made + MORE_TABLES[c.rules.facts.get("more_tables", "none")](c, width)


def _no_more(_: Config, __: int) -> list[Tensor]:
    return []


def _rotary_table(c: Config, _: int) -> list[Tensor]:
    """Sines and cosines of the positions, kept as a weight (RoFormer)."""
    shape = (c.count("max_position_embeddings"), c.count("hidden_size") // c.count("num_attention_heads"))
    return [Tensor("encoder.embed_positions.weight", shape, E, Role.LOOKUP)]


def _sounds_and_shapes(c: Config, width: int) -> list[Tensor]:
    """Tables of pronunciations and shapes, and the matrix that joins them (RoCBert)."""
    made: list[Tensor] = []
    joined = width
    for x in ("pronunciation", "shape"):
        each = c.count(f"{x}_embed_dim")
        made.append(Tensor(f"embeddings.{x}_embed.weight", (c.count(f"{x}_vocab_size"), each), E, Role.LOOKUP))
        joined += each * c.flag(f"enable_{x}")
    return made + (linear("embeddings.map_inputs_layer", width, joined, E) if c.flag("concat_input") else [])


def _languages(c: Config, width: int) -> list[Tensor]:
    """A table of languages, where there are several (XLM)."""
    if c.opt("asm"):
        raise not_derivable("asm is true: the adaptive head is not described by the config's usual keys")
    rows = c.count("n_langs")
    return [Tensor("lang_embeddings.weight", (rows, width), E, Role.LOOKUP)] * (rows > 1 and c.flag("use_lang_emb"))


def _mask(_: Config, width: int) -> list[Tensor]:
    """The vector that stands for a token to be guessed (XLNet)."""
    return [vector("mask_emb", width, X)]


def _one_bias(c: Config, _: int) -> list[Tensor]:
    """One table of biases of relative positions for all layers (MPNet)."""
    shape = (c.count("relative_attention_num_buckets"), c.count("num_attention_heads"))
    return [Tensor("encoder.relative_attention_bias.weight", shape, Component.ATTENTION, Role.LOOKUP)]


MORE_TABLES: dict[str, Callable[[Config, int], list[Tensor]]] = {
    "none": _no_more,
    "rotary": _rotary_table,
    "sounds_and_shapes": _sounds_and_shapes,
    "languages": _languages,
    "mask": _mask,
    "one_bias": _one_bias,
}


def transform(c: Config, d: int, e: int) -> tuple[list[Tensor], list[Part], int]:
    """What stands before the head's matrix, its norm, and the width the matrix takes."""
    style = c.word("transform")
    if style == "none":
        return [], [], e
    if style == "roberta":
        made = linear("lm_head.dense", d, d, U)
        return [*made, vector("lm_head.layer_norm.weight", d, U), vector("lm_head.layer_norm.bias", d, U)], [], d
    width = c.opt_count("output_embedding_size") or e
    return (
        linear("predictions.dense", width, d, F),
        [norm("predictions.LayerNorm", width, c.word("norm_class"), True)],
        width,
    )


def lm_head(c: Config, d: int, e: int) -> list[Part]:
    """The head of a (masked) language model."""
    before, norms, width = transform(c, d, e)
    vocab, shares = c.count("vocab_size"), tied(c)
    matrix = Tensor("predictions.decoder.weight", (vocab, width), U, stored=0 if shares else 1)
    biases = [vector("predictions.bias", vocab, U)]
    biases += [vector("predictions.decoder.bias", vocab, U)] * (not shares and c.flag("two_biases"))
    return [kept("head", *before, matrix, *biases), *norms]


def classifier(c: Config, kind: str, d: int) -> list[Tensor]:
    """The head of a classifier: one matrix, behind a dense layer where the family's sequence classes have one.

    That of a sequence runs once a sequence, those of tokens and of spans once a token.
    """
    labels = 2 if kind == "qa" else labels_of(c)
    role = Role.ONCE if kind == "sequence" else Role.MATMUL
    if kind == "sequence" and c.word("classifier") == "head":
        return linear("classifier.dense", d, d, F, role) + linear("classifier.out_proj", labels, d, X, role)
    return linear("classifier", labels, d, X, role)


def bert(c: Config) -> Made:
    """The ends of an encoder, or of a decoder built like one."""
    cls, kind = head(c)
    d = c.count("hidden_size")
    e = c.opt_count("embedding_size") or d
    if kind not in ("lm", "pretraining"):
        c.derived("tie_word_embeddings", False, "the class has no language-model head to tie")
    made = [kept("embedding", *tables(c, e))]
    made += [norm("embeddings.LayerNorm", e, c.word("norm_class"), True)] * c.flag("embedding_norm")
    made += [kept("projection", *linear("embeddings_project", d, e, X))] * (e != d or c.flag("always_projects"))
    made += [norm("encoder.ln", d, c.word("norm_class"), True)] * c.flag("final_norm")
    return (*made, *_pooler(c, kind, d), *_head(c, kind, d, e)), cls


def _pooler(c: Config, kind: str, d: int) -> Iterable[Part]:
    if kind not in c.items("pooled"):
        return []
    component = F if c.word("pooler_component") == "ffn_dense" else X
    return [kept("pooler", *linear("pooler.dense", d, d, component, Role.ONCE))]


def _head(c: Config, kind: str, d: int, e: int) -> Iterable[Part]:
    if kind == "none":
        return []
    if kind == "discriminator":
        return [
            kept(
                "head",
                *(
                    linear("discriminator_predictions.dense", d, d, F)
                    + linear("discriminator_predictions.dense_prediction", 1, d, F)
                ),
            )
        ]
    if kind in ("lm", "pretraining"):
        more = [kept("head.order", *linear("seq_relationship", 2, d, X, Role.ONCE))] * (kind == "pretraining")
        return [*lm_head(c, d, e), *more]
    return [kept("head", *classifier(c, kind, d))]


ENDS: dict[str, Callable[[Config], Made]] = {"bert": bert}
