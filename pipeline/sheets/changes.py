"""A difference between snapshots as lines for people: 80 columns, the Hub's changes apart from ours, names harmless."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline.text import shorten, terminal

if TYPE_CHECKING:
    from pipeline.refresh.rederive import Rederived
    from pipeline.store.diff import Change, Difference, Example, Ours, Theirs

WIDTH = 80
SHOWN = 10
"""Names of a list, and columns with examples, that are shown; --json has all."""
EXAMPLES = 3


def lines(found: Difference) -> Iterator[str]:
    """What changed from one snapshot to another."""
    yield (
        f"from {found.before} to {found.after}"
        + _versions("atlas", found.code_versions)
        + _versions("schema", found.schema_versions)
    )
    if found.is_empty:
        yield "nothing changed, daily counts apart"
    yield from _hub(found.hub)
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


def _hub(hub: Theirs) -> Iterator[str]:
    if not (hub.added or hub.removed or hub.outcomes or hub.configs):
        return
    yield ""
    more, fewer, other = (f"{len(names):,}" for names in (hub.added, hub.removed, hub.configs))
    yield f"The Hub's: {more} models more, {fewer} fewer, {other} with another config"
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
        yield from (_cut(f"    {terminal(name)}") for name in names[:SHOWN])
    if len(names) > SHOWN:
        yield f"    ... and {len(names) - SHOWN:,} more"


def _changes(columns: list[Change]) -> Iterator[str]:
    for change in columns[:SHOWN]:
        yield f"  {change.column} ({change.rows:,})"
        yield from (_cut(f"    {_example(example)}") for example in change.examples[:EXAMPLES])
    if len(columns) > SHOWN:
        rest = ", ".join(f"{c.column} ({c.rows:,})" for c in columns[SHOWN:])
        yield from textwrap.wrap(f"also {rest}", WIDTH, initial_indent="  ", subsequent_indent="    ")


def _example(example: Example) -> str:
    """One value before and after; of long ones, what stands around the first difference."""
    before, after = (terminal("null" if v is None else v) for v in (example.before, example.after))
    room = max(12, (WIDTH - len(example.repo_id) - 10) // 2)
    start = next(
        (i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), min(len(before), len(after))
    )
    lead = 0 if max(len(before), len(after)) <= room else max(0, start - room // 3)
    old, new = (shorten(("…" if lead else "") + v[lead:], room) for v in (before, after))
    return f"{shorten(terminal(example.repo_id), 44)}: {old} -> {new}"


def _cut(line: str) -> str:
    return shorten(line, WIDTH)


def _other(found: Difference) -> Iterator[str]:
    for table, (gone, new) in found.facts.items():
        if gone or new:
            yield f"{table}: {new:,} rows more, {gone:,} fewer"
    yield from _listed("columns only in the first", found.columns_gone)
    yield from _listed("columns only in the second", found.columns_new)


def _versions(what: str, pair: tuple[str, str]) -> str:
    return "" if pair[0] == pair[1] else f", {what} {pair[0]} -> {pair[1]}"
