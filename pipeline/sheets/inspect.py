"""Derivations as objects for programs, what-ifs beside their originals, and folders of configs as a list."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.tabulate import layers_expanded, state_rows
from pipeline.sheets.lines import DIM, STRONG, WARN, Line, title, wrapped
from pipeline.sheets.stored import hypothetical_object
from pipeline.sheets.widths import words_of
from pipeline.text import json_line, shorten, terminal
from pipeline.units import binary, scaled


def as_object(d: Derived, *, layers: bool, evidence: bool) -> dict[str, Any]:
    """The fingerprint as an object and what its layers keep, with its layers and evidence where asked for."""
    made: dict[str, Any] = msgspec.to_builtins(d.fingerprint)
    made["stored"] = msgspec.to_builtins(d.stored.rows)
    made["stored_evidence"], made["stored_reason"] = d.stored.evidence, d.stored.reason or d.stored.note
    made["states"] = [] if d.model is None else state_rows(d.model, drafts=True)
    if layers:
        made["layers"] = [] if d.model is None else msgspec.to_builtins(layers_expanded(d.model))
    if evidence:
        made["evidence"] = msgspec.to_builtins(d.evidence)
    if evidence or d.unread:
        made["unread"] = list(d.unread)
    return made


def supposed_object(d: Derived, weights: str | None) -> dict[str, Any]:
    """What a hypothetical form adds to a model's object; nothing where none is asked for."""
    return {} if weights is None else {"hypothetical": hypothetical_object(d, weights)}


def encoded(value: object) -> str:
    """JSON on one line; what cannot be JSON is shown as text. Nothing in it moves a terminal."""
    return json_line(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode())


def what_if(before: Derived, after: Derived) -> Iterator[Line]:
    """What a change makes of a model: columns and constants that differ."""
    if after.model is not None:
        yield from differences(before.fingerprint, after.fingerprint)
        yield from computing(before, after)


def differences(before: Fingerprint, after: Fingerprint) -> Iterator[Line]:
    """Columns that differ, original and what-if side by side."""
    yield title("What the change makes of it", "original, what-if")
    columns = [c for c in Fingerprint.__struct_fields__ if getattr(before, c) != getattr(after, c)]
    shown = list(_telling(before, after, columns))
    for column in shown:
        was, now = getattr(before, column), getattr(after, column)
        maps = isinstance(was, dict) and isinstance(now, dict)
        for label, one, other in _entries(column, was, now) if maps else ((column, was, now),):
            yield from _pair(label, one, other)
    if not columns:
        yield [("  no column differs", DIM)]
    if len(columns) > len(shown):
        yield [(f"  and {len(columns) - len(shown)} columns that follow from these, which --json has", DIM)]


def _telling(before: Fingerprint, after: Fingerprint, columns: list[str]) -> Iterator[str]:
    """The columns without shares, ranks and batches, and of sizes that are the same twice the first."""
    seen: set[tuple[Any, Any]] = set()
    for column in columns:
        pair = getattr(before, column), getattr(after, column)
        repeated = column.startswith(_SIZES) and pair in seen
        if not column.startswith(_FOLLOWING) and not repeated:
            yield column
        if column.startswith(_SIZES):
            seen.add(pair)


_FOLLOWING = ("share_", "tp_alignment", "params_rank_", "kv_bytes_per_token_rank_", "decode_weight_bytes_b")
"""Columns that follow from others whenever those change."""
_SIZES = ("params_", "growth_", "kv_bytes_")


def _pair(label: str, one: object, other: object) -> Iterator[Line]:
    """Two values on a line, or each on lines of its own where a word would be cut."""
    texts = [terminal(str(v)) for v in (one, other)]
    if isinstance(one, float) and isinstance(other, float):
        was, now = _apart(one, other)
        yield [(f"  {label:<32}", ""), (f"{was:>22}", DIM), (f"{now:>22}", STRONG)]
        return
    if all(len(t) <= 21 or not isinstance(v, str | list | tuple) for t, v in zip(texts, (one, other), strict=True)):
        yield [(f"  {label:<32}", ""), (f"{_shown(one):>22}", DIM), (f"{_shown(other):>22}", STRONG)]
        return
    yield [(f"  {label}", "")]
    yield from wrapped(f"was {texts[0]}", 6, DIM)
    yield from wrapped(f"now {texts[1]}", 6, STRONG)


def _apart(one: float, other: float) -> tuple[str, str]:
    """Two fractions with as many digits as tell them apart; whole numbers in groups."""
    if one.is_integer() and other.is_integer():
        return f"{one:,.0f}", f"{other:,.0f}"
    for digits in (4, 6, 9, 17):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            return texts
    return str(one), str(other)


def computing(before: Derived, after: Derived) -> Iterator[Line]:
    """Constants that differ: the same design computes something else."""
    found = other_constants([before, after])
    if not found:
        return
    same = before.fingerprint.design_id == after.fingerprint.design_id
    yield [("  same design, another computation:" if same else "  another computation:", WARN)]
    for name, values in found.items():
        was, now = (f"{_exact(v):>22}" for v in values)
        yield [(f"  {name:<32}", ""), (was, DIM), (now, STRONG)]


def _exact(value: object) -> str:
    """A constant as it is: an epsilon has no four decimals."""
    return f"{value:g}" if isinstance(value, float) else _shown("-" if value is None else value)


def other_constants(found: list[Derived]) -> dict[str, list[object]]:
    """The constants that are not the same for all, by name, with a value each; None where nothing states one."""
    each = [{e.field: e.value for e in d.constants} for d in found]
    names = sorted({name for known in each for name in known})
    table = {name: [known.get(name) for known in each] for name in names}
    return {name: values for name, values in table.items() if any(v != values[0] for v in values)}


def _entries(column: str, was: dict[str, object], now: dict[str, object]) -> Iterator[tuple[str, object, object]]:
    """What differs within a column that is a map, entry by entry."""
    for key in {**was, **now}:
        if was.get(key) != now.get(key):
            yield f"{column} {terminal(key)}", was.get(key), now.get(key)


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return shorten(terminal(f"{value:.4f}" if isinstance(value, float) else str(value)), 21)


def summary(found: list[Derived], at: int, width: float) -> Iterator[Line]:
    """One line per model of a folder, the cache at so many tokens and bytes an element, and the counts of verdicts."""
    yield title(f"{'model':<34}{'parameters':>12}{'active':>9}{'B/token':>10}{words_of(at):>10}")
    for d in found:
        f = d.fingerprint
        name = shorten(terminal(f.repo_id or ""), 33)
        if f.params_total is None or f.params_active is None:
            yield [(f"{name:<34}", ""), (shorten(f"{f.refusal_kind}: {terminal(f.refusal_reason or '')}", 46), WARN)]
            continue
        grows = None if d.model is None or f.kv_bytes_per_token is None else measure.kv_bytes_per_token(d.model, width)
        held = None if d.model is None or f.kv_bytes_4k is None else measure.kv_bytes(d.model, at, width)
        cache = "-" if grows is None else f"{math.ceil(grows):,}"
        total = "-" if held is None else binary(held)
        yield [
            (f"{name:<34}", ""),
            (f"{scaled(f.params_total):>12}{scaled(f.params_active):>9}{cache:>10}{total:>10}", ""),
        ]
    verdicts = [d.fingerprint.verdict for d in found]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))
    yield [(f"{len(found)} config{'' if len(found) == 1 else 's'}: {counts}", STRONG)]
