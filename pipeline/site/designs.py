"""The files of designs: a sheet, a drawing and data for each, some at a time, and by several processes where many."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pipeline.drawing import picture
from pipeline.site import gather, programs, sheet
from pipeline.site.gather import About, Design
from pipeline.site.shell import framed
from pipeline.site.words import Near

if TYPE_CHECKING:
    from concurrent.futures import Future

AT_ONCE = 48
ALONE = 400
"""Designs up to which a second process would cost more than it gains."""
PROCESSES = 2
Files = list[tuple[str, str]]


class Wanted(msgspec.Struct, frozen=True):
    """A design, what is near it, and what its history says."""

    design: Design
    near: list[Near]
    history: list[str]


def files(snapshot_path: Path, about: About, wanted: list[Wanted]) -> Iterator[tuple[str, str]]:
    """Path and text of every file of these designs, in their order; the same however many processes work."""
    some = [wanted[n : n + AT_ONCE] for n in range(0, len(wanted), AT_ONCE)]
    if len(wanted) <= ALONE or (os.cpu_count() or 1) == 1:
        for each in some:
            yield from made(snapshot_path, about, each)
    else:
        yield from _by_processes(snapshot_path, about, some)


def _by_processes(snapshot_path: Path, about: About, some: list[list[Wanted]]) -> Iterator[tuple[str, str]]:
    """At most as many results wait as there are processes and one more, so that memory does not grow."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    waiting: deque[Future[Files]] = deque()
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        for each in some:
            waiting.append(pool.submit(made, snapshot_path, about, each))
            if len(waiting) > PROCESSES + 1:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def made(snapshot_path: Path, about: About, wanted: list[Wanted]) -> Files:
    """Sheet, drawing and data of each of these designs."""
    with gather.opened(snapshot_path) as con:
        of = gather.details(con, [w.design for w in wanted])
    return [file for w in wanted for file in _one(w, of[w.design.design_id], about)]


def _one(w: Wanted, of: gather.Detail, about: About) -> Iterator[tuple[str, str]]:
    d = w.design
    drawn = picture.draw(of.derived, d.name) if of.derived else None
    if drawn:
        yield sheet.path(d, "svg"), drawn
    page = sheet.page(d, of, about, w.near, w.history, is_drawn=bool(drawn))
    yield page.path, framed(page, str(about))
    yield sheet.path(d, "json"), programs.design(d, of, about)
