"""What tokens leave behind in a layer, and what a token looks at: entries by context, and over a whole prompt."""

from __future__ import annotations

from typing import NamedTuple

CACHE_WIDTH = 2
"""Bytes of one cache element unless a caller says otherwise (bf16)."""


class State(NamedTuple):
    """What tokens leave behind: `elements` per `stride` tokens, for at most `window` tokens; stride 0 is a fixed size.

    `width` is the bytes per element that the family keeps it in, or None where the cache's dtype is the deployer's
    choice. Of keys and values, `keys` of the elements are keys (a latent that is both counts as keys). A window of
    convolution columns has `channels` and spans `kernel` tokens. How ranks share it is in no digest: the KV heads or
    recurrent heads it divides into, and how many channels belong to `groups` that several heads need.
    """

    kind: str  # "kv", "index", "cross" (per source token, not per token of the sequence) or "constant"
    elements: int
    stride: int = 1
    window: int | None = None
    width: int | None = None
    keys: int | None = None
    channels: int | None = None
    kernel: int | None = None
    heads: int | None = None
    groups: int | None = None
    grouped: int = 0

    def bytes_at(self, context: int, cache_width: float = CACHE_WIDTH) -> float:
        """Bytes held after `context` tokens."""
        return self.elements * self._entries(context) * (cache_width if self.width is None else self.width)

    def _entries(self, context: int) -> int:
        if not self.stride:
            return 1
        if self.kind == "cross":
            return 0
        return (context if self.window is None else min(context, self.window)) // self.stride


class Read(NamedTuple):
    """Weight-free work of one token: `flops` and `elements` loaded per entry looked at.

    Entries are one per `stride` tokens within `window`, at most `limit` of them (a top-k); stride 0 looks once.
    `over` says what is looked at: the sequence itself, a source beside it, or (of an encoder beside a decoder) the
    source by itself. `prefill` is the FLOPs per entry of the form that a whole prompt runs in, where that is another.
    `both_ways` looks at what comes later too.
    """

    flops: int
    elements: int
    stride: int = 1
    window: int | None = None
    limit: int | None = None
    width: int | None = None
    over: str = "sequence"  # or "source", "encoder"
    prefill: int | None = None
    both_ways: bool = False

    def entries_at(self, context: int) -> int:
        """Entries looked at after `context` tokens of the sequence."""
        if self.over != "sequence":
            return 0
        if not self.stride:
            return 1
        entries = (context if self.window is None else min(context, self.window)) // self.stride
        return entries if self.limit is None else min(entries, self.limit)

    def entries_in_prompt(self, tokens: int) -> int:
        """Entries looked at by all tokens of a prompt together: the sum of those at t, for t from 1 to `tokens`.

        Each token sees itself. State work (stride 0) is left out.
        """
        if not self.stride or self.over != "sequence":
            return 0
        if self.both_ways:
            return tokens * self.entries_at(tokens)
        full = self._full_at()
        growing = tokens if full is None else min(tokens, full)
        whole, rest = divmod(growing, self.stride)
        summed = self.stride * whole * (whole - 1) // 2 + whole * (rest + 1)
        return summed + (tokens - growing) * self.entries_at(tokens)

    def _full_at(self) -> int | None:
        """The context from which on no more entries are looked at, or None where there is no bound."""
        bounds = (self.window, None if self.limit is None else self.limit * self.stride)
        return min((b for b in bounds if b is not None), default=None)

    def bytes_at(self, context: int, cache_width: float = CACHE_WIDTH) -> float:
        """Bytes loaded for one token."""
        return self.elements * self.entries_at(context) * (cache_width if self.width is None else self.width)
