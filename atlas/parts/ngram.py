"""Tables of n-grams: rows that a hash of the last tokens chooses, looked up and not multiplied, with what reads them.

Qwen4-Exp adds them inside one layer (its PLE), DeepSeek-V4.1 inside a few (Engram), LongCat-Flash-Lite to the token
embedding. A table counts whole as stored weights; one token uses one row of each hash.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import NamedTuple

from atlas.numbers.structure import Part, Read, State, Tensor, part
from atlas.parts.norms import vector
from schemas.vocabulary import Component, Role

E, N, R = Component.EMBEDDING, Component.NORM, Component.RECURRENT
TOKEN_WIDTH = 8
"""Bytes of a token id that is kept (int64)."""


def table(name: str, rows: int, width: int, looked: int) -> Tensor:
    """A table of which one token looks up this many rows."""
    return Tensor(name, (1, width), E, Role.LOOKUP, rows, looked)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, isqrt(n) + 1))


@lru_cache(maxsize=64)
def primes_from(least: int, count: int) -> tuple[int, ...]:
    """The first primes that are not below `least`."""
    found: list[int] = []
    n = least
    while len(found) < count:
        found += [n] * _is_prime(n)
        n += 1
    return tuple(found)


class Ple(NamedTuple):
    """Scalars of one n-gram layer: `hashes` heads over `width` elements together, `rows` of the padded table."""

    d: int
    streams: int
    width: int
    hashes: int
    order: int  # tokens of the longest n-gram
    kernel: int
    rows: int


@lru_cache(maxsize=64)
def ple(s: Ple) -> Part:
    """Table, key and value projections, norms of a stream's width, and a dilated convolution; its columns are kept."""
    wide = s.streams * s.d
    name = "ple.ple_embedding."
    made = [
        table(f"{name}ngram_embedding.weight", s.rows, s.width // s.hashes, s.hashes),
        Tensor("ple.key_proj.weight", (wide, s.width), E),
        Tensor("ple.value_proj.weight", (s.d, s.width), E),
        *(vector(f"ple.norm_{x}.weight", wide, N) for x in ("key", "query", "conv")),
        Tensor("ple.conv1d.weight", (wide, 1, s.kernel), R),
        vector(f"{name}layer_multipliers", s.order, Component.BUFFERS),
        *(
            vector(f"{name}{x}", s.hashes, Component.BUFFERS)
            for x in ("ngram_heads_vocab_sizes", "ngram_heads_offsets")
        ),
    ]
    columns = wide * (s.kernel - 1) * s.order
    states = (State("constant", columns, 0, width=2), State("constant", s.order - 1, 0, width=TOKEN_WIDTH))
    reads = (Read(2 * wide * s.kernel, columns, 0, width=2),)
    return part("embedding.ngrams", made, states, reads)


@lru_cache(maxsize=64)
def engram(d: int, streams: int, rows: int, width: int, hashes: int) -> Part:
    """A table, one projection to a value and a key per stream, and the weights of their comparison (DeepSeek-V4.1)."""
    made = [
        table("engram.embedding.weight", rows, width, hashes),
        Tensor("engram.wkv.weight", (d * (streams + 1), hashes * width), E),
        *(Tensor(f"engram.{x}_norm.weight", (streams, d), N, Role.VECTOR) for x in "qk"),
    ]
    return part("embedding.engram", made)


@lru_cache(maxsize=64)
def beside_tokens(d: int, tables: int, rows: int) -> Part:
    """Narrow tables beside the token table, each with a projection; table i has `rows` + 2i + 1 of them."""
    width, name = d // tables, "model.ngram_embeddings"
    made = [table(f"{name}.embedders.{i}.weight", rows + 2 * i + 1, width, 1) for i in range(tables)]
    made += [Tensor(f"{name}.post_projs.{i}.weight", (d, width), E) for i in range(tables)]
    return part("embedding.ngrams", made)
