"""A difference between snapshots as lines for people: 80 columns, the Hub's changes apart from ours, names harmless."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline.text import terminal

if TYPE_CHECKING:
    from pipeline.refresh.rederive import Rederived
    from pipeline.store.diff import Change, Difference, Example, Ours, Theirs

WIDTH = 80
SHOWN = 10
"""Names of a list, and columns with examples, that are shown; --json has all."""
EXAMPLES = 3
ROOM = 120
"""Characters of a value that are shown at once."""
LEAD = 8
"""Words and signs shown before the first that differs."""
_WORD = re.compile(r"[\w.+-]+|[^\w.+-]")


def lines(found: Difference) -> Iterator[str]:
    """What changed from one snapshot to another."""
    yield (
        f"from {found.before} to {found.after}"
        + _versions("atlas", found.code_versions)
        + _versions("schema", found.schema_versions)
    )
    if found.is_empty:
        yield "nothing changed, daily counts apart"
    yield from _theirs("The Hub's", found.hub)
    yield from _theirs("The catalogue's", found.catalogue)
    yield from ours(found.ours)
    yield from _other(found)


def rederived(found: Rederived) -> Iterator[str]:
    """What today's rules say otherwise of a snapshot."""
    then, now = found.code_version_then, found.code_version_now
    yield f"snapshot {found.snapshot}, made by atlas {then}, derived again by atlas {now}"
    if found.not_kept:
        yield f"  {found.not_kept:,} configs were too large to be kept and cannot be derived again"
    if not found.ours.changed and not any(found.ours.designs.values()):
        yield f"  all {found.ours.configs:,} configs come out the same"
    yield from ours(found.ours)


def ours(found: Ours) -> Iterator[str]:
    """Changes of rules; nothing where there are none."""
    if not found.changed and not any(found.designs.values()):
        return
    yield ""
    yield f"Ours: {found.changed:,} of {found.configs:,} unchanged configs are read differently"
    yield from _turned("verdicts", found.verdicts)
    yield from _changes(found.columns)
    for table, n in found.designs.items():
        if n:
            yield f"  {table}: {n:,} designs have other rows"


def _theirs(whose: str, hub: Theirs) -> Iterator[str]:
    if hub.is_empty:
        return
    yield ""
    more, fewer, other = (f"{len(names):,}" for names in (hub.added, hub.removed, hub.configs))
    yield f"{whose}: {more} models more, {fewer} fewer, {other} with another config"
    if hub.keys:
        yield "  keys of the configs that changed, and what follows from them:"
        yield from _changes(hub.keys)
    yield from _listed("added", hub.added)
    yield from _listed("removed", hub.removed)
    yield from _turned("outcomes", hub.outcomes)
    yield from _listed("configs", hub.configs)
    if hub.same_design:
        yield f"  {hub.same_design:,} of these configs still describe the same design"
    yield from _turned("verdicts", hub.verdicts)
    yield from _changes(hub.columns)


def _turned(head: str, examples: list[Example]) -> Iterator[str]:
    yield from _listed(head, [f"{e.repo_id}: {e.before} -> {e.after}" for e in examples])


def _listed(head: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"  {head} ({len(names):,})"
        for name in names[:SHOWN]:
            yield from _whole(terminal(name))
    if len(names) > SHOWN:
        yield f"    ... and {len(names) - SHOWN:,} more"


def _changes(columns: list[Change]) -> Iterator[str]:
    for change in columns[:SHOWN]:
        yield from _whole(f"{terminal(change.column)} ({change.rows:,})", "  ")
        for example in change.examples[:EXAMPLES]:
            yield from _whole(_example(example))
    if len(columns) > SHOWN:
        rest = ", ".join(f"{terminal(c.column)} ({c.rows:,})" for c in columns[SHOWN:])
        yield from _whole(f"also {rest}", "  ")


def _whole(text: str, indent: str = "    ") -> list[str]:
    """Lines of 80 columns that leave nothing out; only a word longer than a line goes on in the next."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    ) or [indent]


def _example(example: Example) -> str:
    """One value before and after; of long ones, the words around the first difference."""
    before, after = (terminal("null" if v is None else v) for v in (example.before, example.after))
    old, new = _around(before, after)
    return f"{terminal(example.repo_id)}: {old} -> {new}"


def _around(before: str, after: str) -> tuple[str, str]:
    """Both values, or of long ones the whole words from a few before the first that differs."""
    if max(len(before), len(after)) <= ROOM:
        return before, after
    words = [_WORD.findall(text) for text in (before, after)]
    shorter = min(map(len, words))
    start = next((i for i, (x, y) in enumerate(zip(*words, strict=False)) if x != y), shorter)
    return _from(words[0], max(0, start - LEAD)), _from(words[1], max(0, start - LEAD))


def _from(words: list[str], start: int) -> str:
    shown, end = "", start
    while end < len(words) and (not shown or len(shown) + len(words[end]) <= ROOM):
        shown, end = shown + words[end], end + 1
    return f"{'… ' if start else ''}{shown.strip()}{' …' if end < len(words) else ''}"


def _other(found: Difference) -> Iterator[str]:
    for table, (gone, new) in found.facts.items():
        if gone or new:
            yield f"{table}: {new:,} rows more, {gone:,} fewer"
    yield from _listed("columns only in the first", found.columns_gone)
    yield from _listed("columns only in the second", found.columns_new)


def _versions(what: str, pair: tuple[str, str]) -> str:
    return "" if pair[0] == pair[1] else f", {what} {pair[0]} -> {pair[1]}"
