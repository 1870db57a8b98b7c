"""A live display for anything that takes more than a second, at a terminal only; elsewhere nothing moves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.hub.crawl import Progress

PATIENCE_SECONDS = 1.0
WORDS = {
    "listing": "Listing repositories",
    "configs": "Fetching configs",
    "derive": "Deriving architectures",
    "headers": "Reading headers",
}


def _plainly(*, quiet: bool) -> Callable[[Progress], None]:
    """Off a terminal nothing moves; that the Hub gives no answer is said once for every reason."""
    said: set[str] = set()

    def tell(now: Progress) -> None:
        if now.trouble is not None and not quiet and now.trouble not in said:
            said.add(now.trouble)
            print(f"atlas: {waiting(now)}", file=sys.stderr)  # noqa: T201 - messages go to stderr

    return tell


def _bars() -> Any:
    """Bars, and below them a line that counts down while the Hub gives no answer, or a quota is waited for."""
    import msgspec
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Counting(Bars):
        now: Progress | None = None
        until = 0.0

        def get_renderables(self) -> Iterator[Any]:
            yield from super().get_renderables()
            left = self.until - time.monotonic()
            if self.now is not None and left > 0:
                # A line of its own, uncut: beside the bars a terminal of 80 columns has no room for it.
                yield Text(waiting(msgspec.structs.replace(self.now, pause_seconds=left)), no_wrap=True)

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    return Counting(*columns, console=Console(stderr=True), transient=True)


def waiting(now: Progress) -> str:
    """Why it does not go on, and for how long that is put up with."""
    if now.trouble is None:
        return f"resting {now.pause_seconds:.0f} s for the quota" if now.pause_seconds >= 1 else ""
    return f"the Hub gives no answer ({now.trouble}); tried for {max(0.0, now.pause_seconds):.0f} s more"


@contextmanager
def watching(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Give a function that shows progress on stderr; it says nothing in the first second, nor off a terminal."""
    if quiet or not sys.stderr.isatty():
        yield _plainly(quiet=quiet)
        return
    began = time.monotonic()
    bars = _bars()
    tasks: dict[str, int] = {}

    def show(now: Progress) -> None:
        if now.trouble is None and time.monotonic() - began < PATIENCE_SECONDS:
            return
        bars.start()
        if now.stage not in tasks:
            tasks[now.stage] = bars.add_task(WORDS.get(now.stage, now.stage), total=None, note="")
        waited = f"waited {now.waited_seconds:.0f} s for quota" if now.waited_seconds >= 1 else ""
        bars.now, bars.until = now, time.monotonic() + now.pause_seconds
        bars.update(tasks[now.stage], completed=now.done, total=now.total, note=waited)

    try:
        yield show
    finally:
        bars.stop()
