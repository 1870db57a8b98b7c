"""What every layer of a model keeps between steps, one record per layer and cache: what engines size their pools from.

Keys and values apart, the heads they divide into, the window, and of recurrent layers the channels, the kernel and the
elements of the state. A layer that reads another's cache owns none and has no record. Draft layers stand apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.entries import CACHE_WIDTH, State
from atlas.numbers.structure import ONE_BY_ONE, Layer, Mixing, Model, Part
from schemas.vocabulary import Mixer


class Cache(NamedTuple):
    """One cache of one layer, in elements. `owner` counts within its stack; a draft's stack is "mtp".

    `kind`: "kv" (keys and values), "latent" (one vector for both, of no heads), "index" (keys of an indexer), "conv"
    (columns of a convolution), "state" (a recurrent state), "cross" (per token of a source).
    """

    stack: str
    owner: int
    kind: str
    mixer: str
    k: int = 0
    v: int = 0
    heads: int | None = None
    window: int | None = None
    chunked: bool = False
    stride: int = 1
    elements: int = 0  # of one entry, or of the whole state
    width: int | None = None  # bytes an element the family keeps it in; None where the deployer chooses
    channels: int | None = None
    kernel: int | None = None
    groups: int | None = None
    grouped: int = 0

    def bytes_at(self, tokens: int, cache_width: float = CACHE_WIDTH) -> float:
        """Bytes held after so many tokens of a sequence, undivided."""
        held = tokens if self.window is None else min(tokens, self.window)
        entries = 1 if self.stride == 0 else 0 if self.kind == "cross" else held // self.stride
        return entries * self.elements * (cache_width if self.width is None else self.width)

    @property
    def is_recurrent(self) -> bool:
        """Whether its size does not depend on the length of the sequence."""
        return self.kind in ("conv", "state")


@lru_cache(maxsize=4096)
def caches(model: Model) -> tuple[Cache, ...]:
    """Every cache of every layer, in order of layers: the decoder's, then those of draft layers."""
    found: list[Cache] = []
    first: dict[str, int] = {}
    for run in model.runs:
        if run.stack == "encoder":
            continue
        start = first.get(run.stack, 0)
        first[run.stack] = start + run.repeats * len(run.layers)
        for turn in range(run.repeats):
            for slot, each in enumerate(run.layers):
                owner = start + turn * len(run.layers) + slot
                found += [c._replace(stack=run.stack, owner=owner) for c in layer_caches(each)]
    return tuple(found)


@lru_cache(maxsize=ONE_BY_ONE)
def counted_caches(model: Model) -> tuple[tuple[Cache, int], ...]:
    """Every distinct cache with how many layers keep one like it; owners are not told apart."""
    found: dict[Cache, int] = {}
    for run in model.runs:
        for each in run.layers if run.stack != "encoder" else ():
            for c in layer_caches(each):
                placed = c._replace(stack=run.stack)
                found[placed] = found.get(placed, 0) + run.repeats
    return tuple(found.items())


@lru_cache(maxsize=16384)
def layer_caches(each: Layer) -> tuple[Cache, ...]:
    """The caches of one layer."""
    return tuple(_cache(s, p) for p in each.parts for s in (*p.states, *p.drafted))


def _cache(s: State, p: Part) -> Cache:
    mixing = p.info if isinstance(p.info, Mixing) else None
    mixer = p.kind if mixing is None else mixing.label
    if s.stride == 0:
        kind = "state" if s.channels is None else "conv"
        return Cache(
            "", 0, kind, mixer, stride=0, elements=s.elements, width=s.width,
            channels=s.channels, kernel=s.kernel, groups=s.groups, grouped=s.grouped, heads=s.heads,
        )  # fmt: skip
    kind = _kind(s)
    k = s.elements if s.keys is None else s.keys
    chunked = mixing is not None and mixing.mixer is Mixer.CHUNKED_ATTENTION
    return Cache(
        "", 0, kind, mixer, k, s.elements - k, s.heads, s.window, chunked, s.stride, s.elements, s.width
    )  # fmt: skip


def _kind(s: State) -> str:
    if s.kind in ("index", "cross"):
        return s.kind
    return "latent" if s.heads is None else "kv"
