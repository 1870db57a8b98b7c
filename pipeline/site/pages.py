"""The pages that belong to no design: the first one, drawings, signs, compare, search, data."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pipeline.drawing import legend
from pipeline.site import sheet
from pipeline.site.gather import Gathered
from pipeline.site.html import esc, link, section, table
from pipeline.site.shell import Page
from pipeline.units import binary
from schemas.registry import TABLES

ATLAS = (("index.html", "Atlas"),)
A_PAGE = 120
"""Drawings on one page of the gallery."""


def home(g: Gathered, drawn: Collection[str]) -> Page:
    """The first page."""
    exact = sum(m["check"] == "exact" for m in g.models)
    refused = sum(m["verdict"] == "refused" for m in g.models)
    lead = (
        f'<p class="lead">{len(g.models):,} language models in {len(g.designs):,} designs: parameters, cache and '
        "cost, exact layer by layer, each value with its evidence, or refused with a reason.</p>"
    )
    facts = (
        f"<p>{exact:,} models agree with an independent total to the weight; {refused:,} are refused. "
        f"{link('models.html', 'All of them')} in a table to filter, or {link('trends.html', 'over time')}.</p>"
    )
    largest = sorted(
        g.designs, key=lambda d: (-(d.facts["downloads"] or 0), -(d.facts["params_total"] or 0), d.design_id)
    )
    cards = "".join(sheet.card(d, is_drawn=d.design_id in drawn) for d in largest[:8])
    shown = section("drawings", "Some drawings", f'<ul class="cards">{cards}</ul>')
    return Page("index.html", "LLM architecture atlas", f"{lead}{facts}{shown}")


def gallery(g: Gathered, drawn: Collection[str]) -> Iterator[Page]:
    """Every drawing, on as many pages as it takes."""
    parts = [g.designs[n : n + A_PAGE] for n in range(0, len(g.designs), A_PAGE)] or [[]]
    for n, part in enumerate(parts):
        crumbs = ATLAS if n == 0 else (*ATLAS, ("designs.html", "Drawings"))
        cards = "".join(sheet.card(d, is_drawn=d.design_id in drawn) for d in part)
        title = "Drawings" if n == 0 else f"Drawings, page {n + 1}"
        yield Page(_gallery_path(n), title, _gallery(g, n, len(parts), cards), crumbs, wide=True)


def _gallery_path(n: int) -> str:
    return "designs.html" if n == 0 else f"designs-{n + 1}.html"


def _gallery(g: Gathered, n: int, pages: int, cards: str) -> str:
    turning = "".join(
        f"<li>{esc(str(k + 1))}</li>" if k == n else f"<li>{link(_gallery_path(k), str(k + 1))}</li>"
        for k in range(pages)
    )
    turned = f'<nav aria-label="Pages of drawings"><ol class="pages">{turning}</ol></nav>' if pages > 1 else ""

    signs_ = link("legend.html", "What the signs say")
    lead = f'<p class="lead">{len(g.designs):,} designs, each drawn from its exact structure. {signs_}</p>'
    return f'{lead}{turned}<ul class="cards">{cards}</ul>'


def signs() -> Page:
    """The legend."""
    kinds = (
        ("colours", "Colours say what is kept", legend.swatches()),
        ("icons", "Icons say what a part does", legend.icons()),
        ("cells", "Cells count", legend.cells()),
        ("shapes", "Shapes and lines", legend.shapes()),
    )
    body = "".join(
        section(
            anchor,
            title,
            '<ul class="legend">'
            + "".join(f"<li>{svg}<span>{esc(said)}</span></li>" for svg, said in signs_)
            + "</ul>",
        )
        for anchor, title, signs_ in kinds
    )
    return Page("legend.html", "What the signs say", _READING + body, (*ATLAS, ("designs.html", "Drawings")))


_READING = (
    '<p class="lead">Flow is upwards: tokens enter at the foot, logits leave at the head.</p>'
    "<p>At the left is the whole stack at true scale, a bar per layer: its colour is the mixer's, its length what one "
    "token leaves there, solid where that stays and pale where a window ends it. The frames beside it are the distinct "
    "layers, each with the number of times it stands in the model; the formula at the top says in which order. A "
    "part that was drawn before is a slim box that says where. Widths stand on the stream and in the figures.</p>"
)


def compare() -> Page:
    """The page of comparisons; a script fills it from the address."""
    body = (
        '<p class="lead">Two to six designs side by side, by a link that can be shared.</p>'
        '<p class="noscript">This page needs a script; every sheet has its figures and its nearest designs without one.'
        "</p>"
        '<div id="compare"></div>'
    )
    return Page("compare.html", "Compare", body, ATLAS, data="data/models.json", wide=True)


def search() -> Page:
    """All that the search finds; a script fills it."""
    body = (
        '<div id="results" aria-live="polite"></div>'
        f'<p class="noscript">Searching needs a script; {link("models.html", "the models")}, '
        f"{link('designs.html', 'the drawings')} and "
        f"{link('guide/glossary.html', 'the glossary')} can be read without one.</p>"
    )
    return Page("search.html", "Search", body, ATLAS)


def data(weights: dict[str, int], tables: dict[str, int]) -> Page:
    """What programs can read, and what the table of models weighs."""
    files = (
        ("data/models.json", "index of models: one object a model, with the id of its design"),
        ("schema.json", "JSON Schema of the index and of the designs' files"),
        ("llms.txt", "where a language model should start"),
        ("feed.xml", "what changed, as an Atom feed"),
    )
    rows = [(link(path, path), binary(weights[path]), esc(said)) for path, said in files]
    rows.append(("designs/<em>design</em>.json", "", "one file a design: facts, states, layers, models, evidence"))
    made = section("files", "Files", table(("File", "Size", "What it is"), rows, "Files for programs", (1,)))
    parquet = [
        (
            link(f"parquet/{name}.parquet", f"{name}.parquet"),
            binary(size),
            esc(TABLES[name].meaning if name in TABLES else "One row per model with a config."),
        )
        for name, size in tables.items()
    ]
    made += (
        section("parquet", "Tables", table(("Table", "Size", "What it holds"), parquet, "Parquet tables", (1,)))
        if parquet
        else ""
    )
    weight = sum(weights[p] for p in ("models.html", "assets/site.css", "assets/site.js", "data/table.js"))
    weighs = f"The page of all models weighs {esc(binary(weight))} with everything it loads."
    lead = f'<p class="lead">The same data as the pages, for programs. {weighs}</p>'
    return Page("data.html", "Data", lead + made, ATLAS)
