"""Derives in batches of about a thousand repositories, each where the caller wants: here, in threads, on a cluster."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

import polars as pl

from atlas.interpret import Derived
from pipeline.refresh import composing
from pipeline.refresh import tables as derive
from pipeline.refresh.found import Found
from pipeline.refresh.tables import Gatherer, no_collection
from pipeline.store.staged import Staged

SIZE = 1_000
"""Repositories of a batch: handing one to a thread or a cluster costs as much as deriving a few hundred configs."""
AHEAD = 8
"""Batches under way at a time, so that memory holds these and not the whole source."""

Tables = dict[str, pl.DataFrame]
T = TypeVar("T")


class Pending(Protocol):
    """A batch that is being derived; `result` waits for its tables."""

    def result(self) -> Tables:
        """The tables of the batch."""
        ...


def tables(
    found: Iterable[Found],
    submit: Callable[[list[bytes]], Pending],
    *,
    known: Mapping[bytes, Derived] | None = None,
    extra: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    size: int = SIZE,
    ahead: int = AHEAD,
    tick: Callable[[int], object] | None = None,
) -> Staged:
    """What `derive.tables` makes of the same repositories; `submit` has `texts` done to the texts of each batch.

    `tick` is told after every batch how many repositories are done. Raises as `derive.tables`.
    """
    known = known or {}
    staged, seen = Staged(), set[bytes]()
    gatherer = Gatherer(known, staged.add)
    done = 0
    with no_collection():
        for pending, batch in _ahead(((submit(_fresh(b, known, seen)), b) for b in batched(found, size)), ahead):
            gatherer.take(pending.result())
            for one in batch:
                gatherer.add(one)
            done += len(batch)
            if tick:
                tick(done)
        gatherer.finish(extra or {})
        return composing.composed(staged, derive.of_texts)


def texts(raws: Sequence[bytes]) -> Tables:
    """The tables of these texts by themselves: what is done to a batch. Repositories come in later."""
    return derive.of_texts(raws)


def batched(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size`, the last perhaps shorter."""
    rest = iter(things)
    while batch := list(islice(rest, size)):
        yield batch


def _fresh(batch: list[Found], known: Mapping[bytes, Derived], seen: set[bytes]) -> list[bytes]:
    """The texts of a batch that are neither known nor in an earlier one."""
    found = {hashlib.sha256(one.raw).digest(): one.raw for one in batch if one.raw is not None}
    fresh = {key: raw for key, raw in found.items() if key not in seen and raw not in known}
    seen.update(fresh)
    return list(fresh.values())


def _ahead(things: Iterable[T], many: int) -> Iterator[T]:
    """The same things in the same order, each taken from its source `many` before it is given."""
    waiting: deque[T] = deque()
    for thing in things:
        waiting.append(thing)
        if len(waiting) > many:
            yield waiting.popleft()
    yield from waiting
