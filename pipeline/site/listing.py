"""The one table of models and designs: what its columns are, its rows as data, and its first rows as a page."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from pipeline.site import words
from pipeline.site.gather import Gathered, Row, licence
from pipeline.site.html import cell, esc, table
from pipeline.site.shell import Page
from pipeline.text import json_line, terminal
from pipeline.units import binary, scaled

FIRST = 100


class Column(NamedTuple):
    """A column of the table: how it is called, what it is (text, word, count, bytes, day), and whether it is shown."""

    key: str
    title: str
    form: str
    shown: bool = True


COLUMNS = (
    Column("name", "Model", "text"),
    Column("total", "Parameters", "count"),
    Column("active", "Active", "count"),
    Column("attention", "Attention", "word"),
    Column("mixers", "Mixers", "text"),
    Column("experts", "Experts", "text"),
    Column("growth", "Cache per token", "bytes"),
    Column("kv128k", "Cache at 128K", "bytes"),
    Column("context", "Context", "number"),
    Column("layers", "Layers", "number", shown=False),
    Column("width", "Width", "number", shown=False),
    Column("kind", "Kind", "word", shown=False),
    Column("licence", "Licence", "word", shown=False),
    Column("quant", "Quantization", "word", shown=False),
    Column("stored", "As stored", "bytes", shown=False),
    Column("date", "On the Hub since", "day", shown=False),
    Column("type", "Family", "word", shown=False),
    Column("verdict", "Verdict", "word", shown=False),
    Column("check", "Check", "word", shown=False),
)


def row(m: Row) -> list[Any]:
    """The values of a model, in the order of the columns; names are cleaned of what is invisible."""
    created = m["created_at"].date().isoformat() if m["created_at"] else None
    known = m["design_id"] is not None
    return [
        terminal(m["repo_id"]), m["params_total"], words.active(m) if known else None,
        m["attention_kind"], words.mixers(m) if known else (m["refusal_reason"] or m["outcome"]),
        words.experts(m) if known else None, m["growth_bytes_per_token"], m["kv_bytes_128k"], m["max_context"],
        m["n_layers"], m["d_model"], kind(m), licence(m), m["quant_method"], m["weight_bytes_checkpoint"], created,
        m["model_type"], m["verdict"], m["check"],
    ]  # fmt: skip


def kind(m: Row) -> str | None:
    """What the model is: the snapshot's word, or, where it has none, what its mask says."""
    stated = m.get("kind")
    return (
        stated
        if stated or m["design_id"] is None
        else {"bidirectional": "encoder"}.get(m["attention_mask"] or "", "decoder")
    )


def data(g: Gathered) -> str:
    """A script that hands the table its rows by column: texts once each, by number; it loads from a disk as well."""
    order = {d.design_id: n for n, d in enumerate(g.designs)}
    rows = [row(m) for m in g.models]
    columns = {c.key: _column(c, [r[i] for r in rows]) for i, c in enumerate(COLUMNS)}
    made = {
        "columns": [(c.key, c.title, c.form, c.shown) for c in COLUMNS],
        "rows": len(rows),
        "values": columns,
        "design": [order.get(m["design_id"], -1) for m in g.models],
        "designs": [
            (d.design_id, terminal(d.name), [(s.repeats, s.elements, s.stride, s.window, s.width) for s in d.states])
            for d in g.designs
        ],
    }
    return f"atlasData={json_line(msgspec.json.encode(made).decode())};\n"


def _column(c: Column, values: list[Any]) -> Any:
    if c.form not in ("word", "text", "day"):
        return values
    words_ = sorted({v for v in values if v is not None})
    place = {w: n for n, w in enumerate(words_)}
    return {"words": words_, "at": [-1 if v is None else place[v] for v in values]}


def page(g: Gathered) -> Page:
    """The table with its first rows, whole without a script; a script takes it over."""
    order = sorted(
        (m for m in g.models if m["design_id"]), key=lambda m: (-(m["downloads"] or 0), m["repo_id"].casefold())
    )
    shown = [c for c in COLUMNS if c.shown]
    rows = [tuple(_cell(m, c, v) for c, v in zip(COLUMNS, row(m), strict=True) if c.shown) for m in order[:FIRST]]
    numeric = [i for i, c in enumerate(shown) if c.form in ("count", "bytes", "number")]
    made = table([c.title for c in shown], rows, "Models", numeric)
    told = f"{len(g.models):,} models of {len(g.designs):,} designs in snapshot {g.snapshot}"
    more = (
        ""
        if len(order) <= FIRST
        else f"<p class='noscript'>The first {FIRST} are shown; a script shows all, "
        "and <a href='data.html'>the data</a> has them in any case.</p>"
    )
    body = f'<p class="lead">{esc(told)}.</p><div id="table" data-shown="{FIRST}">{made}</div>{more}'
    return Page("models.html", "Models", body, (("index.html", "Atlas"),), data="data/models.json", wide=True)


def _cell(m: Row, c: Column, value: Any) -> str:
    if c.key == "name":
        return f'<a href="designs/{esc(m["design_id"])}.html">{esc(m["repo_id"])}</a>'
    if value is None:
        return cell(None)
    return binary(value) if c.form == "bytes" else scaled(value) if c.form == "count" else cell(value)
