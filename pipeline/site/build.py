"""Builds the site of a snapshot: every file in memory, then what changed is written.

Equal snapshots give equal bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.resources import files as resources
from pathlib import Path
from typing import NamedTuple

from pipeline import durable
from pipeline.drawing import picture
from pipeline.errors import Invalid
from pipeline.guide import render
from pipeline.site import book, changed, listing, newsroom, pages, programs, search, sheet, trends, words
from pipeline.site.gather import Gathered, gather
from pipeline.site.shell import Page, framed

SITE = Path("reports") / "site"
ASSETS = ("site.css", "site.js", "icon.svg")
MANIFEST = "files.txt"
"""Names every file of the site, so that a later build removes what it no longer makes and nothing else."""


NEEDED = frozenset({"README.md", "glossary.md"})
"""Pages of the guide that every page of the site leads to; others are left out where a snapshot cannot fill them."""


class Site(NamedTuple):
    """Files by path, and what they were made from."""

    gathered: Gathered
    files: dict[str, str | bytes]
    left_out: tuple[str, ...] = ()
    """Pages of the guide that this snapshot cannot fill, each with the reason."""


class Built(NamedTuple):
    """The first page, how many files there are, and how many changed."""

    first: Path
    files: int
    changed: int
    size: int
    left_out: tuple[str, ...] = ()


def build(home: Path, snapshot_path: Path, out: Path | None = None, *, parquet: bool = True) -> Built:
    """Write the site of a snapshot under the home, or to `out`.

    Raises:
        Invalid: the guide has no index or no glossary; nothing is written.
        AtlasError: the site cannot be written.
    """
    made = made_of(home, snapshot_path, parquet=parquet)
    return write(out or home / SITE, made.files)._replace(left_out=made.left_out)


def write(place: Path, files: dict[str, str | bytes]) -> Built:
    """Write what changed and remove what an earlier build names and this one does not make. Raises `AtlasError`."""
    made = {**files, MANIFEST: "".join(f"{path}\n" for path in sorted((*files, MANIFEST)))}
    stale = _stale(place, made)
    changed_ = [path for path, content in made.items() if not _is_there(place / path, content)]
    for folder in sorted({(place / path).parent for path in changed_}):
        folder.mkdir(parents=True, exist_ok=True)
    for path in changed_:
        durable.write_atomically(place / path, made[path], point="site.file")
    for path in stale:
        durable.remove(path, point="site.stale")
    return Built(place / "index.html", len(made), len(changed_), sum(len(_bytes(c)) for c in made.values()))


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _is_there(path: Path, content: str | bytes) -> bool:
    return path.is_file() and path.read_bytes() == _bytes(content)


def _stale(place: Path, made: dict[str, str | bytes]) -> list[Path]:
    """Files that an earlier build names and this one does not make; nothing outside the folder is touched."""
    listed = (place / MANIFEST).read_text("utf-8").splitlines() if (place / MANIFEST).is_file() else []
    inside = place.resolve()
    paths = [(place / line).resolve() for line in listed if line not in made]
    return [p for p in paths if p.is_relative_to(inside) and p.is_file()]


def made_of(home: Path, snapshot_path: Path, *, parquet: bool = True) -> Site:
    """Every file of the site, in memory. Raises `Invalid` where the guide has no index or glossary."""
    g = gather(snapshot_path)
    report = render.rendered(snapshot_path)
    left_out = tuple(f"page {f.slug} cannot be built: {f.reason}" for f in report.failed)
    if not report.files.keys() >= NEEDED:
        raise Invalid("\n".join(left_out))
    found, why = changed.before(home, g.snapshot)
    made: dict[str, str | bytes] = {f"assets/{name}": _asset(name) for name in ASSETS}
    made |= {f"guide/{path}": text for path, text in report.files.items() if not path.endswith(".md")}
    sheets = {d.name.partition("/")[2]: sheet.path(d) for d in g.designs}
    guide = book.pages({p: t for p, t in report.files.items() if p.endswith(".md")}, sheets)
    own = [pages.home(g), listing.page(g), pages.signs(), pages.compare(), pages.search(), *pages.gallery(g)]
    own += [changed.page(g, found, why), trends.page(home, g.snapshot), newsroom.page(snapshot_path)]
    made |= dict(_designs(home, g))
    searched = [(p.path, p.title, p.body) for p in (*guide, *own) if "/models/" not in p.path]
    made |= {
        "data/table.js": listing.data(g), "data/models.json": programs.index(g), "schema.json": programs.schema(),
        "feed.xml": changed.feed(g, found, why), "llms.txt": programs.llms(g, [(p.title, p.path) for p in guide]),
        "data/search.js": search.index(g, searched),
    }  # fmt: skip
    tables = _tables(snapshot_path) if parquet else {}
    made |= {f"parquet/{name}.parquet": content for name, content in tables.items()}
    made |= {p.path: framed(p, _about(g)) for p in (*own, *guide)}
    weights = {path: len(_bytes(content)) for path, content in made.items()}
    data = pages.data(weights, {name: len(content) for name, content in tables.items()})
    made[data.path] = framed(data, _about(g))
    return Site(g, made, left_out)


def _about(g: Gathered) -> str:
    return (
        f"Snapshot {g.snapshot} from {g.source}, schema {g.schema_version}, atlas {g.code_version}. Cite as: {g.cited}"
    )


def _designs(home: Path, g: Gathered) -> Iterator[tuple[str, str]]:
    """Sheet, drawing and data of every design."""
    near = words.nearest(g.designs)
    known, read = changed.history(home, g.snapshot, g.designs)
    for d in g.designs:
        drawn = picture.draw(d.derived, d.name) if d.derived else None
        if drawn:
            yield sheet.path(d, "svg"), drawn
        page: Page = sheet.page(d, g, near[d.design_id], changed.told(d.design_id, known, read))
        yield page.path, framed(page, _about(g))
        yield sheet.path(d, "json"), programs.design(d, g)


def _asset(name: str) -> str:
    return (resources("pipeline.site") / "assets" / name).read_text("utf-8")


def _tables(snapshot_path: Path) -> dict[str, bytes]:
    """The tables of the snapshot as Parquet."""
    from pipeline.export import parquet

    with tempfile.TemporaryDirectory(prefix="atlas-site-") as folder:
        parquet.tables(snapshot_path, Path(folder))
        return {p.stem: p.read_bytes() for p in sorted(Path(folder).glob("*.parquet"))}
