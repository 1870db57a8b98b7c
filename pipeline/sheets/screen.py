"""Puts sheets on a terminal: colour where there is one, 80 columns where there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from pipeline.sheets.lines import Line, plain, styled


def write(lines: Iterator[Line]) -> None:
    """Print a sheet on stdout; off a terminal, or with NO_COLOR, as plain text without importing anything for it."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        print(plain(lines))  # noqa: T201 - data goes to stdout
        return
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for line in styled(lines):
        console.print(line)
