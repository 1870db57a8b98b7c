"""Derivation in processes: the same batches with the same tables, on as many cores as there are."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

from pipeline.errors import AtlasError
from pipeline.refresh import batches
from pipeline.refresh.batches import Pending, Tables

T = TypeVar("T")
FEW = 4_000
"""Repositories below which starting processes costs as much as they save."""
MOST = 8
"""Processes without being asked: each keeps some 200 MiB of structures it has met."""


def usual() -> int:
    """Processes where nobody says how many: one per core that this one may use."""
    return min(MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@contextmanager
def submitting(workers: int) -> Iterator[Callable[[list[bytes]], Pending]]:
    """What hands a batch of texts to one of so many processes; they end with the block, whatever ends it.

    They are started afresh, not forked: libraries with threads of their own do not survive a fork.
    """
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_bound_to_the_parent)
    try:
        yield lambda raws: _Handed(_alive(lambda: _submitted(pool, raws)))
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, raws: list[bytes]) -> Future[Tables]:
    with _unheard():
        return pool.submit(batches.texts, raws)


def _bound_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal: the parent ends the others. They end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _unheard() -> Iterator[None]:
    """Keep Ctrl-C until afterwards: what is started meanwhile does not hear it before it is told to leave it alone."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alive(ask: Callable[[], T]) -> T:
    """What the processes answer; raises AtlasError where one was killed."""
    try:
        return ask()
    except BrokenProcessPool as error:
        raise AtlasError(
            "a process that derived configs was killed, perhaps for lack of memory; nothing was published,"
            " run again with --workers 1"
        ) from error


class _Handed:
    """A batch in another process."""

    def __init__(self, future: Future[Tables]) -> None:
        self._future = future

    def result(self) -> Tables:
        """The tables of the batch; raises as `_alive`."""
        return _alive(self._future.result)
