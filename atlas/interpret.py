"""From a config to its architecture: the one way in. Bad input becomes a refusal, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from atlas import assume, describe
from atlas.constants import constants_of
from atlas.families import Spec
from atlas.kind import named_kind
from atlas.layouts import FFN_LAYOUTS, MIXER_LAYOUTS
from atlas.layouts.stacks import STACKS, encoder_reader
from atlas.numbers.fingerprint import Evidence, Fingerprint
from atlas.numbers.structure import Layer, Model, Part, Run, layer, model, runs_of
from atlas.opening import proven, reader, said
from atlas.parse import Raw, load
from atlas.parts import ENDS, FFNS, MIXERS, Reader
from atlas.parts.both_ways import looking_both_ways
from atlas.parts.ends import norm
from atlas.parts.mtp import drafts
from atlas.parts.norms import NORMS
from atlas.parts.sourced import alone, encoders
from atlas.reading.causality import looks_both_ways
from atlas.reading.config import Config, View
from atlas.refusal import Refused, contradiction
from schemas.vocabulary import Verdict


class Derived(msgspec.Struct, frozen=True, eq=False):
    """One config interpreted: its row, its structure, and the evidence for every value. A refusal has no model."""

    fingerprint: Fingerprint
    model: Model | None = None
    evidence: tuple[Evidence, ...] = ()
    unread: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    config: Config | None = None  # what was read, for what is worked out when it is asked for
    proved_by_total: bool = False  # the doubt is of weights alone: an equal total answers it

    @property
    def constants(self) -> tuple[Evidence, ...]:
        """What changes the computation and not the shape, by name; none where nothing was derived."""
        return () if self.config is None else constants_of(self.config)


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
    kind = named_kind(data)
    return Derived(
        Fingerprint(
            repo_id=name,
            model_type=stated if isinstance(stated, str) and len(stated) <= 100 else None,
            kind=None if kind is None else kind.value,
            verdict=Verdict.REFUSED.value,
            refusal_kind=refused.kind.value,
            refusal_reason=refused.reason,
        )
    )


def _derive(data: Raw, name: str | None) -> Derived:
    c = reader(data)
    proven(c, data)
    parts, cls = ENDS[c.rules.ends](c)
    layers: Layers = {}
    runs = stacked(c, layers) + drafts(c, partial(one_layer, c, layers))
    made = model(layer(parts), runs, c.word("norm_class"), placement(c))
    derived = describe.described(c, made, data, name, cls)
    return assume.checked(c, derived, said(data, c.rules)) if c.rules.model_type == assume.ASSUMED else derived


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
    if looks_both_ways(c):
        runs = tuple(r._replace(layers=tuple(looking_both_ways(each) for each in r.layers)) for r in runs)
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
