"""The layers of a stack: words from the layouts, parts from the words, norms before the parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from atlas.families.rules import Spec
from atlas.layouts import words
from atlas.layouts.loops import passes
from atlas.layouts.words import Word, kind_of
from atlas.numbers.flow import Half, flow
from atlas.numbers.structure import Layer, Part, Run, layer, runs_of
from atlas.parts.norms import norm
from atlas.parts.reused import again
from atlas.readers import FFNS, MIXERS, Reader
from atlas.readers.norms import NORMS, Names
from atlas.readers.view import seen_by
from atlas.reading.config import Config
from atlas.refusal import not_derivable, shown

Pairs = tuple[tuple[Word, Word], ...]
Layers = Mapping[tuple[Word, Word], Layer]


class Stack(NamedTuple):
    """The runs of a stack, and what its layers are made of: halves by word, and the norms before their parts."""

    runs: tuple[Run, ...]
    mixing: Mapping[Word, Half]
    feeding: Mapping[Word, Half]
    norms: Names


def assembled(c: Config) -> Stack:
    """The stack that a config describes. Raises `Refused`."""
    pairs = words(c)
    norms = NORMS[c.rules.norms](c)
    distinct = tuple(dict.fromkeys(pairs))
    _described(c, {kind_of(w) for pair in distinct for w in pair})
    mixing = {w: _mixing(c, w, norms) for w in dict.fromkeys(w for w, _ in distinct)}
    feeding = {w: _feeding(c, w, norms) for w in dict.fromkeys(w for _, w in distinct)}
    layers = {(m, f): _joined(mixing[m], feeding[f]) for m, f in distinct}
    return Stack(_runs(pairs, layers) + _later_passes(c, pairs, layers), mixing, feeding, norms)


def _described(c: Config, kinds: set[str]) -> None:
    """Raise `Refused` at a kind of layer that no part of the row answers: it would stand there as an empty one."""
    odd = sorted(kinds - c.rules.mixers.keys() - c.rules.ffns.keys() - {"none"})
    if odd:
        raise not_derivable(
            f"a layer is {shown(odd[0])}, and the rules of {c.rules.model_type} describe none of the kind"
        )


def _runs(pairs: Pairs, layers: Layers) -> tuple[Run, ...]:
    return tuple(Run(n, tuple(layers[w] for w in pairs[start : start + unit])) for n, start, unit in runs_of(pairs))


def _later_passes(c: Config, pairs: Pairs, layers: Layers) -> tuple[Run, ...]:
    """The runs of every pass after the first, where the family runs its whole stack several times.

    Weights stand in the first pass; every pass keeps a cache of its own.
    """
    n = passes(c, len(pairs)) if "passes" in c.rules.keys else 1
    if n == 1:
        return ()
    anew = {w: layer(tuple(again(p) for p in layers[w].parts), layers[w].flow) for w in dict.fromkeys(pairs)}
    return _runs(pairs * (n - 1), anew)


def one_layer(c: Config, stack: Stack, mixer: Word, ffn: Word) -> Layer:
    """One more layer of these words, with the parts that the stack has of them already. Raises `Refused`."""
    mixing, feeding = stack.mixing.get(mixer), stack.feeding.get(ffn)
    mixing = _mixing(c, mixer, stack.norms) if mixing is None else mixing
    feeding = _feeding(c, ffn, stack.norms) if feeding is None else feeding
    return _joined(mixing, feeding)


@lru_cache(maxsize=16384)
def _joined(mixing: Half, feeding: Half) -> Layer:
    """One layer of both halves; norms of a network that stand `as_mixer` stand as those of the mixer before it."""
    if feeding.place == "as_mixer":
        feeding = feeding._replace(place=mixing.place)
    return layer(mixing.parts + feeding.parts, flow(mixing, feeding))


def _mixing(c: Config, word: Word, norms: Names) -> Half:
    return _sublayer(c, word, c.rules.mixers.get(kind_of(word)), MIXERS, norms[0])


def _feeding(c: Config, word: Word, norms: Names) -> Half:
    return _sublayer(c, word, c.rules.ffns.get(kind_of(word)), FFNS, norms[1])


def _sublayer(
    c: Config, word: Word, specs: tuple[Spec, ...] | None, readers: Mapping[str, Reader], norms: tuple[str, ...]
) -> Half:
    """The parts a word means, behind their norms; nothing where the layer has no such sublayer."""
    if not specs:
        return Half()
    before = _norms(c, norms if specs[0].norms is None else specs[0].norms)
    parts = (*before, *[readers[s.part](seen_by(c, s, word)) for s in specs])
    return Half(parts, ("next",) * len(before) + tuple(s.joins for s in specs), specs[0].place or placement(c))


def placement(c: Config) -> str:
    """Where the block norms stand, by the family's rule or beside a parallel residual."""
    stated = c.word("norm_placement")
    if not c.opt("parallel_residual"):
        return stated
    return c.derived("norm_placement", "parallel", "attention and feed-forward stand side by side")


def _norms(c: Config, names: tuple[str, ...]) -> tuple[Part, ...]:
    width, cls, bias = c.count("hidden_size"), c.word("norm_class"), c.flag("norm_bias")
    return tuple(norm(n, width, cls, bias) for n in names)
