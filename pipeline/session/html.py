"""What a notebook shows: a heading, a small chart of bars, a table; strangers' text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import polars as pl

from atlas.numbers.fingerprint import Fingerprint
from pipeline.sheets.sheet import COMPONENTS
from pipeline.sheets.verdicts import VERDICTS
from pipeline.text import shorten, terminal
from pipeline.units import binary

_WIDTH, _BAR, _ROW = 420, 200, 18


def _said(text: object, most: int = 120) -> str:
    return escape(shorten(terminal(str(text)), most))


def bars(rows: Sequence[tuple[str, int]], alt: str) -> str:
    """A chart of horizontal bars as SVG, each with its label and number."""
    most = max((n for _, n in rows), default=0)
    drawn = "".join(
        f'<text x="0" y="{_ROW * i + 13}">{_said(label, 22)}</text>'
        f'<rect x="130" y="{_ROW * i + 3}" width="{_BAR * n / most if most else 0:.1f}" height="12" fill="#4c78a8"/>'
        f'<text x="{134 + (_BAR * n / most if most else 0):.1f}" y="{_ROW * i + 13}">{n:,}</text>'
        for i, (label, n) in enumerate(rows)
    )
    size = f'width="{_WIDTH}" height="{_ROW * len(rows)}" font-size="11" font-family="sans-serif"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(alt)}" {size}>{drawn}</svg>'


def _table(rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th style='text-align:left'>{_said(k)}</th><td>{_said(v)}</td></tr>" for k, v in rows)
    return f"<table>{cells}</table>"


def snapshot(name: str, models: int, kinds: Sequence[tuple[str, int]]) -> str:
    """A snapshot: how many models, by kind of attention."""
    return f"<h4>Snapshot {_said(name)}: {models:,} models</h4>{bars(kinds, 'models by kind of attention')}"


def model(name: str, f: Fingerprint) -> str:
    """A model: verdict, the figures that lead, and its weights by component."""
    head = f"<h4>{_said(name)}</h4><p>{_said(VERDICTS[str(f.verdict)], 200)}</p>"
    if f.params_total is None:
        return f"{head}<p>{_said(f.refusal_reason or '', 400)}</p>"
    rows = [("parameters", f"{f.params_total:,}"), ("layers", str(f.layer_pattern))]
    if f.kv_bytes_per_token is not None:
        rows.append(("cache a token adds, bf16", f"{f.kv_bytes_per_token:,} bytes"))
    if f.kv_bytes_128k is not None:
        rows.append(("cache at 128K, bf16", binary(f.kv_bytes_128k)))
    parts = [(label, n) for key, label in COMPONENTS.items() if (n := getattr(f, f"params_{key}"))]
    return head + _table(rows) + bars(parts, "weights by component")


def comparison(frame: pl.DataFrame) -> str:
    """Models side by side; what differs is strong."""
    names = frame.columns[2:-1]
    head = "".join(f"<th>{_said(n)}</th>" for n in ("", *names))
    rows = "".join(f"<tr>{''.join(_cell(c, strong=r[-1]) for c in r[1:-1])}</tr>" for r in frame.iter_rows())
    return f"<table><tr>{head}</tr>{rows}</table>"


def _cell(value: object, *, strong: bool) -> str:
    said = _said("-" if value is None else value)
    return f"<td>{f'<b>{said}</b>' if strong else said}</td>"
