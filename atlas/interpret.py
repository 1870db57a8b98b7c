"""From a config to its architecture: the one way in. Bad input becomes a refusal, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, cast

import msgspec

from atlas import assume, describe
from atlas.families import BESIDE, Family, Spec, family, known
from atlas.layouts import FFN_LAYOUTS, MIXER_LAYOUTS
from atlas.layouts.stacks import STACKS, encoder_reader
from atlas.numbers.fingerprint import Evidence, Fingerprint
from atlas.numbers.structure import Layer, Model, Part, Run, layer, model, runs_of
from atlas.parse import Raw, load
from atlas.parts import ENDS, FFNS, MIXERS, Reader
from atlas.parts.ends import norm
from atlas.parts.mtp import drafts
from atlas.parts.norms import NORMS
from atlas.parts.sourced import alone, encoders
from atlas.reading import correct
from atlas.reading.config import Config, View
from atlas.refusal import Refused, contradiction, not_derivable, shown
from atlas.stored.answer import Storage
from schemas.vocabulary import RefusalKind, Verdict


class Derived(msgspec.Struct, frozen=True, eq=False):
    """One config interpreted: its row, its structure, and the evidence for every value. A refusal has no model."""

    fingerprint: Fingerprint
    model: Model | None = None
    evidence: tuple[Evidence, ...] = ()
    unread: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    stored: Storage = Storage()


def derive(raw: bytes | Raw, *, name: str | None = None) -> Derived:
    """Interpret one config (its bytes, or the parsed object). `name` becomes `repo_id`."""
    data: Raw | None = None
    try:
        data = load(raw) if isinstance(raw, bytes) else raw
        return _derive(data, name)
    except Refused as refused:
        return refusal(refused, name, data)


def refusal(refused: Refused, name: str | None, data: Raw | None) -> Derived:
    """The row of a config that gives no numbers."""
    stated = data.get("model_type") if data else None
    return Derived(
        Fingerprint(
            repo_id=name,
            model_type=stated if isinstance(stated, str) and len(stated) <= 100 else None,
            verdict=Verdict.REFUSED.value,
            refusal_kind=refused.kind.value,
            refusal_reason=refused.reason,
        )
    )


def _derive(data: Raw, name: str | None) -> Derived:
    c = reader(data)
    parts, cls = ENDS[c.rules.ends](c)
    layers: Layers = {}
    runs = stacked(c, layers) + drafts(c, partial(one_layer, c, layers))
    made = model(layer(parts), runs, c.word("norm_class"), placement(c))
    derived = describe.described(c, made, data, name, cls)
    return assume.checked(c, derived, model_type_of(data)) if c.rules.model_type == assume.ASSUMED else derived


def reader(data: Raw) -> Config:
    """The reader of a config's language model: the config itself, or the one a wrapper holds."""
    stated = model_type_of(data)
    rules = family(stated) if known(stated) else assume.rules(data, stated)
    if rules.text is None:
        return set_right(data, rules)
    outer, inner = _held(data, rules.text.key)
    if inner is None and rules.text.flat:
        return set_right(data, _with_outer(family(rules.text.family), rules))
    if not isinstance(inner, dict):
        raise Refused(
            RefusalKind.MISSING_KEY, f"{rules.text.key} is needed: the language model's own config is not in the file"
        )
    return set_right(inner, _with_outer(_inner_rules(inner, rules), rules), outer, rules.text.key + ".")  # pyright: ignore[reportUnknownArgumentType]


def set_right(raw: Raw, rules: Family, outer: Raw | None = None, prefix: str = "") -> Config:
    """The reader of an object by these rules, with the row's corrections of known wrong files applied."""
    if not rules.correct:
        return Config(raw, rules, outer, prefix)
    right, said = correct.corrected(raw, rules.correct)
    c = Config(right, rules, outer, prefix)
    c.said = said
    return c


def _held(data: Raw, key: str) -> tuple[Raw, Any]:
    """What stands under a dotted key, and what stands beside it: the keys of every level above, the outermost first."""
    outer, found = data, data
    *steps, last = key.split(".")
    for step in steps:
        held: Any = found.get(step)
        if not isinstance(held, dict):
            return outer, None
        found = cast("Raw", held)
        outer = {**found, **outer}
    return outer, found.get(last)


def _inner_rules(inner: Raw, rules: Family) -> Family:
    assert rules.text is not None  # noqa: S101 - only wrappers come here
    stated = inner.get("model_type")
    if rules.text.only and stated is not None and stated not in rules.text.only:
        raise not_derivable(f"{rules.model_type} over {shown(stated)}: what joins the two is not described")
    if stated is None or stated in rules.text.unnamed:
        return family(rules.text.family)
    return family(model_type_of(inner))


@lru_cache(maxsize=1024)
def _with_outer(inner: Family, wrapper: Family) -> Family:
    assert wrapper.text is not None  # noqa: S101 - only wrappers come here
    return msgspec.structs.replace(
        inner,
        outer=wrapper.outer,
        classes={**inner.classes, **wrapper.classes},
        irrelevant=inner.irrelevant | wrapper.irrelevant if wrapper.text.flat else inner.irrelevant,
        beside=BESIDE.union(wrapper.irrelevant, wrapper.text.key.split("."), ("tie_word_embeddings",)),
        lifts=wrapper.text.lifts,
    )


def model_type_of(data: Raw) -> str:
    """The stated model_type; raises `Refused`."""
    stated = data.get("model_type")
    if stated is None:
        raise Refused(
            RefusalKind.MISSING_KEY, "model_type is needed and not in the config: nothing says which family this is"
        )
    if not isinstance(stated, str):
        raise Refused(RefusalKind.BAD_VALUE, f"model_type is {shown(stated)}, but must be a text")
    return stated


def placement(c: Config) -> str:
    """Where the block norms stand, by the family's rule or by a switch it has: a parallel residual, or pre-norm."""
    stated = c.word("norm_placement")
    if "pre_norm" in c.rules.defaults and c.flag("pre_norm"):
        return c.derived("norm_placement", "pre", "pre_norm is true")
    if not c.opt("parallel_residual"):
        return stated
    return c.derived("norm_placement", "parallel", "attention and feed-forward stand side by side")


def stacked(c: Config, layers: Layers) -> tuple[Run, ...]:
    """The runs of the decoder, of the encoder, or of both, as the named class has them."""
    stacks = STACKS[c.rules.stacks](c)
    runs = build(c, layers) if "decoder" in stacks else ()
    if "encoder" not in stacks:
        return alone(runs)
    encoder = build(encoder_reader(c), {})
    return runs + encoders(encoder) if runs else tuple(r._replace(stack="encoder") for r in encoder)


Layers = dict[tuple[str, str], Layer]
"""Layers by the words of their mixer and their feed-forward network."""


def build(c: Config, layers: Layers) -> tuple[Run, ...]:
    """The runs of layers: words from the layouts, parts from the words.

    Equal layers built once and put into `layers`.
    """
    mixers = c.shared["mixers"] = MIXER_LAYOUTS[c.rules.layout](c)
    ffns = FFN_LAYOUTS[c.rules.ffn_layout](c)
    if len(mixers) != len(ffns):
        raise contradiction(f"{len(mixers)} mixers for {len(ffns)} feed-forward layers")
    words = tuple(zip(mixers, ffns, strict=True))
    mixer_norms, ffn_norms = NORMS[c.rules.norms](c)
    mixing = {w: _sublayer(c, w, meaning(c.rules.mixers, w), MIXERS, mixer_norms) for w in dict.fromkeys(mixers)}
    feeding = {w: _sublayer(c, w, meaning(c.rules.ffns, w), FFNS, ffn_norms) for w in dict.fromkeys(ffns)}
    c.shared["sublayers"] = mixing, feeding
    layers.update({pair: layer(mixing[pair[0]] + feeding[pair[1]]) for pair in dict.fromkeys(words)})
    return tuple(Run(n, tuple(layers[w] for w in words[start : start + unit])) for n, start, unit in runs_of(words))


def one_layer(c: Config, layers: Layers, mixer: str, ffn: str) -> Layer:
    """A layer of this mixer and this feed-forward network, with the norms the family puts before them."""
    if (mixer, ffn) in layers:
        return layers[mixer, ffn]
    mixing, feeding = c.shared["sublayers"]
    mixer_norms, ffn_norms = NORMS[c.rules.norms](c)
    if mixer not in mixing:
        mixing[mixer] = _sublayer(c, mixer, meaning(c.rules.mixers, mixer), MIXERS, mixer_norms)
    if ffn not in feeding:
        feeding[ffn] = _sublayer(c, ffn, meaning(c.rules.ffns, ffn), FFNS, ffn_norms)
    return layer(mixing[mixer] + feeding[ffn])


def meaning(table: Mapping[str, tuple[Spec, ...]], word: str) -> tuple[Spec, ...] | None:
    """The parts of a word; what stands behind its colon is for the part to read."""
    return table.get(word) or table.get(word.partition(":")[0])


def seen_by(c: Config, spec: Spec, word: str) -> Any:
    """The config as a part sees it: itself, unless the row gives the part names or facts of its own."""
    return View(c, spec, word) if spec.fields or spec.facts or ":" in word else c


def _sublayer(
    c: Config, word: str, specs: tuple[Spec, ...] | None, readers: dict[str, Reader], norms: tuple[str, ...]
) -> tuple[Part, ...]:
    """The parts a word means, behind their norms; nothing where the layer has no such sublayer."""
    if not specs:
        return ()
    names = norms if specs[0].norms is None else specs[0].norms
    return (*_norms(c, names), *[readers[s.part](seen_by(c, s, word)) for s in specs])


def _norms(c: Config, names: tuple[str, ...]) -> tuple[Part, ...]:
    found = c.shared.get(names)
    if found is None:
        width, cls, bias = c.count("hidden_size"), c.word("norm_class"), c.flag("norm_bias")
        found = c.shared[names] = tuple(norm(n, width, cls, bias) for n in names)
    return found
