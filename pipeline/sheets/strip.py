"""The layers of a model as a strip of marks, and each kind of layer in a line."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

from atlas.numbers.fingerprint import LayerRow
from pipeline.sheets.lines import BAR, DIM, WIDTH, Line, title

MARKS = {
    "full_attention": "█",
    "sliding_attention": "▃",
    "chunked_attention": "▄",
    "sparse_attention": "▓",
    "compressed_attention": "▒",
    "cross_attention": "x",
    "linear_attention": "~",
    "ssm": "≈",
    "conv": "c",
    "none": "·",
}


def strip(rows: list[LayerRow], *, whole: bool) -> Iterator[Line]:
    """One mark per layer where they differ, then each kind of layer once, or every layer, equal neighbours together."""
    yield title("Layers", "cache per held token")
    kinds: dict[tuple[Any, ...], list[LayerRow]] = {}
    for r in rows:
        kinds.setdefault(_same(r), []).append(r)
    if len(kinds) > 1:
        yield from _marks(rows)
    if whole:
        yield from _runs(rows)
    else:
        for same in kinds.values():
            yield from _layer(same[0], f"{len(same)}x")
    yield []


def _marks(rows: list[LayerRow]) -> Iterator[Line]:
    marks: dict[int, str] = {}
    for r in rows:
        marks.setdefault(r.index, MARKS[r.mixer])
    strip = "".join(marks.values())
    for start in range(0, len(strip), WIDTH - 4):
        yield [("  " + strip[start : start + WIDTH - 4], BAR)]


def _runs(rows: list[LayerRow]) -> Iterator[Line]:
    """Every layer by its index; neighbours that are the same, part for part, by the first and the last of them."""
    layers = [list(parts) for _, parts in itertools.groupby(rows, lambda r: r.index)]
    for _, alike in itertools.groupby(layers, lambda parts: [_same(r) for r in parts]):
        first, *others = alike
        place = f"{first[0].index}-{others[-1][0].index}" if others else f"{first[0].index}"
        for r in first:
            yield from _layer(r, place)


def _layer(r: LayerRow, place: str) -> Iterator[Line]:
    first, *more = textwrap.wrap(_mixer(r), 43)
    yield [
        (f"  {place:>7} {MARKS[r.mixer]} ", BAR),
        (f"{first:<43} ", ""),
        (f"{r.ffn:<5}", ""),
        (f"{_held(r):>18}", DIM),
    ]
    yield from ([(" " * 12 + line, "")] for line in more)


def _same(r: LayerRow) -> tuple[Any, ...]:
    return tuple(getattr(r, k) for k in LayerRow.__struct_fields__[1:])


def _mixer(r: LayerRow) -> str:
    said = r.mixer.replace("_", " ")
    if r.n_q_heads:
        said += (
            f", {r.attention_kind} {r.n_q_heads}" + (f"/{r.n_kv_heads}" if r.n_kv_heads else "") + f" x {r.head_dim}"
        )
    if r.window:
        said += f", window {r.window}"
    return said + (f", cache of layer {r.kv_shared_from}" if r.kv_shared_from is not None else "")


def _held(r: LayerRow) -> str:
    if r.state_bytes_constant and not r.kv_bytes_per_held_token:
        return f"{r.state_bytes_constant:,} B fixed"
    return f"{r.kv_bytes_per_held_token:,} B" if r.kv_bytes_per_held_token else ""
