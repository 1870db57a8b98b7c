"""Homes with snapshots, published once in a run of the tests, by whichever worker comes first, and copied."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import hand_made
from filelock import FileLock

from pipeline.guide import render
from pipeline.refresh.records import Options
from pipeline.refresh.steps import gather, publish, tabulate
from pipeline.store import shelf

FOLDER = Path(os.environ["ATLAS_TESTS_TOGETHER"])
"""What the workers of one run share; made and removed by whoever started them."""


def catalogue(into: Path) -> Path:
    """The home `into` with the snapshot of the catalogue, without its guide."""
    return copied("catalogue", _refresh, into)


def with_guide(into: Path) -> Path:
    """The same home with the guide built in it."""
    return copied("guide", lambda home: render.build(home, shelf.locate(catalogue(home))[1]), into)


def hand_made_days(into: Path, *days: str) -> Path:
    """The home `into` with a snapshot of the hand-made atlas on each day, downloads counting from 0."""
    return copied("-".join(("days", *days)), lambda home: _days(home, days), into)


def _refresh(home: Path) -> None:
    options = Options(home)
    gathered = gather(options)
    publish(options, gathered, tabulate(gathered))


def _days(home: Path, days: tuple[str, ...]) -> None:
    for number, day in enumerate(days):
        hand_made.publish(home, day, number)


def copied(name: str, make: Callable[[Path], object], into: Path) -> Path:
    """The home `into` as `make` makes it under this name, once."""
    made = FOLDER / name
    with FileLock(FOLDER / f"{name}.lock"):
        if not (made / "whole").exists():
            shutil.rmtree(made, ignore_errors=True)
            make(made / "home")
            (made / "whole").touch()
    shutil.copytree(made / "home", into, dirs_exist_ok=True)
    return into
