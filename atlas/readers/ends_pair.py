"""Ends of encoder-decoder models, and of the decoder or the encoder of one alone, as a config states them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from atlas.layouts.stacks import by_class
from atlas.numbers.structure import Part, Standing, Tensor
from atlas.parts import heads, tables
from atlas.parts.ends import kept
from atlas.parts.norms import norm
from atlas.readers.ends import FIXED, Made, known_head, labels_of, tied
from atlas.reading.answers import DERIVED
from atlas.reading.config import Config
from atlas.reading.encoder import encoder_reader
from atlas.reading.twofold import HEAD, Held
from atlas.refusal import bad_value, not_derivable
from schemas.vocabulary import Role


def pair(c: Config) -> Made:
    """Tables of tokens; per stack its positions, norms and what stands beside; the head."""
    stacks = by_class(c)
    cls, kind = known_head(c, "lm", "none", "sequence", "qa", "token_score")
    both = len(stacks) == 2
    all_tied = _effective_tie(c, kind, causal=stacks == ("decoder",))
    made = [kept("embedding", *_tokens(c, stacks, all_tied)), *(p for s in stacks for p in _around(c, s))]
    return (*made, *_head(c, kind, both)), cls


def _tables_tied(c: Config) -> bool | None:
    """Whether a pair inside a wrapper shares its tables, by its own word; the head is the wrapper's alone.

    None where no wrapper is around, or the decoder stands in it alone.
    """
    if c.outer is c.raw or c.rules.outer.get("decoder_alone"):
        return None
    own, theirs = c.opt("tie_word_embeddings"), c.outer.get("tie_word_embeddings")
    said = "the wrapper's key, or its class where it states none: the head is the wrapper's"
    c.derived("tie_word_embeddings", bool(c.rules.outer.get("tie_word_embeddings") if theirs is None else theirs), said)
    return bool(own)


def _effective_tie(c: Config, kind: str, causal: bool) -> bool:
    """Whether every table is the shared one; whether the head is that table is noted."""
    always, tables_tied = bool(c.rules.facts.get("always_tied")), _tables_tied(c)
    stated = tied(c)
    rule = "tie_word_embeddings ties every table to the shared one"
    all_tied = c.derived("all_tied", always or (stated if tables_tied is None else tables_tied), rule)
    if kind != "lm":
        c.derived("tie_word_embeddings", False, "the class has no language-model head to tie")
    elif always and c.raw.get(HEAD) is Held.APART:
        c.read.add(HEAD)
        c.note("tie_word_embeddings", False, DERIVED, HEAD)
    elif always:
        said = "the class ties the head to the token table whatever the config states"
        more = "; false is stated, and a checkpoint with another head is not tied: a total or header says which"
        c.derived("tie_word_embeddings", True, said + more * (c.raw.get("tie_word_embeddings") is False))
    elif causal and c.rules.facts.get("causal_is_untied"):
        c.derived("tie_word_embeddings", False, "the class of the decoder alone ties nothing")
    return all_tied


def _tokens(c: Config, stacks: tuple[str, ...], all_tied: bool) -> list[Tensor]:
    """One table where everything is tied; a table per stack beside the shared one where the config ties nothing."""
    d, vocab, source = c.count("hidden_size"), c.count("vocab_size"), c.opt_count("source_vocab_size")
    shared = tables.stack_tables(True, (), vocab, d)
    if c.word("tables") == "per_language":
        share, either = bool(c.opt("share_encoder_decoder_embeddings")), bool(c.rules.facts.get("ties_languages"))
        parted = ("encoder",) if not share and not (all_tied and either) and len(stacks) > 1 else ()
        # the shared table is made, and nothing ties the stacks' own to it; a decoder alone has its own and no other
        if share and not all_tied and not either and len(stacks) > 1:
            parted = stacks
        return shared + tables.stack_tables(False, parted, vocab if source is None else source, d)
    if c.word("tables") == "one" or all_tied:
        return shared
    own = stacks if len(stacks) > 1 or c.word("tables") == "wrapped" else ()
    return shared + tables.stack_tables(False, own, vocab, d)


def _around(c: Config, stack: str) -> Iterable[Part]:
    """Positions and norms of one stack, and what the family adds to it."""
    d, cls, bias = c.count("hidden_size"), c.word("norm_class"), c.flag("norm_bias")
    if c.flag("stored_positions"):
        rows = c.count(f"{stack}_positions") + c.size("position_offset")
        yield kept("positions", tables.positions(stack, rows, d))
    if c.flag("embedding_norm"):
        yield norm(f"model.{stack}.layernorm_embedding", d, cls, bias, Standing("embedding", stack))
    if c.flag("final_norm"):
        yield norm(f"model.{stack}.layer_norm", d, cls, bias, Standing("final", stack))
    more = BESIDE.get(c.rules.facts.get(f"{stack}_more", ""))
    if more is not None:
        yield kept("beside", *more(c, d))


def _convolutions(c: Config, d: int) -> list[Tensor]:
    return tables.spectrogram(c.count("num_mel_bins"), d)


def _gated_convolutions(c: Config, d: int) -> list[Tensor]:
    kernels, middle = c.items("conv_kernel_sizes"), c.count("conv_channels")
    if len(kernels) != c.count("num_conv_layers") or any(type(k) is not int or k < 1 for k in kernels):
        raise bad_value("conv_kernel_sizes", kernels, "one width per convolution")
    inside = c.count("input_feat_per_channel") * c.count("input_channels")
    return tables.gated_spectrogram(tuple(kernels), inside, middle, d)


def _global_tokens(c: Config, d: int) -> list[Tensor]:
    return tables.global_tokens(c.count("num_global_tokens"), d)


def _ngrams(c: Config, d: int) -> list[Tensor]:
    return tables.ngrams(c.count("ngram"), d)


BESIDE: dict[str, Callable[[Config, int], list[Tensor]]] = {
    "convolutions": _convolutions,
    "gated_convolutions": _gated_convolutions,
    "global_tokens": _global_tokens,
    "ngrams": _ngrams,
}


def _head(c: Config, kind: str, both: bool) -> Iterable[Part]:
    if kind in ("sequence", "qa", "token_score"):  # a dense layer before the labels of a text; the others stand alone
        text = kind == "sequence"
        labels = labels_of(c) if kind != "qa" or c.rules.facts.get("spans_by_labels") else FIXED["qa"]
        yield heads.classifier(labels, c.count("hidden_size"), text, Role.ONCE if text else Role.MATMUL)
    if kind != "lm":
        return
    vocab = c.count("vocab_size")
    predicted = c.count("ngram") if c.rules.facts.get("predicts_ngrams") else 1
    yield heads.matrix_head(vocab, c.count("hidden_size"), 0 if tied(c) else 1, predicted)
    if both and c.flag("has_logits_bias"):
        yield heads.logits_bias(vocab)


def nested_pair(c: Config) -> Made:
    """Two stacks with configs of their own: a norm each, and a table each or one; the decoder's is the head's."""
    stacks = by_class(c)
    cls, kind = known_head(c, "lm", "none")
    alike = bool(c.rules.facts.get("one_table"))
    shared = alike and tied(c)
    if kind == "none":
        c.derived("tie_word_embeddings", False, "the class has no language-model head to tie")
    inner = encoder_reader(c)
    made: list[Part] = []
    for name, each in (("decoder", c), ("encoder", inner)):
        if name in stacks:
            rows, width = each.count("vocab_size"), each.count("hidden_size")
            if not (shared and made):
                mark = tables.image_end(width) if alike else []
                made.append(kept("embedding", *tables.stack_tables(False, (name,), rows, width), *mark))
            stands = Standing("final", name)
            made.append(norm(f"model.{name}.norm", width, c.word("norm_class"), c.flag("norm_bias"), stands))
    return (*made, *_head(c, kind, both=False)), cls


def mvp(c: Config) -> Made:
    """As any pair; prompts of every layer are refused, since no published config has them on."""
    if c.flag("use_prompt"):
        raise not_derivable("use_prompt is true: what the prompts of every layer weigh is not described")
    return pair(c)


ENDS: dict[str, Callable[[Config], Made]] = {"pair": pair, "mvp": mvp, "nested_pair": nested_pair}
