"""Which stacks a class has, and which word a layer has in an encoder or in the decoder beside it."""

from __future__ import annotations

from collections.abc import Callable

from atlas.layouts.common import n_layers
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import not_derivable

Stacks = tuple[str, ...]
OF_ENCODER = ("EncoderModel", "ForAudioClassification", "ForTokenClassification")
"""Endings of classes that are an encoder alone."""
DECODER, ENCODER, BOTH = ("decoder",), ("encoder",), ("decoder", "encoder")


def only_decoder(_: Config) -> Stacks:
    """A decoder."""
    return DECODER


def only_encoder(_: Config) -> Stacks:
    """An encoder: no cache."""
    return ENCODER


def by_is_decoder(c: Config) -> Stacks:
    """An encoder, or a decoder where `is_decoder` is true (BERT and its kin)."""
    return DECODER if c.flag("is_decoder") else ENCODER


def by_class(c: Config) -> Stacks:
    """Both, unless the class named is that of one alone; where none is named, the causal class if there is one."""
    stated = c.values.get("stacks")
    if stated is not None:
        return stated
    named = c.outer.get("architectures")
    cls = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""  # pyright: ignore[reportUnknownVariableType]
    alone = c.rules.outer.get("decoder_alone", False)
    causal = alone or cls.endswith("ForCausalLM") or (not cls and bool(c.rules.facts.get("has_causal_class")))
    found = DECODER if causal else ENCODER if cls.endswith(OF_ENCODER) else BOTH
    if found is DECODER and c.rules.encoder is not None:
        c.read.update(k for keys in c.rules.encoder.keys.values() for k in keys)
    return c.derived(
        "stacks", found, "those of the class named" if cls else "those of the model_type's language-model class"
    )


STACKS: dict[str, Callable[[Config], Stacks]] = {
    "decoder": only_decoder,
    "encoder": only_encoder,
    "by_is_decoder": by_is_decoder,
    "by_class": by_class,
}


def decoder_or_encoder(c: Config) -> Kinds:
    """Every layer attends both ways; back alone where `is_decoder` is true, and over a source if stated."""
    if not c.flag("is_decoder"):
        return ("encoder",) * n_layers(c)
    return ("decoder_with_source" if c.flag("add_cross_attention") else "decoder",) * n_layers(c)


def first_apart(c: Config) -> Kinds:
    """The first layer holds what all use: the table of relative positions (T5), the values (RWKV-7)."""
    return ("first",) + ("other",) * (n_layers(c) - 1)


def one_group(c: Config) -> Kinds:
    """The layers of one group, run over and over (ALBERT); with several groups, the layers take turns by depth."""
    n, groups = n_layers(c), c.count("num_hidden_groups")
    if c.count("inner_group_num") != 1 or groups > n:
        raise not_derivable("inner_group_num is not 1, or there are more groups than layers")
    taken = [i * groups // n for i in range(n)]
    return tuple("encoder" if i == 0 or taken[i] != taken[i - 1] else "encoder_again" for i in range(n))


def every_step(c: Config) -> Kinds:
    """Experts in every `sparse_step`-th layer (NLLB-MoE)."""
    step = c.size("sparse_step")
    return tuple("moe" if step and (i + 1) % step == 0 else "mlp" for i in range(n_layers(c)))


def spread(c: Config) -> Kinds:
    """Experts at equal steps from the second layer on; the step is stated, else layers over sparse layers (Switch)."""
    n, step = n_layers(c), c.opt("sparse_step")
    if step is None:
        sparse = c.size("num_sparse_layers")
        step = c.derived(
            "sparse_step", n // sparse if sparse else n, "layers / sparse layers; all layers where none is sparse"
        )
    step = c.size("sparse_step")
    return tuple("moe" if step and (i % step == 1 or step == 1) else "mlp" for i in range(n))


MIXER_LAYOUTS = {f.__name__: f for f in (decoder_or_encoder, first_apart, one_group)}
FFN_LAYOUTS = {f.__name__: f for f in (every_step, spread)}
