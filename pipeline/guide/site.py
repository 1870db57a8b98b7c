"""The guide as static HTML: the same pages for a browser, one file each, that need no script and no network.

Links stay relative, so the folder can be opened from a disk or served from anywhere. Names of strangers are escaped in
the Markdown already, and the only HTML in it is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.durable import telling, write_atomically
from pipeline.errors import Invalid
from pipeline.guide import render
from pipeline.guide.page import INDEX, folder
from pipeline.guide.render import Report

SITE = Path("reports") / "site"
STYLE = "_site.css"


def build(home: Path, snapshot_path: Path) -> tuple[Path, Report]:
    """Write the guide of a snapshot as HTML under the home; give the first page and what was built.

    Raises:
        Invalid: a page cannot be built; nothing is written.
    """
    report = render.rendered(snapshot_path)
    if report.failed:
        raise Invalid("\n".join(f"page {f.slug} cannot be built: {f.reason}" for f in report.failed))
    made = files(report)
    for path, text in made.items():
        place = home / SITE / path
        with telling(place):
            place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, text, point="guide.site")
    return home / SITE / "index.html", report


def files(report: Report) -> dict[str, str]:
    """Every file of the site by path: pages as HTML, charts as they are."""
    style = (folder() / STYLE).read_text("utf-8")
    pages = {address(path): page(text, style) for path, text in report.files.items() if path.endswith(".md")}
    return pages | {path: text for path, text in report.files.items() if not path.endswith(".md")}


def address(path: str) -> str:
    """Where a Markdown file of the guide stands on the site; the index is what a server looks for first."""
    stem = path.removesuffix(".md")
    return f"{'index' if stem == INDEX else stem.replace(f'/{INDEX}', '/index')}.html"


def page(text: str, style: str) -> str:
    """One Markdown page as a whole HTML document. Raises `Invalid` where it has no heading."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(text)
    _relink(tokens)
    body = parser.renderer.render(tokens, parser.options, {})
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(_title(tokens))}</title>\n<style>\n{style}</style></head>\n"
        f"<body><main>\n{body}</main></body></html>\n"
    )


def _relink(tokens: Sequence[Token]) -> None:
    """Point links between pages at their HTML."""
    for token in tokens:
        for child in token.children or ():
            target = str(child.attrs.get("href", ""))
            file, mark, fragment = target.partition("#")
            if child.type == "link_open" and file.endswith(".md"):
                child.attrs["href"] = "".join((_leaf(file), mark, fragment))


def _leaf(file: str) -> str:
    folder, slash, name = file.rpartition("/")
    return f"{folder}{slash}{address(name)}"


def _title(tokens: Sequence[Token]) -> str:
    """The text of the first heading."""
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            return "".join(c.content for c in token.children or () if c.type in {"text", "code_inline"})
    raise Invalid("a page of the guide has no heading")
