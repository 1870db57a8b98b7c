"""Builds the guide: pages, charts and sheets, from one snapshot and nothing else, and writes them under the home.

A page that cannot be built says why and keeps its last version; the others are written. The same snapshot gives the
same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from pipeline.durable import telling, write_atomically
from pipeline.errors import AtlasError
from pipeline.guide import bind, kept, numerals, page, palette, prose, queries
from pipeline.guide.bind import Trace
from pipeline.guide.blocks import Links
from pipeline.guide.book import Book
from pipeline.guide.filling import CHARTS, MODELS, Filling
from pipeline.guide.kept import Drawings
from pipeline.guide.page import Page
from pipeline.guide.queries import Snapshot

GUIDE = Path("reports") / "guide"


class Built(NamedTuple):
    """One page as built: its files by path under the guide, and the trace of every value it prints."""

    slug: str
    files: dict[str, str]
    traces: tuple[Trace, ...]


class Begun(NamedTuple):
    """A page whose charts may still be drawn."""

    slug: str
    text: str
    charts: dict[str, Future[str]]
    traces: tuple[Trace, ...]

    def built(self) -> Built:
        """The page with its charts; raises what a drawing raised."""
        charts = {path: drawn.result() for path, drawn in self.charts.items()}
        return Built(self.slug, {f"{self.slug}.md": self.text, **charts}, self.traces)


class Failed(NamedTuple):
    """A page that cannot be built from this snapshot, and why."""

    slug: str
    reason: str


class Report(NamedTuple):
    """What came of a build: pages built, pages that kept their last version, and the files that changed."""

    snapshot: str
    built: tuple[Built, ...]
    failed: tuple[Failed, ...]
    changed: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, str]:
        """Every file of the guide by path, as built; the marks of origins belong to all pages."""
        marks = {f"{CHARTS}/{name}": text for name, text in palette.origin_marks().items()}
        return {path: text for b in self.built for path, text in b.files.items()} | marks


def build(home: Path, snapshot_path: Path) -> Report:
    """Build the guide and write what changed under the home. Pages that fail are in the report, not raised.

    Nothing is built where the last build stood on the same and its files are as it left them; a chart whose data, title
    and code are those of the last build is not drawn again.

    Raises:
        AtlasError: the guide cannot be written.
    """
    place = home / GUIDE
    stands_on, same, drawings = _last(place, snapshot_path)
    if same is not None and not _stale(place, same):
        return same
    report = _written(place, rendered(snapshot_path, existing=_existing(place), drawings=drawings))
    pages = {b.slug: {path: kept.digest(text.encode()) for path, text in b.files.items()} for b in report.built}
    kept.write(place, kept.Record("" if report.failed else stands_on, pages, drawings.charts))
    return report


def current(home: Path, snapshot_path: Path) -> Report:
    """The guide of a snapshot in memory, nothing written: as it lies under the home where that stands on the same.

    Else it is built, with the charts of the last build that would come out alike.
    """
    _, same, drawings = _last(home / GUIDE, snapshot_path)
    return same or rendered(snapshot_path, drawings=drawings)


def _last(place: Path, snapshot_path: Path) -> tuple[str, Report | None, Drawings]:
    """What a build stands on now; the last build where it stood on the same and lies as it left it; its charts."""
    record = kept.read(place)
    there = kept.files(place, record)
    stands_on = kept.stood_on(queries.digest(snapshot_path), page.folder())
    same = record.stood_on == stands_on and there.keys() == record.pages.keys()
    built = tuple(Built(slug, of, ()) for slug, of in there.items()) if same else ()
    report = Report(queries.named(snapshot_path), built, ()) if same else None
    return stands_on, report, kept.Drawings(record, there)


def _written(place: Path, report: Report) -> Report:
    """Write what changed, remove what belongs to no page."""
    changed = tuple(sorted(path for path, text in report.files.items() if _differs(place / path, text)))
    for path in changed:
        with telling(place / path):
            (place / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place / path, report.files[path], point="guide.file")
    removed = _stale(place, report)
    for path in removed:
        with telling(place / path):
            (place / path).unlink()
    return report._replace(changed=(*changed, *removed))


def check(home: Path, snapshot_path: Path) -> tuple[Report, list[str]]:
    """Build the guide in memory and compare it with the one under the home, byte for byte: what differs, in words."""
    place = home / GUIDE
    report = rendered(snapshot_path, existing=_existing(place))
    found = [f"{f.slug} cannot be built: {f.reason}" for f in report.failed]
    for path, text in sorted(report.files.items()):
        if not (place / path).is_file():
            found.append(f"{path} is missing")
        elif _differs(place / path, text):
            found.append(f"{path} is not what snapshot {report.snapshot} gives")
    return report, found + [f"{path} belongs to no page" for path in _stale(place, report)]


def _existing(place: Path) -> frozenset[str]:
    """Pages that have a version from before, by slug."""
    return (
        frozenset(str(p.relative_to(place).with_suffix("")) for p in place.rglob("*.md"))
        if place.is_dir()
        else frozenset()
    )


def _differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_bytes() != text.encode()


def _stale(place: Path, report: Report) -> list[str]:
    """Generated files of no page; those of a page that failed are its last version."""
    keep = {f.slug for f in report.failed}
    there = sorted(p for pattern in ("*.md", f"{MODELS}/*.md", f"{CHARTS}/*.svg") for p in place.glob(pattern))
    paths = [p.relative_to(place).as_posix() for p in there]
    return [p for p in paths if p not in report.files and not any(_belongs(p, slug) for slug in keep)]


def _belongs(path: str, slug: str) -> bool:
    return path == f"{slug}.md" or path.startswith(f"{CHARTS}/{Path(slug).name}--")


def rendered(
    snapshot_path: Path,
    *,
    existing: frozenset[str] = frozenset(),
    sources: Path | None = None,
    drawings: Drawings | None = None,
) -> Report:
    """Build every page in memory. `existing` names pages whose last version stays readable where they fail now."""
    place = sources or page.folder()
    pages = page.sources(place)
    with queries.opened(snapshot_path, pages) as snapshot:
        guide = Guide(snapshot, place, pages, drawings or Drawings())
        report = guide.built(frozenset())
        lost = frozenset(f.slug for f in report.failed) - existing
        return guide.built(lost) if lost else report


class Guide:
    """The pages on their way: their sources, the snapshot, and what each may link to."""

    def __init__(self, snapshot: Snapshot, place: Path, pages: list[Page], drawings: Drawings) -> None:
        self.snapshot, self.pages, self.drawings = snapshot, pages, drawings
        self.sheet = page.read(place / page.SHEET)
        self.sheets = {repo: page.sheet_slug(repo) for repo in snapshot.exemplars}
        self.environment = environment(place)
        self._template = cache(self.environment.from_string)  # one template serves every sheet
        self._checked: set[str] = set()
        self.book = Book(
            page.curriculum(place), tuple(pages), self.environment.get_template(page.FRAME), page.references(place)
        )

    def built(self, lost: frozenset[str]) -> Report:
        """Build all but `lost`, which nothing links to; charts are drawn while further pages are asked for."""
        begun: list[Begun] = []
        built: list[Built] = []
        failed: list[Failed] = []
        present = [p for p in self._all() if p.slug not in lost]
        known = frozenset(p.slug for p in present)
        drawer = ThreadPoolExecutor(1)
        try:
            for each in self._all():
                with _told(failed, each.slug):
                    begun.append(self._begun(each, known, drawer))
            for page_begun in begun:
                with _told(failed, page_begun.slug):
                    built.append(page_begun.built())
        finally:
            drawer.shutdown(cancel_futures=True)
        return Report(self.snapshot.id, tuple(built), tuple(failed))

    def _all(self) -> Iterator[Page]:
        yield from self.pages
        for repo, slug in self.sheets.items():
            front = _replaced(self.sheet.front, repo)
            yield self.sheet._replace(slug=f"{MODELS}/{slug}", front=front)

    def _begun(self, source: Page, known: frozenset[str], drawer: Executor) -> Begun:
        self.snapshot.require(source)
        if source.template not in self._checked:
            numerals.check(source, self.environment)
            self._checked.add(source.template)
        root = "../" if source.slug.startswith(f"{MODELS}/") else ""
        sheets = {repo: slug for repo, slug in self.sheets.items() if f"{MODELS}/{slug}" in known}
        links = Links(self.book.modules, known, sheets, root)
        filling = Filling(source, self.snapshot, links, self.book, self.drawings)
        body = self._template(source.template).render(filling.names())
        text = filling.framed(body)
        charts = {path: drawer.submit(draw) for path, draw in filling.charts.items()}
        return Begun(source.slug, text, charts, tuple(filling.traces))


@contextmanager
def _told(failed: list[Failed], slug: str) -> Iterator[None]:
    """Whatever is wrong with one page, the others are built."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - said so in the report
        failed.append(Failed(slug, _reason(error)))


def _reason(error: Exception) -> str:
    """What is wrong with a page; an error that is no sentence of ours keeps its name."""
    return str(error) if isinstance(error, AtlasError) else f"{type(error).__name__}: {error}"


def _replaced(front: page.Front, repo: str) -> page.Front:
    import msgspec

    return msgspec.structs.replace(front, title=repo.partition("/")[2], exemplars=(repo,))


def environment(place: Path) -> SandboxedEnvironment:
    """The template language: sandboxed, strict about names, with no way to print what no query gave."""
    made = SandboxedEnvironment(
        loader=FileSystemLoader(place), undefined=StrictUndefined, finalize=bind.final, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
    plain = {name: made.filters[name] for name in ("join", "replace", "length", "first", "last", "list")}
    made.filters = plain | {name: bind.said(form) for name, form in prose.FILTERS.items()} | {"listed": prose.listed}
    return made
