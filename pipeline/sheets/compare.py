"""What `atlas compare` does: models of a snapshot, or local configs, side by side at one context and cache type.

Numbers are those of the fingerprint; what depends on the context or the cache's type is folded again from the
structure. Nothing is shown for a model that was refused: a comparison of guesses helps nobody.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from pipeline.ask.found import Asking, Found
from pipeline.ask.resolver import resolve
from pipeline.errors import Invalid, Usage
from pipeline.sheets import inspect
from pipeline.sheets.compared import Compared, Sized, Subject, beyond, same_design
from pipeline.sheets.facts import Show, facts, grouped, tokens, unequal
from pipeline.sheets.lines import DIM, HEAD, STRONG, WARN, WIDTH, Line, title, wrapped
from pipeline.sheets.verdicts import VERDICTS
from pipeline.text import markdown, shorten, terminal
from pipeline.units import scaled

LABEL = 24
ABREAST = 4
"""Models in one table of 80 columns; further ones follow in tables of their own."""

MARK = "≠"


def compare(
    asking: Asking, wanted: Sequence[str], at: int, dtype: str, width: float, weights: str | None = None
) -> Compared:
    """The models that the words mean, each by any name that names one.

    Raises:
        Usage: fewer than two models, or a folder of several configs.
        NotFound: no such model, or no snapshot.
        Invalid: a model was refused.
        Upstream: the Hub has to be asked and does not answer.
    """
    if len(wanted) < 2:
        raise Usage("one model is nothing to compare: name two or more (atlas show has one model's sheet)")
    return Compared(tuple(_subject(resolve(each, asking), at, width) for each in wanted), at, dtype, weights)


def _subject(found: Found, at: int, width: float) -> Subject:
    name, derived = found.title, found.derived
    if found.adapter is not None:
        base = found.adapter.base_model or "its base"
        raise Invalid(f"{terminal(name)} is an adapter and has no cache or shape of its own: compare {terminal(base)}")
    if derived.model is None:
        f = derived.fingerprint
        raise Invalid(f"{terminal(name)} cannot be compared, it is {f.verdict} ({f.refusal_kind}): {f.refusal_reason}")
    return Subject(name, found.source, derived.fingerprint, _sized(derived, at, width), derived)


def _sized(derived: Derived, at: int, width: float) -> Sized:
    if derived.model is None or derived.fingerprint.kv_bytes_4k is None:
        return Sized()
    return Sized(
        kv_bytes_per_token=math.ceil(measure.kv_bytes_per_token(derived.model, width)),
        state_bytes=math.ceil(measure.kv_bytes(derived.model, at, width)),
        attention_flops_per_token=measure.attention_flops(derived.model, at),
        decode_bytes_per_token=math.ceil(measure.decode_bytes(derived.model, at, width)),
    )


def table(c: Compared) -> Iterator[Line]:
    """The comparison for people, in 80 columns."""
    yield from _legend(c)
    many = len(c.subjects)
    abreast = math.ceil(many / math.ceil(many / ABREAST))
    for start in range(0, many, abreast):
        yield from _abreast(c, slice(start, start + abreast))
    yield from _notes(c)


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else str(i + 1)


def _legend(c: Compared) -> Iterator[Line]:
    for i, s in enumerate(c.subjects):
        yield [(f"{_letter(i)}  ", HEAD), (shorten(terminal(s.name), WIDTH - 3), STRONG)]
        yield from wrapped(terminal(f"{VERDICTS[s.row.verdict]}; {s.source}"), 3, DIM)
    yield []


def _abreast(c: Compared, shown: slice) -> Iterator[Line]:
    subjects = c.subjects[shown]
    each = (WIDTH - LABEL - 2) // len(subjects)
    first = shown.start
    heads = [f"{_letter(first + i)} {terminal(s.name.rpartition('/')[2])}" for i, s in enumerate(subjects)]
    for cells in _stacked(heads, each):
        yield [(" " * (LABEL + 2), ""), ("".join(cells), HEAD)]
    for section, found in facts(c):
        if not found:
            continue
        yield title(section)
        tight = any(
            len(_cell(grouped, v)) >= each for _, show, values in found if show is grouped for v in values[shown]
        )
        for label, show, values in found:
            texts = _texts(scaled if show is grouped and tight else show, values)
            yield from _row(label, texts[shown], each, differs=unequal(values))
        yield []


def _texts(show: Show, values: list[Any]) -> list[str]:
    """The values as text; where different ones would look alike, to the last digit."""
    made = [_cell(show, v) for v in values]
    if unequal(values) and not unequal(made):
        return [_cell(lambda n: f"{n:,}" if isinstance(n, int | float) else str(n), v) for v in values]
    return made


def _stacked(texts: Sequence[str], width: int) -> Iterator[list[str]]:
    """Texts in columns, over as many lines as the longest needs: nothing is cut."""
    pieces = [textwrap.wrap(t, width - 1, break_on_hyphens=False) or [""] for t in texts]
    for line in itertools.zip_longest(*pieces, fillvalue=""):
        yield [piece.rjust(width) for piece in line]


def _row(label: str, texts: Sequence[str], each: int, *, differs: bool) -> Iterator[Line]:
    labels = textwrap.wrap(terminal(label), LABEL - 1, subsequent_indent="  ") or [""]
    style = STRONG if differs else ""
    for i, (said, cells) in enumerate(itertools.zip_longest(labels, _stacked(texts, each))):
        line = "".join(cells) if cells else ""
        mark = MARK if differs and i == 0 else " "
        yield [(f"{mark} ", WARN), (f"{said or '':<{LABEL}}", DIM), (line, style)]


def _cell(show: Show, value: object) -> str:
    return "-" if value is None else terminal(show(value))


def _notes(c: Compared) -> Iterator[Line]:
    if same_design(c):
        yield from wrapped(SAME, 0, WARN)
    yield from wrapped(f"{MARK} marks what differs. {_SIZES}", 0, DIM)
    for s in beyond(c):
        yield from wrapped(_less(terminal(s.name), s, c), 0, WARN)


SAME = "One design, another computation: the constants above differ, and a model that takes the other's is wrong."


def _less(name: str, s: Subject, c: Compared) -> str:
    return f"{name} states a context of {s.row.max_context:,} tokens, less than {c.at:,}."


_SIZES = "Sizes are logical bytes of one sequence: no pages, padding or engine's reserve; a cache's scales not counted."


def as_markdown(c: Compared) -> Iterator[str]:
    """One Markdown table, rows that differ marked in their first cell; under it, contexts beyond the stated ones."""
    yield f"| | at {tokens(c.at)}, cache at {c.dtype} | {' | '.join(markdown(s.name) for s in c.subjects)} |"
    yield "|---|---|" + "---:|" * len(c.subjects)
    for _, found in facts(c):
        for label, show, values in found:
            cells = ["-" if v is None else markdown(show(v)) for v in values]
            yield f"| {MARK if unequal(values) else ''} | {label.strip()} | {' | '.join(cells)} |"
    if same_design(c):
        yield from ("", SAME)
    for s in beyond(c):
        yield from ("", _less(markdown(s.name), s, c))


def as_object(c: Compared) -> dict[str, Any]:
    """For programs: every fingerprint whole, what depends on context and type under `at`, and columns that differ."""
    models = [
        msgspec.to_builtins(s.row) | {"name": s.name, "source": s.source, "at": msgspec.to_builtins(s.sized)}
        for s in c.subjects
    ]
    columns = [k for k in Fingerprint.__struct_fields__ if k not in ("repo_id", "revision")]
    differing = [k for k in columns if unequal([getattr(s.row, k) for s in c.subjects])]
    constants = inspect.other_constants([s.derived for s in c.subjects])
    made = {"context": c.at, "cache_dtype": c.dtype, "models": models, "differing": differing}
    return made | {"constants": constants, "same_design": len({s.row.design_id for s in c.subjects}) == 1}
