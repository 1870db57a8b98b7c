"""The model that a word of a command means, by any name that names one."""

from __future__ import annotations

from pathlib import Path

from atlas.derived import Derived
from pipeline.ask.found import Asking
from pipeline.ask.resolver import resolve


def subject(
    home: Path, snapshot: str | None, wanted: str, *, endpoint: str | None = None, offline: bool = False
) -> tuple[str, Derived]:
    """The name and derivation of a model, by any name that names one.

    Raises `Usage` for a folder of several configs, `NotFound` where there is no such model, `Upstream` or `Invalid`.
    """
    found = resolve(wanted, Asking(home=home, snapshot=snapshot, endpoint=endpoint, offline=offline))
    return found.title, found.derived
