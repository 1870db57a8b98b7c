"""The index that the search box reads: models, terms of the glossary, pages and their sections, by their words."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from pipeline.site.gather import Gathered
from pipeline.text import json_line, terminal

_TAG = re.compile(r"<[^>]*>")
_SECTION = re.compile(r'<(h[1-4]) id="([^"]+)">(.*?)</\1>(.*?)(?=<h[1-4] id=|</main>|\Z)', re.DOTALL)
_WORD = re.compile(r"[a-z0-9][a-z0-9.+-]{2,}")
MOST_WORDS = 60
Entry = tuple[str, str, str, str]
"""Title, address, kind, and words beside the title."""


def index(g: Gathered, pages: Iterable[tuple[str, str, str]]) -> str:
    """The index as a script that loads from a disk as well; `pages` are addresses, titles and bodies."""
    entries: list[Entry] = [e for path, title, body in pages for e in _of_page(path, title, body)]
    entries += [
        (terminal(d.name), f"designs/{d.design_id}.html", "design", " ".join(_words(d.facts))) for d in g.designs
    ]
    named = {d.name for d in g.designs}
    entries += [
        (terminal(m["repo_id"]), f"designs/{m['design_id']}.html", "model", str(m["model_type"] or ""))
        for m in g.models
        if m["design_id"] and m["repo_id"] not in named
    ]
    return f"atlasIndex={json_line(msgspec.json.encode(entries).decode())};\n"


def _words(facts: object) -> list[str]:
    named = facts if isinstance(facts, dict) else {}
    return [str(named[k]) for k in ("model_type", "attention_kind", "architecture_class") if named.get(k)]


def _of_page(path: str, title: str, body: str) -> Iterable[Entry]:
    kind = "term" if path.endswith("glossary.html") else "page"
    yield title, path, "page", " ".join(_common(body))
    for anchor, term, text in _TERM.findall(body):
        yield _TAG.sub("", term), f"{path}#{anchor}", "term", " ".join(_common(text))
    for _, anchor, heading, text in _SECTION.findall(body):
        said = _TAG.sub("", heading).removeprefix("#").strip()
        yield said if kind == "term" else f"{said} · {title}", f"{path}#{anchor}", kind, " ".join(_common(text))


_TERM = re.compile(r'<a id="([^"]+)"></a><strong>(.*?)</strong>(.*?)</li>', re.DOTALL)


def _common(html: str) -> list[str]:
    """The words of a text, each once, those of most use first."""
    counts: dict[str, int] = {}
    for word in _WORD.findall(_TAG.sub(" ", html).lower()):
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda w: (-len(w) * counts[w], w))[:MOST_WORDS]
