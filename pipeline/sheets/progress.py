"""A live display for anything that takes more than a second, at a terminal only; elsewhere nothing moves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.hub.crawl import Progress

PATIENCE_SECONDS = 1.0
WORDS = {
    "listing": "Listing repositories",
    "configs": "Fetching configs",
    "derive": "Deriving architectures",
    "headers": "Reading headers",
}


@contextmanager
def watching(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Give a function that shows progress on stderr; it says nothing in the first second, nor off a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    began = time.monotonic()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    bars = Bars(*columns, console=Console(stderr=True), transient=True)
    tasks: dict[str, int] = {}

    def show(now: Progress) -> None:
        if time.monotonic() - began < PATIENCE_SECONDS:
            return
        bars.start()
        if now.stage not in tasks:
            tasks[now.stage] = bars.add_task(WORDS.get(now.stage, now.stage), total=None, note="")
        waited = f"waited {now.waited_seconds:.0f} s for quota" if now.waited_seconds >= 1 else ""
        bars.update(tasks[now.stage], completed=now.done, total=now.total, note=waited)  # pyright: ignore[reportArgumentType]

    try:
        yield show
    finally:
        bars.stop()
