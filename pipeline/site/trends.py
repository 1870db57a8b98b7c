"""The kept snapshots of a home in a row: how many models each has, how they are built, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb

from pipeline.site import changed
from pipeline.site.gather import Row, opened
from pipeline.site.html import cell, esc, link, section, table
from pipeline.site.shell import Page
from pipeline.store import shelf
from pipeline.units import binary, scaled

GUIDE = "guide/trends.html"

_COUNTED = """SELECT count(*) AS models, count(DISTINCT design_id) AS designs,
  count(*) FILTER (verdict = 'known') AS known, count(*) FILTER (verdict = 'refused') AS refused FROM fingerprints"""
_MADE = """WITH d AS (SELECT DISTINCT ON (design_id) * FROM fingerprints
  WHERE verdict = 'known' AND "check" <> 'off' ORDER BY design_id, repo_id)
SELECT count(*) AS designs, avg((attention_kind = 'gqa')::INT) AS gqa, avg((attention_kind = 'mla')::INT) AS mla,
  avg(is_moe::INT) AS moe, avg((sliding_window IS NOT NULL)::INT) AS windows,
  avg((map_contains(layer_mix, 'ssm') OR map_contains(layer_mix, 'linear_attention'))::INT) AS recurrent,
  quantile_disc(params_total, 0.5) AS total, quantile_disc(max_context, 0.5) AS context,
  quantile_disc(growth_bytes_per_token, 0.5) AS growth FROM d"""


class Shown(NamedTuple):
    """A column of a table: its head, the column of the query, and how a value is written."""

    head: str
    column: str
    form: Callable[[object], str] = cell


def _share(value: object) -> str:
    return cell(None) if not isinstance(value, float) else f"{value:.1%}"


def _weights(value: object) -> str:
    return cell(None) if not isinstance(value, int) else esc(scaled(value))


def _bytes(value: object) -> str:
    return cell(None) if not isinstance(value, (int, float)) else esc(binary(value))


COUNTED = (Shown("Models", "models"), Shown("Designs", "designs"), Shown("Known", "known"), Shown("Refused", "refused"))
MADE = (
    Shown("Designs", "designs"), Shown("GQA", "gqa", _share), Shown("MLA", "mla", _share),
    Shown("Experts", "moe", _share), Shown("Windows", "windows", _share), Shown("Recurrent", "recurrent", _share),
    Shown("Parameters", "total", _weights), Shown("Context stated", "context"),
    Shown("Growth a token", "growth", _bytes),
)  # fmt: skip


def page(home: Path, snapshot: str) -> Page:
    """The page: every kept snapshot up to this one, the last one first."""
    names = [s for s in changed.standing(home) if shelf.order(s) <= shelf.order(snapshot)]
    files = {name: path for name in reversed(names) if (path := changed.kept(home, name)) is not None}
    lead = f'<p class="lead">{_lead(len(files), len(names))} {link(GUIDE, "By release date")} stands in the guide.</p>'
    body = lead + _table(files, "models", "Models", _COUNTED, COUNTED)
    return Page("trends.html", "Trends", body + _table(files, "designs", _OF_DESIGNS, _MADE, MADE), _CRUMBS, wide=True)


_CRUMBS = (("index.html", "Atlas"),)
_OF_DESIGNS = "Designs that are known: shares and medians"


def _lead(read: int, kept: int) -> str:
    if not read:
        return "No snapshot of this home can be compared."
    left = f"; {kept - read:,} more cannot be read here" if kept > read else ""
    alone = " One snapshot makes no trend: the next refresh adds a row." if read == 1 else ""
    return (
        f"{read:,} kept snapshot{'s' if read > 1 else ''}{left}.{alone} Models differ by source, as the selections do."
    )


def _table(files: dict[str, Path], anchor: str, title: str, sql: str, columns: tuple[Shown, ...]) -> str:
    rows = [(esc(name), *(c.form(found[c.column]) for c in columns)) for name, found in _asked(files, sql)]
    heads = ("Snapshot", *(c.head for c in columns))
    return section(anchor, title, table(heads, rows, title, range(1, len(heads)))) if rows else ""


def _asked(files: dict[str, Path], sql: str) -> list[tuple[str, Row]]:
    """What a query gives in each file; a file without its columns is left out."""
    made: list[tuple[str, Row]] = []
    for name, path in files.items():
        with opened(path) as con:
            try:
                found = con.execute(sql)
            except duckdb.BinderException:
                continue
            heads = [d[0] for d in found.description or ()]
            made += [(name, dict(zip(heads, values, strict=True))) for values in found.fetchall()]
    return made
