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


def _counting() -> Any:
    """A column that counts down while the Hub gives no answer, or a quota is waited for."""
    import msgspec
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Counting(ProgressColumn):
        def render(self, task: Any) -> Text:
            now = task.fields["now"]
            left = task.fields["until"] - time.monotonic()
            return Text("" if now is None or left <= 0 else waiting(msgspec.structs.replace(now, pause_seconds=left)))

    return Counting()


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
        _counting(),
    )
    bars = Bars(*columns, console=Console(stderr=True), transient=True)
    tasks: dict[str, int] = {}

    def show(now: Progress) -> None:
        if now.trouble is None and time.monotonic() - began < PATIENCE_SECONDS:
            return
        bars.start()
        if now.stage not in tasks:
            tasks[now.stage] = bars.add_task(WORDS.get(now.stage, now.stage), total=None, note="", now=None, until=0.0)
        waited = f"waited {now.waited_seconds:.0f} s for quota" if now.waited_seconds >= 1 else ""
        bars.update(tasks[now.stage], completed=now.done, total=now.total, note=waited, now=now,  # pyright: ignore[reportArgumentType]
                    until=time.monotonic() + now.pause_seconds)  # fmt: skip

    try:
        yield show
    finally:
        bars.stop()
