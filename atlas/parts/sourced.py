"""Which work belongs to a source: an encoder's layers beside a decoder, and what a decoder leaves out without one."""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Layer, Mixing, Part, Run, Tensor, layer, part
from schemas.vocabulary import Component, Mixer, Role


def encoders(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """The encoder beside a decoder: its weights multiply once per token of the source, its reads are the source's."""
    return tuple(r._replace(layers=tuple(_encoder(each) for each in r.layers), stack="encoder") for r in runs)


def alone(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """A decoder without its source: what looks at a source is passed by in a step of text alone."""
    return tuple(r._replace(layers=tuple(_alone(each) for each in r.layers)) for r in runs)


def streams(runs: tuple[Run, ...], n: int) -> tuple[Run, ...]:
    """A decoder whose every step runs `n` streams: the token itself, and one for each future token it predicts."""
    return tuple(r._replace(layers=tuple(_streams(each, n) for each in r.layers)) for r in runs)


@lru_cache(maxsize=256)
def _streams(each: Layer, n: int) -> Layer:
    return layer(tuple(_repeated(p, n) for p in each.parts), each.flow)


def _repeated(p: Part, n: int) -> Part:
    """Products of a token are made `n` times, those of a source once; the cache is the token's own."""
    tensors = tuple(t._replace(touched=t.touched * n) if t.role is Role.MATMUL else t for t in p.tensors)
    return part(p.kind, tensors, p.states, tuple(r._replace(flops=r.flops * n) for r in p.reads), p.info)


@lru_cache(maxsize=4096)
def _encoder(each: Layer) -> Layer:
    return layer(tuple(of_source(p) for p in each.parts), each.flow)


@lru_cache(maxsize=4096)
def of_source(p: Part) -> Part:
    """The part as a source runs through it."""
    made = _instead(p, Role.SOURCE)
    return part(made.kind, made.tensors, made.states, tuple(r._replace(over="encoder") for r in p.reads), made.info)


@lru_cache(maxsize=4096)
def _alone(each: Layer) -> Layer:
    """The whole layer where nothing else mixes tokens in it (Llama 3.2 Vision), else its cross-attention (BART)."""
    mixers = [p.info.mixer for p in each.parts if isinstance(p.info, Mixing)]
    if Mixer.CROSS_ATTENTION not in mixers:
        return each
    whole = set(mixers) == {Mixer.CROSS_ATTENTION}
    return layer(tuple(_instead(p, Role.BESIDE) if whole or _looks_over(p) else p for p in each.parts), each.flow)


def _looks_over(p: Part) -> bool:
    return isinstance(p.info, Mixing) and p.info.mixer is Mixer.CROSS_ATTENTION


@lru_cache(maxsize=4096)
def _instead(p: Part, role: Role) -> Part:
    """The part with `role` in place of a product per token."""
    tensors = tuple(t._replace(role=role) if t.role is Role.MATMUL else t for t in p.tensors)
    return part(p.kind, tensors, p.states, p.reads, p.info)


def names_in(each: Layer) -> tuple[str, ...]:
    """The names of a layer's tensors, in order."""
    return tuple(t.name for p in each.parts for t in p.tensors)


@lru_cache(maxsize=1024)
def renamed(p: Part, names: tuple[str, ...]) -> Part:
    """The part with other names of its tensors; a design has no names, so that it stays what it is."""
    tensors = tuple(t._replace(name=n) for t, n in zip(p.tensors, names, strict=True))
    return part(p.kind, tensors, p.states, p.reads, p.info)


@lru_cache(maxsize=1024)
def renamed_layer(each: Layer, names: tuple[str, ...]) -> Layer:
    """The layer with other names of its tensors."""
    left = iter(names)
    return layer(tuple(renamed(p, tuple(next(left) for _ in p.tensors)) for p in each.parts), each.flow)


@lru_cache(maxsize=256)
def projected_source(d: int, width: int) -> Part:
    """The matrix from the encoder's width to the decoder's, with its bias."""
    made = [Tensor("enc_to_dec_proj.weight", (d, width), Component.OTHER, Role.SOURCE)]
    return part("projection", [*made, Tensor("enc_to_dec_proj.bias", (d,), Component.OTHER, Role.VECTOR)])
