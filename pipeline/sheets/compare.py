"""What `atlas compare` does: models of a snapshot, or local configs, side by side at one context and cache type.

Numbers are those of the fingerprint; what depends on the context or the cache's type is folded again from the
structure. Nothing is shown for a model that was refused: a comparison of guesses helps nobody.
"""

from __future__ import annotations

import itertools
import math
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from pipeline.ask.found import Asking, Found
from pipeline.ask.resolver import resolve
from pipeline.ask.whatif import shared_out, warnings
from pipeline.errors import Invalid, Usage
from pipeline.sheets import inspect
from pipeline.sheets.compared import Compared, Sized, Subject, beyond, same_design
from pipeline.sheets.facts import Show, facts, grouped, unequal
from pipeline.sheets.lines import DIM, HEAD, STRONG, WARN, WIDTH, Line, title, wrapped
from pipeline.sheets.verdicts import VERDICTS
from pipeline.sheets.widths import words_of
from pipeline.text import markdown, shorten, terminal
from pipeline.units import scaled

LABEL = 24
ABREAST = 4
"""Models in one table of 80 columns; further ones follow in tables of their own."""

MARK = "≠"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared at: a context, a cache type with its width, a stored form, keys set otherwise."""

    at: int = 128 * 1024
    dtype: str = "bf16"
    width: float = measure.CACHE_WIDTH
    weights: str | None = None
    changes: tuple[str, ...] = ()


def compare(asking: Asking, models: Sequence[str], wanted: Wanted) -> Compared:
    """The models that the words mean, each by any name that names one; one model alone beside its what-if.

    Raises:
        Usage: fewer than two models, a folder of several configs, or a change that cannot be made.
        NotFound: no such model, or no snapshot.
        Invalid: a model was refused.
        Upstream: the Hub has to be asked and does not answer.
    """
    if len(models) < 2 and not wanted.changes:
        raise Usage("one model is nothing to compare: name two or more, or give --set (atlas show has one's sheet)")
    changes = shared_out(wanted.changes, len(models))
    found = [resolve(each, asking) for each in models]
    if len(found) == 1:
        found, changes = [found[0], found[0]], [[], changes[0]]
    return together([(f, f.what_if(c), c) for f, c in zip(found, changes, strict=True)], wanted)


def together(models: Sequence[tuple[Found, Derived, Sequence[str]]], wanted: Wanted) -> Compared:
    """Models side by side, each with what it was derived to and the changes that made it. Raises `Invalid`."""
    subjects = tuple(_subject(f, d, tuple(c), wanted) for f, d, c in models)
    return Compared(subjects, wanted.at, wanted.dtype, wanted.weights)


def _subject(found: Found, derived: Derived, changes: tuple[str, ...], wanted: Wanted) -> Subject:
    name = found.title
    if found.adapter is not None:
        base = shlex.quote(terminal(found.adapter.base_model)) if found.adapter.base_model else "its base"
        raise Invalid(f"{terminal(name)} is an adapter and has no cache or shape of its own: compare {base}")
    if derived.model is None:
        f = derived.fingerprint
        raise Invalid(f"{terminal(name)} cannot be compared, it is {f.verdict} ({f.refusal_kind}): {f.refusal_reason}")
    said = tuple(warnings(found.derived, derived, list(changes))) if changes else ()
    sized = _sized(derived, wanted.at, wanted.width)
    return Subject(name, found.source, derived.fingerprint, sized, derived, found.snapshot, changes, said)


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
    for i, s in enumerate(c.subjects):
        for said in s.warnings:
            yield from wrapped(f"{_letter(i)}: {terminal(said)}", 0, WARN, hang=3)
    yield from _legend(c)
    many = len(c.subjects)
    abreast = math.ceil(many / math.ceil(many / ABREAST))
    for start in range(0, many, abreast):
        yield from _abreast(c, slice(start, start + abreast))
    yield from _notes(c)


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else str(i + 1)


def _legend(c: Compared) -> Iterator[Line]:
    alike = len({(s.row.verdict, s.source) for s in c.subjects}) == 1
    for i, s in enumerate(c.subjects):
        name = shorten(terminal(s.name), WIDTH - 3)
        said = "" if alike else terminal(f"{s.row.verdict} · {s.source}")
        gap = WIDTH - 3 - len(name) - len(said)
        yield [(f"{_letter(i)}  ", HEAD), (name, STRONG), (" " * gap + said if gap > 1 else "", DIM)]
        yield from wrapped(said, 3, DIM) if gap <= 1 else ()
        yield from wrapped(terminal(f"with {', '.join(s.changes)}"), 3, WARN) if s.changes else ()
        yield from wrapped(terminal(s.row.doubt), 3, WARN) if s.row.doubt else ()
    for verdict in dict.fromkeys(s.row.verdict for s in c.subjects):
        source = f" · {terminal(c.subjects[0].source)}" if alike else ""
        yield from wrapped(VERDICTS[verdict] + source, 0, DIM, hang=2)
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
        alike = [f"{label.strip()} {_cell(show, values[0])}" for label, show, values in found if not unequal(values)]
        for label, show, values in found:
            if unequal(values):
                yield from _row(label, _texts(scaled if show is grouped and tight else show, values)[shown], each)
        if alike and not shown.start:
            yield from wrapped(f"= {'; '.join(alike)}", 0, DIM, hang=2)
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


def _row(label: str, texts: Sequence[str], each: int) -> Iterator[Line]:
    labels = textwrap.wrap(terminal(label), LABEL - 1, subsequent_indent="  ") or [""]
    for i, (said, cells) in enumerate(itertools.zip_longest(labels, _stacked(texts, each))):
        line = "".join(cells) if cells else ""
        yield [(f"{' ' if i else MARK} ", WARN), (f"{said or '':<{LABEL}}", DIM), (line, STRONG)]


def _cell(show: Show, value: object) -> str:
    return "-" if value is None else terminal(show(value))


def _notes(c: Compared) -> Iterator[Line]:
    if same_design(c):
        yield from wrapped(SAME, 0, WARN)
    yield from wrapped(_SIZES, 0, DIM)
    for s in beyond(c):
        yield from wrapped(_less(terminal(s.name), s, c), 0, WARN)


SAME = "One design, another computation: the constants above differ, and a model that takes the other's is wrong."


def _less(name: str, s: Subject, c: Compared) -> str:
    return f"{name} states a context of {s.row.max_context:,} tokens, less than {c.at:,}."


_SIZES = "Sizes: logical bytes of one sequence, without pages, padding, an engine's reserve or a cache's scales."


def _named(s: Subject) -> str:
    return f"{s.name} with {', '.join(s.changes)}" if s.changes else s.name


def as_markdown(c: Compared) -> Iterator[str]:
    """One Markdown table, rows that differ marked in their first cell; under it, contexts beyond the stated ones."""
    yield f"| | at {words_of(c.at)}, cache at {c.dtype} | {' | '.join(markdown(_named(s)) for s in c.subjects)} |"
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
        msgspec.to_builtins(s.row)
        | {"name": s.name, "source": s.source, "snapshot": s.snapshot, "at": msgspec.to_builtins(s.sized)}
        | ({"set": list(s.changes), "warnings": list(s.warnings)} if s.changes else {})
        for s in c.subjects
    ]
    columns = [k for k in Fingerprint.__struct_fields__ if k not in ("repo_id", "revision")]
    differing = [k for k in columns if unequal([getattr(s.row, k) for s in c.subjects])]
    constants = inspect.other_constants([s.derived for s in c.subjects])
    made = {"context": c.at, "cache_dtype": c.dtype, "models": models, "differing": differing}
    return made | {"constants": constants, "same_design": len({s.row.design_id for s in c.subjects}) == 1}
