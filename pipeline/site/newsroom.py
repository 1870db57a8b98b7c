"""What was seen for the first time: model_types, classes and keys that nothing reads, each with its day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.site.gather import opened
from pipeline.site.html import cell, esc, section, table
from pipeline.site.shell import Page

MOST = 200
PATH = "first-seen.html"
TITLES = {"model_type": "Model types", "class": "Classes", "key": "Keys that nothing reads"}
_ASKED = (
    "SELECT model_type, name, first_seen, models, downloads, count(*) OVER () AS of_all FROM sightings"
    f" WHERE kind = ? ORDER BY first_seen DESC, downloads DESC NULLS LAST, models DESC, model_type, name LIMIT {MOST}"
)


def page(snapshot_path: Path) -> Page:
    """The page: the newest day first, and of a day the most downloaded."""
    with opened(snapshot_path) as con:
        parts = [_part(kind, title, con.execute(_ASKED, [kind]).fetchall()) for kind, title in TITLES.items()]
    lead = (
        '<p class="lead">Each with the day of the first snapshot kept here that had it, the most downloaded first. A'
        " key is one that no class of the model's family reads and that nobody has reviewed: how a new feature is"
        " noticed.</p>"
    )
    return Page(PATH, "First seen", lead + "".join(parts), (("index.html", "Atlas"), ("changes.html", "What changed")))


def _part(kind: str, title: str, found: list[tuple[Any, ...]]) -> str:
    if not found:
        return section(kind, title, "<p>None.</p>")
    rows = [
        (f"<code>{esc(name)}</code>", esc(of), esc(day), cell(models), cell(downloads))
        for of, name, day, models, downloads, _ in found
    ]
    head = ("Name", "Model type", "First seen", "Repositories", "Downloads")
    more = found[0][-1] - len(found)
    told = f"<p>and {more:,} more</p>" if more else ""
    return section(kind, f"{title} ({found[0][-1]:,})", table(head, rows, title, (3, 4)) + told)
