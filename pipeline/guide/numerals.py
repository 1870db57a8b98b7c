"""Numbers that no query made: a page's source may not write any, outside a short list with reasons.

Checked are prose, number words, code spans, fences and summaries, the texts inside expressions, arithmetic in a
template, and columns of a query that are a bare numeral.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from jinja2 import nodes

from pipeline.errors import Invalid

if TYPE_CHECKING:
    from jinja2 import Environment

    from pipeline.guide.page import Page

ALLOWED: Mapping[str, str] = {
    r"\b[Tt]iers? [123]\b|\bthree tiers\b": "names of evidence",
    r"\b(?:4K|32K|128K|1M)\b": "contexts that columns are named after",
    r"\b(?:four|eight|sixteen)(?=[ -]bits?\b)": "names of formats",
    r"\b(?:Llama|Gemma|Qwen|Kimi K|GPT-) ?\d(?:\.\d)?(?: \d+B)?\b": "names of models",
    r"\b(?:all|the|of the|at least) five\b": "the five costs",
    r"\b(?:2 ?·? ?N|6 ?·? ?N ?·? ?D)\b": "N of two and of six FLOPs per weight: the estimates' names",
    r"\*\*\d\. ": "steps of a list",
    r"2π|\^\(−2i/d\)|\^\(2i/d\)|\b[td] ?[+/−] ?[12]\b|\bd/2\b": "terms of a formula",
}
"""What a source may write, with the reason."""

_NUMERAL = re.compile(r"(?<![A-Za-z\d_.^-])\d[\d.,]*\w*")
_WORD = re.compile(
    r"\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|billion|dozen)s?\b",
    re.IGNORECASE,
)
_ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg, nodes.Pos)
_NAME = re.compile(r"[A-Za-z_][\w-]*(?:/[\w.-]+|\.\w+)?")
_MODULE = re.compile(r"\d\d")
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_LITERAL = re.compile(
    r"(?<![\w.'-])(?<!- )(?<!\* )(?<!\+ )(?<!/ )\d[\d_]*(?:\.\d+)?(?:e\d+)?\s+AS\s+(\w+)", re.IGNORECASE
)
_BARE = re.compile(r"\s*SELECT\s+\d[\d_.e]*\s*(?:,|$|FROM\b)", re.IGNORECASE)
_ORDER = "place"
"""A column that only puts rows in order."""


def check(page: Page, environment: Environment) -> None:
    """Raise `Invalid`, naming it, where a page's source has a number that no query made."""
    found = [*_written(_TAG.sub(" ", page.template), page), *_in_expressions(page, environment), *_literals(page)]
    if found:
        raise Invalid(f"the page has numbers that no query made: {'; '.join(found[:5])}")


def _written(text: str, page: Page) -> Iterator[str]:
    """Numerals and number words of a text, without those that the list or the page's front matter allows."""
    for pattern in (*ALLOWED, *map(re.escape, page.front.numerals)):
        text = re.sub(pattern, " ", text)
    for form in (_NUMERAL, _WORD):
        yield from (repr(f"{text[max(0, m.start() - 20) : m.end() + 10]}".strip()) for m in form.finditer(text))


def _in_expressions(page: Page, environment: Environment) -> Iterator[str]:
    tree = environment.parse(page.template)
    yield from (f"arithmetic in line {node.lineno}" for node in tree.find_all(_ARITHMETIC))
    modules = {id(a) for call in tree.find_all(nodes.Call) if _names_module(call) for a in call.args}
    for text in tree.find_all(nodes.Const):
        if isinstance(text.value, str) and id(text) not in modules and not _NAME.fullmatch(text.value):
            yield from _written(text.value, page)


def _names_module(call: nodes.Call) -> bool:
    args = [a.value for a in call.args if isinstance(a, nodes.Const)]
    named = isinstance(call.node, nodes.Name) and call.node.name in ("see", "titled")
    return named and bool(args) and _MODULE.fullmatch(str(args[0])) is not None


def _literals(page: Page) -> Iterator[str]:
    """Columns that are a numeral; one with a reason in the front matter, or that orders rows, may be."""
    for name, sql in page.queries.items():
        if _BARE.match(sql):
            yield f"query {name} begins with a bare numeral"
        for column in _LITERAL.findall(sql):
            if column != _ORDER and column not in page.front.constants:
                yield f"column {column} of query {name} is a numeral"
