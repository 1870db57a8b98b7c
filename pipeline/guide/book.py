"""What a page may know of the others: the curriculum, their sources, and the frame that all stand in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Template

    from pipeline.guide.page import Module, Page, Reference


class Book(NamedTuple):
    """The guide as its pages see it: modules by number, every page's source, and the template around each."""

    modules: Mapping[str, Module]
    pages: tuple[Page, ...]
    frame: Template
    references: Mapping[str, Reference]

    def glossary(self) -> list[dict[str, str]]:
        """Terms of all pages in alphabetical order, each with the page that introduces it."""
        found = [
            {"term": term, "meaning": meaning, "slug": p.slug, "title": p.front.title}
            for p in self.pages
            for term, meaning in p.front.glossary.items()
        ]
        return sorted(found, key=lambda g: (g["term"].lower(), g["slug"]))
