"""One page being filled: what its template may use, its charts, and the trace of what it prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.ask.examples import EXAMPLES
from pipeline.errors import Invalid
from pipeline.guide import bind, page, prose, terms
from pipeline.guide.bind import Row, Single, Trace
from pipeline.guide.blocks import Cross, Links, caption, crossed, details, plain, query_of, table
from pipeline.guide.book import Book
from pipeline.guide.kept import Drawings
from pipeline.guide.page import Page
from pipeline.guide.queries import Snapshot

CHARTS = "charts"
GLOSSARY = "glossary"
MODELS = "models"


class Filling:
    """One page being filled: its results, its charts and the trace of what it prints."""

    def __init__(self, source: Page, snapshot: Snapshot, links: Links, book: Book, drawings: Drawings) -> None:
        self.source, self.links, self.book, self.snapshot, self.drawings = source, links, book, snapshot, drawings
        self.traces: list[Trace] = []
        self.charts: dict[str, Callable[[], str]] = {}
        self.queries = {name: page.filled(source, name, snapshot.exemplars) for name in source.queries}
        self.about = snapshot.about(self.traces)
        self.named = f"{prose.text(snapshot.id)} ({prose.text(snapshot.source)})."
        self.results = {name: snapshot.rows(name, sql, self.traces) for name, sql in self.queries.items()}

    def names(self) -> dict[str, Any]:
        """What a template may use."""
        return {
            "rows": bind.Results(self.results),
            "row": Single(self.results),
            "about": self.about,
            "table": self._table,
            "chart": self._chart,
            "drawing": self._drawing,
            "fold": details,
            "see": self.links.module,
            "titled": self.links.titled,
            "link": self.links.to,
            "model": self.links.model,
            "hub": self.links.hub,
            "cite": self._cite,
            "where": lambda rows, column, value: [r for r in rows if r[column] == value],
            "shown": lambda rows, column, form: [prose_cell(r[column], form, self.links) for r in rows],
            "modules": self.book.modules,
            "examples": {title: query.strip() for title, query in EXAMPLES.items()},
            "sheets": [{"repo": r, "slug": f"{MODELS}/{s}"} for r, s in self.links.sheets.items()],
            "pages": self.links.pages,
            "glossary": [
                g | {"anchor": terms.anchor(g["term"])} for g in self.book.glossary() if g["slug"] in self.links.pages
            ],
        }

    def _cite(self, key: str) -> bind.Markup:
        """A work in a sentence, by its label and linked; the front matter must name it."""
        if key not in self.source.front.references:
            raise Invalid(f"the page cites {key}, which its front matter does not name")
        return bind.Markup(reference(self.book.references, key))

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
        data: list[Row] | None = None,
        **roles: str,
    ) -> str:
        """Have a chart drawn into a file beside the page; give the image and, folded, its data.

        `data` stands below the chart in place of the drawn rows where another query says the same in fewer rows.
        Curves stand as one row per position, with a column per line.
        """
        from pipeline.guide import charts

        if not rows:
            raise Invalid(f"the chart {name} would be empty")
        if kind == "curves":
            below = crossed(rows, columns, Cross(roles["x"], roles["series"], roles["y"]), self.links)
        else:
            below = plain(data or rows, columns, self.links)
        path = f"{CHARTS}/{Path(self.source.slug).name}--{name}.svg"
        values = [bind.values(r) for r in rows]
        self.charts[path] = self.drawings.drawn(
            path, (kind, values, alt, roles), lambda: charts.KINDS[kind](values, title=alt, **roles)
        )
        image = f"![{alt}]({self.links.root}{path})"
        said = caption(query_of(data or rows, columns), tier, f"{alt} Snapshot {self.named}")
        return f"{image}\n\n{said}\n\n{details('The data of this chart', below)}"

    def _drawing(self, alt: str) -> str:
        """Draw the architecture of the page's model into a file beside the page; give the image."""
        from pipeline.drawing import picture

        (repo,) = self.source.front.exemplars
        drawn = picture.draw(self.snapshot.derived(repo), repo)
        if drawn is None:
            raise Invalid(f"the structure of {repo} cannot be drawn")
        path = f"{CHARTS}/{Path(self.source.slug).name}--architecture.svg"
        self.charts[path] = lambda: drawn
        return f"![{alt}]({self.links.root}{path})"

    def _with_terms(self, body: str) -> str:
        """A module's text with the terms of other modules linked to the glossary."""
        if GLOSSARY not in self.links.pages or not self.source.front.axis:
            return body
        own = self.source.front.glossary
        return terms.linked(body, [g["term"] for g in self.book.glossary() if g["term"] not in own], f"{GLOSSARY}.md")

    def framed(self, body: str) -> str:
        """The page with its first line, its head, its queries and its foot."""
        return self.book.frame.render(
            source=self.source.source,
            front=self.source.front,
            number=_number(self.source, self.book),
            body=bind.Markup(self._with_terms(body.strip())),
            references=[reference(self.book.references, key) for key in self.source.front.references],
            queries=self.queries,
            about=self.about,
            around=_around(self.source, self.book, self.links),
            requires=[self.links.titled(n) for n in self.source.front.prerequisites],
            following=self.links.titled(self.source.front.next) if self.source.front.next else None,
            sheets=[_sheet(r, self.links) for r in self.source.front.exemplars],
            root=self.links.root,
        )


def reference(known: Mapping[str, page.Reference], key: str) -> str:
    """A work as a link. Raises `Invalid` where `references.toml` does not have it."""
    if key not in known:
        raise Invalid(f"{page.REFERENCES} has no work {key}")
    return f"[{known[key].label}]({known[key].url})"


def prose_cell(value: bind.Cell | None, form: str, links: Links) -> str:
    """One value in a sentence."""
    if value is None:
        raise Invalid("a sentence would name a value that is null")
    return str(links.model(value)) if form == "model" else value.printed(prose.shown(value.value, form))


def _sheet(repo: str, links: Links) -> str:
    slug = links.sheets.get(repo)
    shown = prose.text(repo)
    return f"[{shown}]({links.root}{MODELS}/{slug}.md)" if slug else shown


def _number(source: Page, book: Book) -> str | None:
    """The number of a module; a page that is none has none."""
    return next((n for n, m in book.modules.items() if m.slug == source.slug), None)


def _around(source: Page, book: Book, links: Links) -> Mapping[str, str | None]:
    """The modules before and after a module."""
    order = [n for n, m in book.modules.items() if m.slug in links.pages]
    here = next((i for i, n in enumerate(order) if book.modules[n].slug == source.slug), None)
    if here is None:
        return {"before": None, "after": None}
    return {
        "before": links.titled(order[here - 1]) if here else None,
        "after": links.titled(order[here + 1]) if here + 1 < len(order) else None,
    }
