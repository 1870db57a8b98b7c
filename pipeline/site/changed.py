"""What changed from the snapshot before to this one, as a page and as a feed, and which snapshots know a design."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import AtlasError
from pipeline.site.gather import Design, Gathered, opened
from pipeline.site.html import esc, link, section, table
from pipeline.site.shell import Page
from pipeline.store import diff, shelf, trusted, versions
from pipeline.text import terminal

if TYPE_CHECKING:
    from pipeline.store.diff import Change, Difference

MOST = 200
FIRST_SEEN = f"<p>{link('first-seen.html', 'Model types, classes and keys by the day they were first seen')}</p>"
History = Mapping[str, tuple[str, ...]]
"""Snapshots that know a design, the first first."""


def before(home: Path, snapshot: str) -> tuple[Difference | None, str]:
    """The difference from the snapshot before this one; or nothing, and why."""
    names = standing(home)
    if snapshot not in names or names.index(snapshot) == 0:
        return None, f"{snapshot} is the first snapshot here: there is nothing to compare it with."
    earlier = names[names.index(snapshot) - 1]
    try:
        return diff.diff(home, earlier, snapshot), ""
    except AtlasError as error:
        return None, f"{earlier} cannot be compared with {snapshot}: {error}"


def standing(home: Path) -> list[str]:
    """The snapshots that were not taken back, by date."""
    index = shelf.read(shelf.folder(home))
    return sorted((e.id for e in index.snapshots if e.id not in index.retracted), key=shelf.order)


def history(home: Path, snapshot: str, designs: list[Design]) -> tuple[History, int]:
    """For each design the snapshots up to this one that know it, and how many could be read."""
    found: dict[str, list[str]] = {d.design_id: [] for d in designs}
    read = 0
    for each in [s for s in standing(home) if shelf.order(s) <= shelf.order(snapshot)]:
        known = _designs_of(home, each)
        read += known is not None
        for design_id in found.keys() & (known or frozenset()):
            found[design_id].append(each)
    return {k: tuple(v) for k, v in found.items()}, read


def _designs_of(home: Path, snapshot: str) -> frozenset[str] | None:
    """The designs of a snapshot; nothing where its file is damaged or of another schema."""
    path = kept(home, snapshot)
    if path is None:
        return None
    with opened(path) as con:
        return frozenset(d for (d,) in con.execute("SELECT design_id FROM designs").fetchall())


def kept(home: Path, snapshot: str) -> Path | None:
    """The file of a snapshot; nothing where it is damaged or of another schema."""
    place = shelf.folder(home)
    try:
        entry = shelf.read(place).entry(snapshot)
        versions.require_readable(entry.id, entry.schema_version)
        (path,) = trusted.checked(place, [entry])
    except AtlasError:
        return None
    return path


def told(design_id: str, found: History, read: int) -> list[str]:
    """The history of a design in sentences."""
    known = found.get(design_id, ())
    if not known:
        return ["The snapshot this page was made from is not on the shelf here."]
    first = f"First in snapshot {known[0]}; in {len(known)} of the {read} snapshots kept here."
    return [first, "Snapshots of an older schema may call the same design by another id."] if read > 1 else [first]


def page(g: Gathered, found: Difference | None, why: str) -> Page:
    """The page; a sentence where there is nothing to compare with."""
    crumbs = (("index.html", "Atlas"),)
    if found is None:
        body = f'<p class="lead">{esc(why)}</p>{FIRST_SEEN}'
        return Page("changes.html", "What changed", body, crumbs, data="feed.xml")
    lead = (
        f'<p class="lead">From snapshot {esc(found.before)} to {esc(found.after)}. <a href="feed.xml">As a feed</a></p>'
    )
    return Page(
        "changes.html", "What changed", lead + FIRST_SEEN + _hub(g, found) + _ours(found), crumbs, data="feed.xml"
    )


def _hub(g: Gathered, found: Difference) -> str:
    hub = found.hub
    place = {m["repo_id"]: m["design_id"] for m in g.models if m["design_id"]}
    parts = [
        section("added", f"Models more ({len(hub.added):,})", _names(hub.added, place)),
        section("removed", f"Models fewer ({len(hub.removed):,})", _names(hub.removed, {})),
        section("configs", f"Models with another config ({len(hub.configs):,})", _names(hub.configs, place)),
        section("values", "Values that changed on the Hub", _changes(hub.columns)),
    ]
    return "".join(parts)


def _ours(found: Difference) -> str:
    said = f"<p>{found.ours.changed:,} of {found.ours.configs:,} configs that both hold are read differently.</p>"
    return section("ours", "Changes of our rules", said + _changes(found.ours.columns))


def _names(names: list[str], place: Mapping[str, str]) -> str:
    if not names:
        return "<p>None.</p>"
    items = "".join(f"<li>{_name(n, place)}</li>" for n in names[:MOST])
    more = f"<p>and {len(names) - MOST:,} more</p>" if len(names) > MOST else ""
    return f"<ul>{items}</ul>{more}"


def _name(name: str, place: Mapping[str, str]) -> str:
    return f'<a href="designs/{place[name]}.html">{esc(name)}</a>' if name in place else esc(name)


def _changes(columns: list[Change]) -> str:
    rows = [
        (
            f"<code>{esc(c.column)}</code>",
            f"{c.rows:,}",
            "<br>".join(f"{esc(e.repo_id)}: {esc(e.before)} → {esc(e.after)}" for e in c.examples),
        )
        for c in columns
    ]
    return table(("Column", "Models", "For example"), rows, "Columns that changed", (1,)) if rows else "<p>None.</p>"


def feed(g: Gathered, found: Difference | None, why: str) -> str:
    """An Atom feed with an entry for what changed; its time is the snapshot's day, so that equal snapshots agree."""
    said = why if found is None else _sentence(found)
    added = "" if found is None else "".join(f"<li>{esc(n)}</li>" for n in found.hub.added[:MOST])
    at = f"{g.snapshot[:10]}T00:00:00Z"
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<title>LLM architecture atlas: what changed</title><id>urn:llm-architecture-atlas</id><updated>{at}</updated>"
        '<link rel="self" href="feed.xml"/><author><name>LLM architecture atlas</name></author>'
        f"<entry><title>{_xml(f'Snapshot {g.snapshot}')}</title><id>urn:llm-architecture-atlas:{_xml(g.snapshot)}</id>"
        f'<updated>{at}</updated><link href="changes.html"/><summary>{_xml(said)}</summary>'
        f'<content type="html">{_xml(f"<p>{esc(said)}</p><ul>{added}</ul>")}</content></entry></feed>\n'
    )


def _sentence(found: Difference) -> str:
    hub = found.hub
    more, fewer, other = (
        f"{len(hub.added):,} models more",
        f"{len(hub.removed):,} fewer",
        f"{len(hub.configs):,} with another config",
    )
    return f"{more}, {fewer}, {other}; {found.ours.changed:,} configs are read differently."


def _xml(text: str) -> str:
    return escape(terminal(text))
