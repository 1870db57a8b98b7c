"""The frame of every page: head, navigation, breadcrumbs, contents, foot. Whole without a script."""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.site.html import esc, link

NAV = (
    ("models.html", "Models"),
    ("designs.html", "Drawings"),
    ("compare.html", "Compare"),
    ("guide/index.html", "Guide"),
    ("changes.html", "What changed"),
    ("data.html", "Data"),
)
_HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


class Page(NamedTuple):
    """A page on its way: where it stands, its title and body, and what frames it."""

    path: str
    title: str
    body: str
    crumbs: tuple[tuple[str, str], ...] = ()
    side: str = ""
    data: str = ""
    wide: bool = False
    lead: str = ""

    @property
    def root(self) -> str:
        """The way from the page to the top of the site."""
        return "../" * self.path.count("/")


def framed(page: Page, about: str, script: str = "") -> str:
    """The whole document. `about` says what it was made from; `script` is what a script of ours needs to know."""
    root = page.root
    links = "".join(_nav(page, href, text) for href, text in NAV)
    crumbs = "".join(f"<li>{link(root + href, text)}</li>" for href, text in page.crumbs)
    here = f'<li aria-current="page">{esc(page.title)}</li>'
    trail = f'<nav class="crumbs" aria-label="Breadcrumbs"><ol>{crumbs}{here}</ol></nav>' if page.crumbs else ""
    data = f' · <a href="{esc(page.data)}">the data of this page</a>' if page.data else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{esc(page.title)} · LLM architecture atlas</title>"
        f'<link rel="stylesheet" href="{root}assets/site.css"><link rel="icon" href="{root}assets/icon.svg">'
        f'<link rel="alternate" type="application/atom+xml" title="What changed" href="{root}feed.xml">'
        f'<script defer src="{root}assets/site.js"></script></head>\n'
        f'<body data-root="{root}"{script}><a class="skip" href="#main">Skip to the text</a>'
        f'<header><a class="home" href="{root}index.html">LLM architecture atlas</a>'
        f'<nav aria-label="Site">{links}</nav>{_search(root)}</header>'
        f'<div class="columns{" wide" if page.wide else ""}">{_side(page)}<main id="main">{trail}'
        f"<h1>{esc(page.title)}</h1>{page.lead}{page.body}</main></div>"
        f"<footer><p>{esc(about)}{data}</p></footer></body></html>\n"
    )


def _nav(page: Page, href: str, text: str) -> str:
    here = page.path == href or (href.count("/") and page.path.startswith(href.partition("/")[0] + "/"))
    return f'<a href="{page.root}{href}"{" aria-current=page" if here else ""}>{esc(text)}</a>'


def _search(root: str) -> str:
    return (
        f'<form class="search" role="search" action="{root}search.html"><label><span class="hidden">Search</span>'
        '<input type="search" name="q" autocomplete="off" placeholder="Search models, terms, pages"></label>'
        '<div class="found" hidden></div></form>'
    )


def _side(page: Page) -> str:
    """What stands beside the text: pages of the guide, and the contents of this one."""
    found = [(a, _TAG.sub("", t).removeprefix("#")) for a, t in _HEADING.findall(page.body)]
    contents = "".join(f'<li><a href="#{a}">{t}</a></li>' for a, t in found)
    listed = (
        f'<nav aria-label="On this page"><p class="over">On this page</p><ul>{contents}</ul></nav>'
        if len(found) > 1
        else ""
    )
    return f"<aside>{listed}{page.side}</aside>" if listed or page.side else ""
