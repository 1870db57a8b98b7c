"""Builds the guide: pages, charts and sheets, from one snapshot and nothing else, and writes them under the home.

A page that cannot be built says why and keeps its last version; the others are written. The same snapshot gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from pipeline import bind, page, prose, reader
from pipeline.bind import Row, Single, Trace
from pipeline.blocks import Links, details, table
from pipeline.durable import write_atomically
from pipeline.errors import AtlasError, Invalid
from pipeline.page import Page
from pipeline.reader import Snapshot

GUIDE = Path("reports") / "guide"
CHARTS = "charts"
MODELS = "models"


class Built(NamedTuple):
    """One page as built: its files by path under the guide, and the trace of every value it prints."""

    slug: str
    files: dict[str, str]
    traces: tuple[Trace, ...]


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
        """Every file of the guide by path, as built."""
        return {path: text for b in self.built for path, text in b.files.items()}


def build(home: Path, snapshot_path: Path) -> Report:
    """Build the guide from a snapshot and write what changed under the home. Pages that fail are in the report, not raised.

    Raises:
        AtlasError: the guide cannot be written.
    """
    place = home / GUIDE
    report = rendered(snapshot_path, kept=_existing(place))
    changed = tuple(sorted(path for path, text in report.files.items() if _differs(place / path, text)))
    for path in changed:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place / path, report.files[path], point="guide.file")
    removed = _stale(place, report)
    for path in removed:
        (place / path).unlink()
    return report._replace(changed=(*changed, *removed))


def check(home: Path, snapshot_path: Path) -> tuple[Report, list[str]]:
    """Build the guide in memory and compare it with what stands under the home, byte for byte: what differs, in words."""
    place = home / GUIDE
    report = rendered(snapshot_path, kept=_existing(place))
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


def rendered(snapshot_path: Path, *, kept: frozenset[str] = frozenset(), sources: Path | None = None) -> Report:
    """Build every page in memory. `kept` names pages whose last version stays readable where they fail now."""
    place = sources or page.folder()
    pages = page.sources(place)
    with reader.opened(snapshot_path, pages) as snapshot:
        guide = Guide(snapshot, place, pages)
        report = guide.built(frozenset())
        lost = frozenset(f.slug for f in report.failed) - kept
        return guide.built(lost) if lost else report


class Guide:
    """The pages on their way: their sources, the snapshot, and what each may link to."""

    def __init__(self, snapshot: Snapshot, place: Path, pages: list[Page]) -> None:
        self.snapshot, self.pages = snapshot, pages
        self.modules = page.curriculum(place)
        self.sheet = page.read(place / page.SHEET)
        self.sheets = {repo: page.sheet_slug(repo) for repo in snapshot.exemplars}
        self.environment = environment(place)
        self.frame = self.environment.from_string(_FRAME)

    def built(self, lost: frozenset[str]) -> Report:
        """Build all but `lost`, which nothing links to."""
        built: list[Built] = []
        failed: list[Failed] = []
        present = [p for p in self._all() if p.slug not in lost]
        known = frozenset(p.slug for p in present)
        for each in self._all():
            try:
                built.append(self._one(each, known))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one page, the others are built
                failed.append(Failed(each.slug, _reason(error)))
        return Report(self.snapshot.id, (*built, marks()), tuple(failed))

    def _all(self) -> Iterator[Page]:
        yield from self.pages
        for repo, slug in self.sheets.items():
            front = _replaced(self.sheet.front, repo)
            yield self.sheet._replace(slug=f"{MODELS}/{slug}", front=front)

    def _one(self, source: Page, known: frozenset[str]) -> Built:
        self.snapshot.require(source)
        root = "../" if source.slug.startswith(f"{MODELS}/") else ""
        sheets = {repo: slug for repo, slug in self.sheets.items() if f"{MODELS}/{slug}" in known}
        links = Links(self.modules, known, sheets, root)
        drawing = Drawing(source, self.snapshot, links)
        body = self.environment.from_string(source.template).render(drawing.names(self))
        text = drawing.framed(body, self)
        return Built(source.slug, {f"{source.slug}.md": text, **drawing.charts}, tuple(drawing.traces))


def marks() -> Built:
    """The marks of origins, which all pages share."""
    from pipeline import charts

    return Built("marks of origins", {f"{CHARTS}/{name}": text for name, text in charts.origin_marks().items()}, ())


def _reason(error: Exception) -> str:
    """What is wrong with a page; an error that is no sentence of ours keeps its name."""
    return str(error) if isinstance(error, AtlasError) else f"{type(error).__name__}: {error}"


def _replaced(front: page.Front, repo: str) -> page.Front:
    import msgspec

    return msgspec.structs.replace(front, title=repo.partition("/")[2], exemplars=(repo,))


def environment(place: Path) -> SandboxedEnvironment:
    """The template language: sandboxed, strict about names, with unit filters, and no way to print what no query gave."""
    made = SandboxedEnvironment(
        loader=FileSystemLoader(place), undefined=StrictUndefined, finalize=bind.final, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
    plain = {name: made.filters[name] for name in ("join", "replace", "length", "first", "last", "list")}
    made.filters = plain | {name: bind.said(form) for name, form in prose.FILTERS.items()} | {"listed": prose.listed}
    return made


class Drawing:
    """One page being filled: its results, its charts and the trace of what it prints."""

    def __init__(self, source: Page, snapshot: Snapshot, links: Links) -> None:
        self.source, self.links = source, links
        self.traces: list[Trace] = []
        self.charts: dict[str, str] = {}
        self.queries = {name: page.filled(source, name, snapshot.exemplars) for name in source.queries}
        self.about = snapshot.about(self.traces)
        self.results = {name: snapshot.rows(name, sql, self.traces) for name, sql in self.queries.items()}

    def names(self, guide: Guide) -> dict[str, Any]:
        """What a template may use."""
        return {
            "rows": bind.Results(self.results),
            "row": Single(self.results),
            "about": self.about,
            "table": self._table,
            "chart": self._chart,
            "fold": details,
            "see": self.links.module,
            "titled": self.links.titled,
            "link": self.links.to,
            "model": self.links.model,
            "where": lambda rows, column, value: [r for r in rows if r[column] == value],
            "shown": lambda rows, column, form: [prose_cell(r[column], form, self.links) for r in rows],
            "modules": guide.modules,
            "sheets": [{"repo": r, "slug": f"{MODELS}/{s}"} for r, s in self.links.sheets.items()],
            "pages": self.links.pages,
            "glossary": [g for g in _glossary(guide) if g["slug"] in self.links.pages],
        }

    def _table(
        self, rows: list[Row], columns: list[tuple[str, str, str]], tier: int | None = None, note: str = ""
    ) -> str:
        return table(rows, columns, self.links, tier=tier, note=note)

    def _chart(
        self,
        name: str,
        kind: str,
        rows: list[Row],
        columns: list[tuple[str, str, str]],
        alt: str,
        tier: int | None = None,
        **roles: str,
    ) -> str:
        """Draw a chart into a file beside the page; give the image and, folded, its data."""
        from pipeline import charts

        if not rows:
            raise Invalid(f"the chart {name} would be empty")
        path = f"{CHARTS}/{Path(self.source.slug).name}--{name}.svg"
        self.charts[path] = charts.KINDS[kind]([bind.values(r) for r in rows], title=alt, **roles)
        image = f"![{alt}]({self.links.root}{path})"
        return f"{image}\n\n{details('The data of this chart', self._table(rows, columns, tier))}"

    def framed(self, body: str, guide: Guide) -> str:
        """The page with its first line, its head, its queries and its foot."""
        return guide.frame.render(
            source=self.source.source,
            front=self.source.front,
            body=bind.Markup(body.strip()),
            queries=self.queries,
            about=self.about,
            around=_around(self.source, guide, self.links),
            requires=[self.links.titled(n) for n in self.source.front.prerequisites],
            following=self.links.titled(self.source.front.next) if self.source.front.next else None,
            sheets=[_sheet(r, self.links) for r in self.source.front.exemplars],
            root=self.links.root,
        )


def prose_cell(value: bind.Cell | None, form: str, links: Links) -> str:
    """One value in a sentence."""
    if value is None:
        raise Invalid("a sentence would name a value that is null")
    return str(links.model(value)) if form == "model" else value.printed(prose.shown(value.value, form))


def _sheet(repo: str, links: Links) -> str:
    slug = links.sheets.get(repo)
    shown = prose.text(repo)
    return f"[{shown}]({links.root}{MODELS}/{slug}.md)" if slug else shown


def _glossary(guide: Guide) -> list[dict[str, str]]:
    """Terms of all pages in alphabetical order, each with the page that introduces it."""
    found = [
        {"term": term, "meaning": meaning, "slug": p.slug, "title": p.front.title}
        for p in guide.pages
        for term, meaning in p.front.glossary.items()
    ]
    return sorted(found, key=lambda g: (g["term"].lower(), g["slug"]))


def _around(source: Page, guide: Guide, links: Links) -> Mapping[str, str | None]:
    """The modules before and after a module."""
    order = [n for n, m in guide.modules.items() if m.slug in links.pages]
    here = next((i for i, n in enumerate(order) if guide.modules[n].slug == source.slug), None)
    if here is None:
        return {"before": None, "after": None}
    return {
        "before": links.titled(order[here - 1]) if here else None,
        "after": links.titled(order[here + 1]) if here + 1 < len(order) else None,
    }


_FRAME = """\
<!-- Generated by `atlas guide build` from snapshot {{ about.snapshot|text }}: do not edit. Source: reports/pages/{{ source }} -->

# {{ front.title }}

{% if front.axis %}
**Axis** {{ front.axis }}{% if requires %} · **Before this** {{ requires|join(", ") }}{% endif %}{% if following %} · **Next** {{ following }}{% endif %}


{% endif %}
{{ body }}

{% if front.glossary %}
## Glossary delta

{% for term, meaning in front.glossary.items() %}
- **{{ term }}**: {{ meaning }}
{% endfor %}

{% endif %}
---

{% if queries %}
<details>
<summary>The queries of this page</summary>

Every number, table and chart above is a cell of one of these, run on snapshot {{ about.snapshot|text }}. `atlas sql` runs them too, except those that read `what_if`: its rows are derived while the page is built.

{% for name, sql in queries.items() %}
<a id="q-{{ name|replace("_", "-") }}"></a>**{{ name }}**

```sql
{{ sql }}
```

{% endfor %}
</details>

{% endif %}
{% if around.before %}Previous: {{ around.before }}{% endif %}{% if around.before and around.after %} · {% endif %}{% if around.after %}Next: {{ around.after }}{% endif %}{% if around.before or around.after %} · {% endif %}[Index]({{ root }}README.md)

<sub>Snapshot {{ about.snapshot|text }} ({{ about.source|text }}){% if sheets %} · exemplars {{ sheets|join(", ") }}{% endif %} · atlas {{ about.code_version|text }} · schema {{ about.schema_version|text }}</sub>
"""
