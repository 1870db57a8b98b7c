"""A model is its ends and runs of layers; a layer is a tuple of parts; a part is plain data.

Real models forbid anything narrower: layers with one part (Nemotron-H), two mixers side by side (Falcon-H1), layers
that read an earlier layer's cache (Gemma 3n), blocks whose weights are used again (Zamba2), caches with one entry per
several tokens (DeepSeek-V4), layers that keep one cache and read two (DeepSeek-V3.2). Records are immutable and
compare by identity: equal parts are the same object, because the functions that build them are cached. Nothing here
knows a config, a clock or a file.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from math import prod
from typing import NamedTuple

import msgspec

from atlas.numbers.entries import Read, State
from schemas.vocabulary import AttentionKind, Component, Ffn, Mask, Mixer, Role

ONE_BY_ONE = 64
"""Answers kept of what is asked of a model while it is worked out, and hardly again: more would hold memory alone."""


class Tensor(NamedTuple):
    """A weight of this shape: `stored` copies in the checkpoint, `touched` of them (or times) by one token.

    Experts are stored 256, touched 8. A tied head is stored 0, touched 1. `name` is relative to the layer. Where a
    router also has empty choices, `choices` counts all of them and `touched` is the most a token can use.
    """

    name: str
    shape: tuple[int, ...]
    component: Component
    role: Role = Role.MATMUL
    stored: int = 1
    touched: int = 1
    choices: int | None = None

    @property
    def elements(self) -> int:
        """Numbers in one copy."""
        return prod(self.shape)

    @property
    def used(self) -> int:
        """Weights that one token multiplies by on average, to the nearest whole weight.

        Of `choices` (the stored copies and empty ones beside them) a token takes `touched`, so that it uses
        touched x stored / choices copies: LongCat-Flash 12 x 512 / 768 = 8.
        """
        if self.choices is None:
            return self.touched * self.elements
        return (2 * self.touched * self.stored * self.elements + self.choices) // (2 * self.choices)


class Mixing(NamedTuple):
    """What a token mixer is, beyond its weights."""

    mixer: Mixer
    label: str  # the short word of a layer pattern: gqa, swa, mla, mamba2, ...
    attention_kind: AttentionKind | None = None
    n_q_heads: int | None = None
    n_kv_heads: int | None = None
    head_dim: int | None = None
    v_head_dim: int | None = None
    window: int | None = None
    position: str | None = None
    rotary_dim: int | None = None
    qk_norm: str = "none"
    has_bias: bool = False
    has_sinks: bool = False
    shared_from: int | None = None
    mask: Mask = Mask.CAUSAL
    latent: int | None = None  # width of the latent that keys and values are made from


SHOWN_BY_WEIGHTS = ("latent",)
"""Facts of a mixer that its weights and states show already: they are no further part of its digest."""


class Standing(NamedTuple):
    """Where a norm of the ends stands: after the "embedding", or "final" behind the last layer.

    `stack` where the model has two, else nothing.
    """

    place: str
    stack: str = ""


class Branch(NamedTuple):
    """Parts of a layer that leave the residual stream together and join it in one sum, by their index in the layer.

    Norms stand `ahead` on the stream, where the branch leaves it normed; `before` the parts; `after` them but before
    the sum; or `behind` the sum on the stream. With `own` the n-th part has the n-th norm to itself, or a part
    alone has one on each of its inputs. `loose` are norms
    of which it is not known where they stand. `spans` says how many of the branches that follow are passed before the
    sum: an expert network beside a layer's second half (LongCat-Flash) or beside all of it (Arctic). `added` are parts
    that follow one another from the stream, and whose result is added to what the branch reads, below its norms, and
    not to the stream (Zamba's shared block).
    """

    parts: tuple[int, ...]
    ahead: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    loose: tuple[int, ...] = ()
    own: bool = False
    spans: int = 0
    added: tuple[int, ...] = ()


class Feeding(NamedTuple):
    """What a feed-forward network is, beyond its weights."""

    ffn: Ffn
    label: str
    d_ff: int
    activation: str
    is_gated: bool
    n_routed: int | None = None
    n_shared: int | None = None
    top_k: int | None = None


class Part(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A named group of weights with what it keeps and reads. Build with `part`; equal parts are the same object."""

    kind: str
    tensors: tuple[Tensor, ...]
    states: tuple[State, ...]
    reads: tuple[Read, ...]
    info: Mixing | Feeding | Standing | None
    digest: bytes
    drafted: tuple[State, ...] = ()
    """What a drafting layer keeps of its own, where one runs: in no total and no digest."""


def part(
    kind: str,
    tensors: tuple[Tensor, ...] | list[Tensor],
    states: tuple[State, ...] = (),
    reads: tuple[Read, ...] = (),
    info: Mixing | Feeding | Standing | None = None,
    drafted: tuple[State, ...] = (),
) -> Part:
    """Make a part. Its digest covers shapes, roles, copies, states, reads and facts, and leaves names out."""
    weights = sorted((str(t.component), str(t.role), t.shape, t.stored, t.touched, t.choices or 0) for t in tensors)
    facts = _digested(info)
    canonical = repr((kind, weights, [tuple(s)[:8] for s in states], [tuple(r) for r in reads], facts))
    digest = blake2b(canonical.encode(), digest_size=16).digest()
    return Part(kind, tuple(tensors), states, reads, info, digest, drafted)


def _digested(info: Mixing | Feeding | Standing | None) -> tuple[str | None, ...] | None:
    """The facts of a part that belong to its digest."""
    if info is None or isinstance(info, Standing):
        return None
    names = info._fields if isinstance(info, Feeding) else [n for n in info._fields if n not in SHOWN_BY_WEIGHTS]
    return tuple(None if (f := getattr(info, n)) is None else str(f) for n in names)


class Layer(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The parts of one layer, in order. Build with `layer`; equal layers are the same object.

    `flow` says how the parts hang on the residual stream, the first branch first; it is empty where that is not known.
    The model's placement of norms stands for it in the digest of a design.
    """

    parts: tuple[Part, ...]
    digest: bytes
    flow: tuple[Branch, ...] = ()


@lru_cache(maxsize=16384)
def layer(parts: tuple[Part, ...], flow: tuple[Branch, ...] = ()) -> Layer:
    """Make a layer of these parts; cached, so that equal layers are folded once."""
    return Layer(parts, blake2b(b"".join(p.digest for p in parts), digest_size=16).digest(), flow)


class Run(NamedTuple):
    """`layers` in order, `repeats` times over.

    `stack` is "decoder", "encoder" or "mtp"; layer indices start anew in each.
    """

    repeats: int
    layers: tuple[Layer, ...]
    stack: str = "decoder"


class Model(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The whole: its ends (embedding, final norm, head, and what stands outside the stack) and its runs of layers."""

    ends: Layer
    runs: tuple[Run, ...]
    norm_class: str
    norm_placement: str

    @property
    def n_layers(self) -> int:
        """Layers of the decoder (of the encoder, where there is no decoder)."""
        return sum(r.repeats * len(r.layers) for r in self.stack())

    def stack(self) -> list[Run]:
        """The runs that a model is described by: its decoder, or its encoder where it has no other."""
        return [r for r in self.runs if r.stack == "decoder"] or [r for r in self.runs if r.stack == "encoder"]

    @property
    def has_cache(self) -> bool:
        """Whether tokens leave something behind: not in an encoder, nor where attention looks both ways."""
        layers = [each for r in self.runs if r.stack == "decoder" for each in r.layers]
        infos = [p.info for each in layers for p in each.parts]
        masks = {i.mask for i in infos if isinstance(i, Mixing) and i.attention_kind is not None}
        return bool(layers) and masks != {Mask.BIDIRECTIONAL}

    def counted(self) -> dict[Layer, int]:
        """How often each distinct layer stands in the model, the ends among them."""
        counts = {self.ends: 1}
        for run in self.runs:
            for each in run.layers:
                counts[each] = counts.get(each, 0) + run.repeats
        return counts


@lru_cache(maxsize=16384)
def model(ends: Layer, runs: tuple[Run, ...], norm_class: str, norm_placement: str) -> Model:
    """Make a model of these; cached, so that repositories of one design share one structure, which is folded once."""
    return Model(ends, runs, norm_class, norm_placement)


@lru_cache(maxsize=16384)
def design_id(model: Model) -> str:
    """Digest of the canonical structure: 20 hex digits. Names, theta, context, dtype and quantization are not in it."""
    digest = blake2b(digest_size=10)
    digest.update(f"{model.norm_class} {model.norm_placement}".encode())
    digest.update(model.ends.digest)
    for run in model.runs:
        digest.update(f"{run.stack} {run.repeats} {len(run.layers)}".encode())
        for each in run.layers:
            digest.update(each.digest)
    return digest.hexdigest()


@lru_cache(maxsize=4096)
def runs_of(words: tuple[object, ...]) -> tuple[tuple[int, int, int], ...]:
    """Cut a sequence into runs (repeats, start, length of the unit), covering most first.

    Shortest unit among equals.
    """
    found: list[tuple[int, int, int]] = []
    start = 0
    while start < len(words):
        repeats, unit = _best_run(words, start)
        found.append((repeats, start, unit))
        start += repeats * unit
    return tuple(found)


def _best_run(words: tuple[object, ...], start: int) -> tuple[int, int]:
    best, unit = 1, 1
    for size in range(1, (len(words) - start) // 2 + 1):
        repeats = _repeats(words, start, size)
        if repeats > 1 and repeats * size > best * unit:
            best, unit = repeats, size
    return best, unit


def _repeats(words: tuple[object, ...], start: int, size: int) -> int:
    head, repeats = words[start : start + size], 1
    while words[start + repeats * size : start + (repeats + 1) * size] == head:
        repeats += 1
    return repeats
