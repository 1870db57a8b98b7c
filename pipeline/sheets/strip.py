"""The layers of a model as a strip of marks, and each kind of layer in a line."""

from __future__ import annotations

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
    """One mark per layer by its mixer, then each kind of layer once (or, where asked for, every layer)."""
    yield title("Layers", "cache per held token")
    marks: dict[int, str] = {}
    for r in rows:
        marks.setdefault(r.index, MARKS[r.mixer])
    strip = "".join(marks.values())
    for start in range(0, len(strip), WIDTH - 4):
        yield [("  " + strip[start : start + WIDTH - 4], BAR)]
    kinds: dict[tuple[Any, ...], list[LayerRow]] = {}
    for r in rows:
        kinds.setdefault((r.index,) if whole else _same(r), []).append(r)
    for same in kinds.values():
        for r in same if whole else same[:1]:
            yield from _layer(r, f"{r.index:>4} " if whole else f"{len(same):>4}x")
    yield []


def _layer(r: LayerRow, place: str) -> Iterator[Line]:
    first, *more = textwrap.wrap(_mixer(r), 45)
    yield [
        (f"  {place} {MARKS[r.mixer]} ", BAR),
        (f"{first:<45} ", ""),
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
