"""A small decoder with a cache that is allocated once, as plain functions over tensors; torch is handed in.

Grouped queries, SwiGLU, RMS norms, a tied table, no positions and no training: what is measured is a shape. The cache
holds the KV heads unrepeated, [batch, kv_heads, tokens, head_dim] each for keys and values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.measure.shapes import HEAD_DIM, VOCABULARY, Shape

Tensor = Any
_STD = 0.02


class Block(NamedTuple):
    """The matrices of a layer, each [out, in]."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    output: Tensor
    gate: Tensor
    up: Tensor
    down: Tensor


class Decoder(NamedTuple):
    """A shape with weights; `torch` is the library that runs it."""

    torch: Any
    shape: Shape
    table: Tensor
    blocks: tuple[Block, ...]

    def cache(self, tokens: int) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of every layer, for so many tokens of one sequence."""
        size = (1, self.shape.kv_heads, tokens, HEAD_DIM)
        return [(self.torch.zeros(size), self.torch.zeros(size)) for _ in self.blocks]

    def prefill(self, ids: Tensor, cache: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Scores [1, vocabulary] for the token behind a prompt of ids [1, tokens]; fills the cache from position 0."""
        return self._run(ids, cache, 0)

    def decode(self, ids: Tensor, cache: list[tuple[Tensor, Tensor]], at: int) -> Tensor:
        """Scores [1, vocabulary] for the token behind ids [1, 1] at position `at`; earlier positions are cached."""
        return self._run(ids, cache, at)

    def _run(self, ids: Tensor, cache: list[tuple[Tensor, Tensor]], at: int) -> Tensor:
        x = self.table[ids]
        for block, held in zip(self.blocks, cache, strict=True):
            x = self._layer(x, block, held, at)
        return _norm(self.torch, x[:, -1]) @ self.table.T

    def _layer(self, x: Tensor, b: Block, held: tuple[Tensor, Tensor], at: int) -> Tensor:
        f = self.torch.nn.functional
        x = x + f.linear(self._attend(_norm(self.torch, x), b, held, at), b.output)
        h = _norm(self.torch, x)
        return x + f.linear(f.silu(f.linear(h, b.gate)) * f.linear(h, b.up), b.down)

    def _attend(self, h: Tensor, b: Block, held: tuple[Tensor, Tensor], at: int) -> Tensor:
        """One token sees all that is cached and itself; a prompt's tokens see those before them."""
        f, tokens = self.torch.nn.functional, h.shape[1]
        for kept, matrix in zip(held, (b.keys, b.values), strict=True):
            kept[:, :, at : at + tokens] = _heads(f.linear(h, matrix))
        keys, values = (kept[:, :, : at + tokens] for kept in held)
        queries = _heads(f.linear(h, b.queries))
        seen = f.scaled_dot_product_attention(queries, keys, values, is_causal=tokens > 1, enable_gqa=True)
        return seen.transpose(1, 2).reshape(1, tokens, -1)


def _heads(x: Tensor) -> Tensor:
    """[1, tokens, heads x head_dim] as [1, heads, tokens, head_dim]."""
    return x.view(1, x.shape[1], -1, HEAD_DIM).transpose(1, 2)


def _norm(torch: Any, x: Tensor) -> Tensor:
    return torch.nn.functional.rms_norm(x, (x.shape[-1],))


def built(torch: Any, shape: Shape, seed: int) -> Decoder:
    """A decoder with random float32 weights of this seed."""
    generator = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int) -> Tensor:
        return torch.randn(rows, columns, generator=generator) * _STD

    d, q, kv = shape.width, shape.heads * HEAD_DIM, shape.kv_heads * HEAD_DIM
    sizes = ((q, d), (kv, d), (kv, d), (d, q), (shape.ffn, d), (shape.ffn, d), (d, shape.ffn))
    blocks = tuple(Block(*(matrix(*size) for size in sizes)) for _ in range(shape.layers))
    return Decoder(torch, shape, matrix(VOCABULARY, d), blocks)


def difference(decoder: Decoder, ids: Tensor) -> float:
    """How far the cached path's scores are from the full path's, behind ids [1, tokens], as a share of the largest."""
    tokens = ids.shape[1]
    cache = decoder.cache(tokens)
    decoder.prefill(ids[:, :-1], cache)
    step = decoder.decode(ids[:, -1:], cache, tokens - 1)
    whole = decoder.prefill(ids, decoder.cache(tokens))
    return float((step - whole).abs().max() / whole.abs().max())
