"""What the layers of a model hold, counted, and the layer pattern as text."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Layer, Mixing, Model, Run, runs_of


class Shape(NamedTuple):
    """What the layers of a stack hold, counted: mixers and feed-forwards with how often each stands."""

    mixers: tuple[tuple[Mixing, int], ...]
    ffns: tuple[tuple[Feeding, int], ...]
    bare: int  # layers without a mixer
    blank: int  # layers without a feed-forward


@lru_cache(maxsize=16384)
def infos(each: Layer) -> tuple[tuple[Mixing, ...], tuple[Feeding, ...]]:
    """The mixers and feed-forwards of a layer."""
    found = [p.info for p in each.parts]
    return tuple(i for i in found if isinstance(i, Mixing)), tuple(i for i in found if isinstance(i, Feeding))


def shape_of(model: Model) -> Shape:
    """Count what stands in the stack that describes the model."""
    mixers: dict[Mixing, int] = {}
    ffns: dict[Feeding, int] = {}
    bare = blank = 0
    for run in model.stack():
        for each in run.layers:
            mixing, feeding = infos(each)
            bare += 0 if mixing else run.repeats
            blank += 0 if feeding else run.repeats
            for m in mixing:
                mixers[m] = mixers.get(m, 0) + run.repeats
            for f in feeding:
                ffns[f] = ffns.get(f, 0) + run.repeats
    return Shape(tuple(mixers.items()), tuple(ffns.items()), bare, blank)


def pattern(runs: list[Run]) -> str:
    """Run-length text of the layers: `12x(swa moe . gqa moe)`; equal neighbours inside a unit are counted too."""
    return " . ".join(_run_text(r) for r in runs)


def _run_text(run: Run) -> str:
    unit = _unit_text(tuple(_word(each) for each in run.layers))
    return unit if run.repeats == 1 else f"{run.repeats}x({unit})"


@lru_cache(maxsize=4096)
def _unit_text(words: tuple[str, ...]) -> str:
    pieces = [(n, words[start : start + unit]) for n, start, unit in runs_of(words)]
    return " . ".join(" . ".join(u) if n == 1 else f"{n}x({' . '.join(u)})" for n, u in pieces)


@lru_cache(maxsize=16384)
def _word(each: Layer) -> str:
    mixing, feeding = infos(each)
    return (
        " ".join(
            [
                *("+".join(m.label for m in mixing),) * bool(mixing),
                *("+".join(f.label for f in feeding),) * bool(feeding),
            ]
        )
        or "none"
    )
