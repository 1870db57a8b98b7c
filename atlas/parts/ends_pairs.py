"""Ends of encoder-decoder models, and of the decoder or the encoder of one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from atlas.layouts.stacks import by_class, encoder_reader
from atlas.numbers.structure import Part, Tensor
from atlas.parts.ends import kept, norm, tied
from atlas.parts.ends_more import Made, known_head
from atlas.parts.extras import vector
from atlas.reading.config import Config
from atlas.refusal import bad_value, not_derivable
from schemas.vocabulary import Component, Role

E, U, X = Component.EMBEDDING, Component.UNEMBEDDING, Component.OTHER


def table(name: str, rows: int, width: int) -> Tensor:
    """A table of vectors."""
    return Tensor(f"{name}.weight", (rows, width), E, Role.LOOKUP)


def pair(c: Config) -> Made:
    """Tables of tokens; per stack its positions, norms and what stands beside; the head."""
    stacks = by_class(c)
    cls, kind = known_head(c, "lm", "none")
    both = len(stacks) == 2
    _effective_tie(c, kind, causal=stacks == ("decoder",))
    made = [kept("embedding", *_tokens(c, stacks)), *(p for s in stacks for p in _around(c, s))]
    return (*made, *_head(c, kind, both)), cls


def _effective_tie(c: Config, kind: str, causal: bool) -> None:
    stated = tied(c)
    c.derived(
        "all_tied",
        bool(c.rules.facts.get("always_tied")) or stated,
        "tie_word_embeddings ties every table to the shared one",
    )
    if kind == "none":
        c.derived("tie_word_embeddings", False, "the class has no language-model head to tie")
    elif c.rules.facts.get("always_tied"):
        c.derived("tie_word_embeddings", True, "the class ties the head to the token table whatever the config states")
    elif causal and c.rules.facts.get("causal_is_untied"):
        c.derived("tie_word_embeddings", False, "the class of the decoder alone ties nothing")


def _tokens(c: Config, stacks: tuple[str, ...]) -> list[Tensor]:
    """One table where everything is tied; a table per stack beside the shared one where the config ties nothing."""
    d, vocab, source = c.count("hidden_size"), c.count("vocab_size"), c.opt_count("source_vocab_size")
    shared, stacked = table("model.shared", vocab, d), [table(f"model.{s}.embed_tokens", vocab, d) for s in stacks]
    if c.word("tables") == "per_language":
        ties = c.values["all_tied"] and c.rules.facts.get("ties_languages")
        one = c.opt("share_encoder_decoder_embeddings") or ties
        parted = not one and len(stacks) > 1
        return [shared, *[table("model.encoder.embed_tokens", vocab if source is None else source, d)] * parted]
    if c.word("tables") == "one" or c.values["all_tied"]:
        return [shared]
    return [shared, *stacked] if len(stacks) > 1 or c.word("tables") == "wrapped" else [shared]


def _around(c: Config, stack: str) -> Iterable[Part]:
    """Positions and norms of one stack, and what the family adds to it."""
    d, cls, bias = c.count("hidden_size"), c.word("norm_class"), c.flag("norm_bias")
    if c.flag("stored_positions"):
        rows = c.count(f"{stack}_positions") + c.size("position_offset")
        yield kept("positions", table(f"model.{stack}.embed_positions", rows, d))
    if c.flag("embedding_norm"):
        yield norm(f"model.{stack}.layernorm_embedding", d, cls, bias)
    if c.flag("final_norm"):
        yield norm(f"model.{stack}.layer_norm", d, cls, bias)
    more = BESIDE.get(c.rules.facts.get(f"{stack}_more", ""))
    if more is not None:
        yield kept("beside", *more(c, d))


def _convolutions(c: Config, d: int) -> list[Tensor]:
    """Two convolutions over the spectrogram (Whisper)."""
    bands = c.count("num_mel_bins")
    made = [Tensor("model.encoder.conv1.weight", (d, bands, 3), X, Role.ONCE), vector("model.encoder.conv1.bias", d, X)]
    return [
        *made,
        Tensor("model.encoder.conv2.weight", (d, d, 3), X, Role.ONCE),
        vector("model.encoder.conv2.bias", d, X),
    ]


def _gated_convolutions(c: Config, d: int) -> list[Tensor]:
    """Convolutions over the spectrogram, each twice as wide as what its gate leaves (Speech2Text)."""
    kernels, middle = c.items("conv_kernel_sizes"), c.count("conv_channels")
    if len(kernels) != c.count("num_conv_layers") or any(type(k) is not int or k < 1 for k in kernels):
        raise bad_value("conv_kernel_sizes", kernels, "one width per convolution")
    inside = [c.count("input_feat_per_channel") * c.count("input_channels"), *[middle // 2] * (len(kernels) - 1)]
    made: list[Tensor] = []
    for i, (k, width) in enumerate(zip(kernels, inside, strict=True)):
        out = middle if i < len(kernels) - 1 else 2 * d
        made.append(Tensor(f"model.encoder.conv.conv_layers.{i}.weight", (out, width, k), X, Role.ONCE))
        made.append(vector(f"model.encoder.conv.conv_layers.{i}.bias", out, X))
    return made


def _global_tokens(c: Config, d: int) -> list[Tensor]:
    """Vectors of tokens that see everything (PEGASUS-X)."""
    return [Tensor("model.encoder.embed_global.weight", (c.count("num_global_tokens"), d), X, Role.LOOKUP)]


def _ngrams(c: Config, d: int) -> list[Tensor]:
    """A vector per predicted future token (ProphetNet)."""
    return [table("decoder.ngram_embeddings", c.count("ngram"), d)]


BESIDE: dict[str, Callable[[Config, int], list[Tensor]]] = {
    "convolutions": _convolutions,
    "gated_convolutions": _gated_convolutions,
    "global_tokens": _global_tokens,
    "ngrams": _ngrams,
}


def _head(c: Config, kind: str, both: bool) -> Iterable[Part]:
    if kind != "lm":
        return
    vocab = c.count("vocab_size")
    yield kept("head", Tensor("lm_head.weight", (vocab, c.count("hidden_size")), U, stored=0 if tied(c) else 1))
    if both and c.flag("has_logits_bias"):
        yield kept("buffers", vector("final_logits_bias", vocab, Component.BUFFERS))


def nested_pair(c: Config) -> Made:
    """Two stacks with configs of their own: a table and a norm each; the decoder's table is the head's (T5Gemma)."""
    stacks = by_class(c)
    cls, kind = known_head(c, "lm", "none")
    if kind == "none":
        c.derived("tie_word_embeddings", False, "the class has no language-model head to tie")
    inner = encoder_reader(c)
    c.derived("cross_attention_hidden_size", inner.count("hidden_size"), "the width of the encoder")
    made: list[Part] = []
    for name, each in (("decoder", c), ("encoder", inner)):
        if name in stacks:
            rows, width = each.count("vocab_size"), each.count("hidden_size")
            made.append(kept("embedding", table(f"model.{name}.embed_tokens", rows, width)))
            made.append(norm(f"model.{name}.norm", width, c.word("norm_class"), c.flag("norm_bias")))
    return (*made, *_head(c, kind, both=False)), cls


def mvp(c: Config) -> Made:
    """As any pair; prompts of every layer are refused, since no published config has them on."""
    if c.flag("use_prompt"):
        raise not_derivable("use_prompt is true: what the prompts of every layer weigh is not described")
    return pair(c)


ENDS: dict[str, Callable[[Config], Made]] = {"pair": pair, "mvp": mvp, "nested_pair": nested_pair}
