"""The guide inside the site: its Markdown as pages with anchors, navigation, and tables that scroll by themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.errors import Invalid
from pipeline.site.html import link
from pipeline.site.shell import Page

FOLDER = "guide"
_MODULE = re.compile(r"\d\d-")
_MARK = re.compile(r"[^a-z0-9]+")
GLOSSARY = "glossary.md"
_TERM = re.compile(r'<a id="([^"]+)"></a><strong>(.*?)</strong>')
_STRONG = re.compile(r"<strong>([^<]{2,60})</strong>")
_CHART = '<p><img src="charts/'
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


class Chapter(NamedTuple):
    """A page of the guide: where it stands in the site, its title, its Markdown's path, and its text as parsed."""

    path: str
    title: str
    source: str
    tokens: list[Token]


def address(source: str) -> str:
    """Where a Markdown file of the guide stands; the index is what a server looks for first."""
    stem = source.removesuffix(".md")
    return f"{FOLDER}/{'index' if stem == 'README' else stem}.html"


def chapters(files: Mapping[str, str]) -> list[Chapter]:
    """The pages in the order they are read: the index, the modules, what remains."""
    named = [_chapter(f, text) for f, text in files.items() if f.endswith(".md")]
    return sorted(
        named, key=lambda c: (c.source != "README.md", not _MODULE.match(c.source), "/" in c.source, c.source)
    )


def _chapter(file: str, text: str) -> Chapter:
    tokens = _MARKDOWN.parse(text)
    _anchor(tokens)
    return Chapter(address(file), _title(tokens), file, tokens)


def pages(files: Mapping[str, str], sheets: Mapping[str, str]) -> list[Page]:
    """Every page of the guide. `sheets` leads from a title of a model's page to the sheet of its design."""
    order = chapters(files)
    side = _side([c for c in order if "/" not in c.source])
    terms = _terms(files.get(GLOSSARY, ""))
    made = [_page(c, order, side, sheets) for c in order]
    return [p._replace(body=_with_terms(p, terms)) for p in made]


def _terms(glossary: str) -> dict[str, str]:
    """Where each term stands in the glossary; a line may explain several."""
    html = _MARKDOWN.render(glossary)
    return {t.strip().lower(): place for place, said in _TERM.findall(html) for t in (said, *said.split(","))}


def mark(text: str) -> str:
    """The anchor of a heading."""
    return _MARK.sub("-", text.lower()).strip("-") or "section"


def _with_terms(page: Page, terms: Mapping[str, str]) -> str:
    """A page with its terms in bold leading to the glossary."""
    if page.path == address(GLOSSARY):
        return page.body
    way = page.root + address(GLOSSARY)

    def linked(found: re.Match[str]) -> str:
        place = terms.get(found.group(1).strip(" .:").lower())
        return found.group() if place is None else f'<a class="term" href="{way}#{place}">{found.group()}</a>'

    return _STRONG.sub(linked, page.body)


def _page(c: Chapter, order: Sequence[Chapter], side: str, sheets: Mapping[str, str]) -> Page:
    root = "../" * c.path.count("/")
    _relink(c.tokens)
    body = _scrolled(_MARKDOWN.renderer.render(_without_title(c.tokens), _MARKDOWN.options, {}))
    sheet = sheets.get(c.title)
    lead = f"<p>{link(root + sheet, 'The sheet of this design, with its drawing')}</p>" if sheet else ""
    crumbs = (("index.html", "Atlas"), *([] if c.source == "README.md" else [(f"{FOLDER}/index.html", "Guide")]))
    return Page(
        c.path, c.title, lead + body + _turning(c, order, root), crumbs, side.replace('href="', f'href="{root}')
    )


def _anchor(tokens: Sequence[Token]) -> None:
    """An id for every heading, of its words; the second of a name has a number behind it."""
    taken: dict[str, int] = {}
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            name = mark(_text(token))
            taken[name] = taken.get(name, 0) + 1
            before.attrs["id"] = name if taken[name] == 1 else f"{name}-{taken[name]}"


def _text(token: Token) -> str:
    return "".join(c.content for c in token.children or () if c.type in {"text", "code_inline"})


def _title(tokens: Sequence[Token]) -> str:
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            return _text(token)
    raise Invalid("a page of the guide has no heading")


def _without_title(tokens: list[Token]) -> list[Token]:
    """The frame has the title: the first heading is left out."""
    start = next(n for n, t in enumerate(tokens) if t.type == "heading_open")
    return tokens[:start] + tokens[start + 3 :]


def _relink(tokens: Sequence[Token]) -> None:
    """Links between pages lead to their HTML."""
    for token in tokens:
        for child in token.children or ():
            file, mark, fragment = str(child.attrs.get("href", "")).partition("#")
            if child.type == "link_open" and file.endswith(".md"):
                child.attrs["href"] = "".join((_leaf(file), mark, fragment))


def _leaf(file: str) -> str:
    place = PurePosixPath(file)
    name = "index.html" if place.name == "README.md" else f"{place.stem}.html"
    return str(place.with_name(name))


def _scrolled(html: str) -> str:
    """Tables, charts and code in regions that scroll by themselves and can be reached by keyboard."""
    html = _numbered(html, "<table>", '<div class="scroll" tabindex="0" role="region" aria-label="Table {}"><table>')
    html = _numbered(html, _CHART, f'<p class="chart" tabindex="0" role="region" aria-label="Chart {{}}">{_CHART[3:]}')
    return (
        html.replace("</table>", "</table></div>")
        .replace("<pre>", '<pre tabindex="0">')
        .replace("<th></th>", "<td></td>")
    )


def _numbered(html: str, opening: str, region: str) -> str:
    """Each opening as a region whose name no other has."""
    first, *rest = html.split(opening)
    return first + "".join(region.format(n) + part for n, part in enumerate(rest, 1))


def _side(order: Sequence[Chapter]) -> str:
    items = "".join(f"<li>{link(c.path, c.title)}</li>" for c in order)
    return f'<nav class="chapters" aria-label="Guide"><p class="over">Guide</p><ul>{items}</ul></nav>'


def _turning(c: Chapter, order: Sequence[Chapter], root: str) -> str:
    read = [x for x in order if "/" not in x.source]
    if c not in read:
        return ""
    n = read.index(c)
    before = f"<span>← {link(root + read[n - 1].path, read[n - 1].title)}</span>" if n else "<span></span>"
    after = f"<span>{link(root + read[n + 1].path, read[n + 1].title)} →</span>" if n + 1 < len(read) else ""
    return f'<nav class="turning" aria-label="Previous and next page">{before}{after}</nav>'
