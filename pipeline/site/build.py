"""Builds the site of a snapshot, file by file, and writes what changed.

Equal snapshots give equal bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator
from importlib.resources import files as resources
from pathlib import Path
from typing import NamedTuple

from pipeline import durable
from pipeline.errors import Invalid
from pipeline.guide import render
from pipeline.guide.render import Report
from pipeline.site import book, changed, designs, listing, newsroom, pages, programs, search, sheet, trends, words
from pipeline.site.designs import Wanted
from pipeline.site.gather import Gathered, gather
from pipeline.site.shell import framed

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
    guide = _guide(home, snapshot_path)
    found = files(home, snapshot_path, gather(snapshot_path), guide, parquet=parquet)
    return write(out or home / SITE, found)._replace(left_out=_left_out(guide))


def write(place: Path, made: Iterable[tuple[str, str | bytes]]) -> Built:
    """Write what changed, as it comes, and remove what an earlier build names and this one does not make.

    Raises `AtlasError`.
    """
    before = (place / MANIFEST).read_text("utf-8").splitlines() if (place / MANIFEST).is_file() else []
    sizes: dict[str, int] = {}
    changed_ = 0
    for path, content in made:
        whole = _bytes(content)
        sizes[path] = len(whole)
        changed_ += _written(place / path, whole)
    manifest = "".join(f"{path}\n" for path in sorted((*sizes, MANIFEST))).encode()
    changed_ += _written(place / MANIFEST, manifest)
    for path in _stale(place, before, {*sizes, MANIFEST}):
        durable.remove(path, point="site.stale")
    return Built(place / "index.html", len(sizes) + 1, changed_, sum(sizes.values()) + len(manifest))


def _written(path: Path, content: bytes) -> bool:
    """Write a file if it is not there already. Returns whether it was written."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.write_derived(path, content, point="site.file")
    return True


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def _stale(place: Path, before: list[str], made: Collection[str]) -> list[Path]:
    """Files that an earlier build names and this one does not make; nothing outside the folder is touched."""
    inside = place.resolve()
    paths = [(place / line).resolve() for line in before if line not in made]
    return [p for p in paths if p.is_relative_to(inside) and p.is_file()]


def made_of(home: Path, snapshot_path: Path, *, parquet: bool = True) -> Site:
    """Every file of the site, in memory. Raises `Invalid` where the guide has no index or glossary."""
    g, guide = gather(snapshot_path), _guide(home, snapshot_path)
    return Site(g, dict(files(home, snapshot_path, g, guide, parquet=parquet)), _left_out(guide))


def _guide(home: Path, snapshot_path: Path) -> Report:
    """The guide; what lies under the home is taken where it is what the snapshot gives."""
    report = render.current(home, snapshot_path)
    if not report.files.keys() >= NEEDED:
        raise Invalid("\n".join(_left_out(report)))
    return report


def _left_out(report: Report) -> tuple[str, ...]:
    return tuple(f"page {f.slug} cannot be built: {f.reason}" for f in report.failed)


def files(
    home: Path, snapshot_path: Path, g: Gathered, guide: Report, *, parquet: bool = True
) -> Iterator[tuple[str, str | bytes]]:
    """Path and content of every file of the site; those of designs come first and are not held."""
    known, read = changed.history(home, g.snapshot, g.designs)
    near = words.nearest(g.designs)
    wanted = [Wanted(d, near[d.design_id], changed.told(d.design_id, known, read)) for d in g.designs]
    drawn: set[str] = set()
    for path, text in designs.files(snapshot_path, g.about, wanted):
        drawn |= {path.partition("/")[2].removesuffix(".svg")} if path.endswith(".svg") else set()
        yield path, text
    tables = _tables(snapshot_path) if parquet else {}
    yield from ((f"parquet/{name}.parquet", content) for name, content in tables.items())
    made = _shared(home, snapshot_path, g, guide, drawn)
    yield from made.items()
    weights = {path: len(_bytes(content)) for path, content in made.items()}
    data = pages.data(weights, {name: len(content) for name, content in tables.items()})
    yield data.path, framed(data, str(g.about))


def _shared(
    home: Path, snapshot_path: Path, g: Gathered, report: Report, drawn: Collection[str]
) -> dict[str, str | bytes]:
    """Every file that belongs to no design."""
    found, why = changed.before(home, g.snapshot)
    made: dict[str, str | bytes] = {f"assets/{name}": _asset(name) for name in ASSETS}
    made |= {f"guide/{path}": text for path, text in report.files.items() if not path.endswith(".md")}
    sheets = {d.name.partition("/")[2]: sheet.path(d) for d in g.designs}
    guide = book.pages({p: t for p, t in report.files.items() if p.endswith(".md")}, sheets)
    own = [pages.home(g, drawn), listing.page(g), pages.signs(), pages.compare(), pages.search()]
    own += [*pages.gallery(g, drawn), changed.page(g, found, why)]
    own += [trends.page(home, g.snapshot), newsroom.page(snapshot_path)]
    searched = [(p.path, p.title, p.body) for p in (*guide, *own) if "/models/" not in p.path]
    made |= {
        "data/table.js": listing.data(g), "data/models.json": programs.index(g), "schema.json": programs.schema(),
        "feed.xml": changed.feed(g, found, why), "llms.txt": programs.llms(g, [(p.title, p.path) for p in guide]),
        "data/search.js": search.index(g, searched),
    }  # fmt: skip
    return made | {p.path: framed(p, str(g.about)) for p in (*own, *guide)}


def _asset(name: str) -> str:
    return (resources("pipeline.site") / "assets" / name).read_text("utf-8")


def _tables(snapshot_path: Path) -> dict[str, bytes]:
    """The tables of the snapshot as Parquet."""
    from pipeline.export import parquet

    with tempfile.TemporaryDirectory(prefix="atlas-site-") as folder:
        parquet.tables(snapshot_path, Path(folder))
        return {p.stem: p.read_bytes() for p in sorted(Path(folder).glob("*.parquet"))}
