"""The guide as HTML: every page a whole document, links that lead somewhere, no script and no network."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import guide
import pytest

from pipeline.errors import Invalid
from pipeline.guide import site


def files() -> dict[str, str]:
    """The site of the catalogue's guide."""
    return site.files(guide.built())


def test_every_page_has_its_html_and_every_chart_its_file() -> None:
    """The index is index.html; nothing of the guide is left out."""
    markdown = {p for p in guide.built().files if p.endswith(".md")}
    assert {p for p in files() if p.endswith(".html")} == {
        "index.html" if p == "README.md" else p.replace(".md", ".html") for p in markdown
    }
    assert {p for p in files() if p.endswith(".svg")} == {p for p in guide.built().files if p.endswith(".svg")}


def test_every_link_leads_to_a_file_of_the_site() -> None:
    """Links and images are relative and resolve; fragments are places in their page."""
    made = files()
    for path, text in made.items():
        if not path.endswith(".html"):
            continue
        for target in re.findall(r'(?:href|src)="([^"]*)"', text):
            file, _, fragment = target.partition("#")
            parts: list[str] = []
            for part in PurePosixPath(path).parent.joinpath(file).parts if file else ():
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in made if file else f'id="{fragment}"' in text, (path, target)


def test_no_page_needs_a_script_or_a_network() -> None:
    """No script, no style sheet, font or image of another place."""
    for path, text in files().items():
        if path.endswith(".html"):
            assert not re.search(r"<script|<link|@import|url\(|javascript:", text), path
            assert text.startswith("<!doctype html>"), path


def test_a_page_follows_the_theme_of_its_reader_and_is_named_by_its_heading() -> None:
    """Colours for dark come from a media query; the title is the first heading's text."""
    text = files()["04-mla.html"]
    assert "@media (prefers-color-scheme: dark)" in text
    assert "<title>Multi-head latent attention</title>" in text


def test_names_of_strangers_stay_data_in_html() -> None:
    """What is escaped in Markdown is text in HTML, in the title as well."""
    text = site.page("# &lt;b&gt; \\| x\n\n| a |\n|---|\n| &lt;script&gt;1&lt;/script&gt; |\n", "")
    assert "<title>&lt;b&gt; | x</title>" in text
    assert "<script>" not in text
    assert "<td>&lt;script&gt;1&lt;/script&gt;</td>" in text


def test_a_page_without_a_heading_is_no_page() -> None:
    """A page is named by its heading."""
    with pytest.raises(Invalid, match="no heading"):
        site.page("text", "")


def test_the_site_is_written_under_the_home(tmp_path: Path) -> None:
    """The first page is given, so that it can be opened."""
    first, _ = site.build(tmp_path, guide.snapshot_file())
    assert first == tmp_path / "reports" / "site" / "index.html"
    assert (tmp_path / "reports" / "site" / "models" / "deepseek-v3.html").is_file()
