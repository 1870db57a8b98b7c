"""What was measured, as rows of a snapshot: the shipped run of `atlas measure`, and what a home holds of its own.

A home's own run of an experiment takes the place of the shipped one; imported benchmarks stand beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from pipeline.errors import Invalid

FOLDER = "measurements"
"""Where a home keeps them."""

BLANK = dict.fromkeys(("low", "high", "samples", "hardware", "engine", "engine_version"))
"""What a row says that has no samples and ran on no machine in particular."""

LARGEST = 2**22
"""Bytes of a file of measurements."""


class Number(msgspec.Struct, frozen=True, omit_defaults=True):
    """One measured number; `low` and `high` are the quartiles of its samples, whose median is the value."""

    subject: str
    quantity: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    samples: int | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment or benchmark on one machine on one day."""

    experiment: str
    measured_on: date
    hardware: str
    engine: str
    engine_version: str
    conditions: str
    numbers: tuple[Number, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the table `measurements`."""
        common = {f: getattr(self, f) for f in self.__struct_fields__ if f != "numbers"}
        return [{**common, **{f: getattr(n, f) for f in n.__struct_fields__}} for n in self.numbers]


_decoder = msgspec.json.Decoder(tuple[Run, ...])


@cache
def shipped() -> tuple[Run, ...]:
    """The committed runs."""
    return _decoder.decode((files("pipeline.sources") / "measured.json").read_bytes())


def encoded(runs: Sequence[Run]) -> bytes:
    """The text of a file of runs."""
    return msgspec.json.format(msgspec.json.encode(tuple(runs)), indent=1) + b"\n"


def at(home: Path) -> list[Path]:
    """The home's files of measurements, in the order of their names."""
    return sorted((home / FOLDER).glob("*.json"))


def held(path: Path) -> tuple[Run, ...]:
    """The runs of a file that `atlas measure` wrote; raises `Invalid` for any other."""
    try:
        if path.stat().st_size > LARGEST:
            raise Invalid(f"{path} is larger than any run of atlas measure: remove it, and import its source again")
        return _decoder.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        said = f"{path} holds no measurements ({error}): remove it, and measure or import again"
        raise Invalid(said) from error


def rows(home: Path | None = None) -> list[dict[str, Any]]:
    """Every row, each key once: of two with one key the one that is read last stands. Raises `Invalid`."""
    own = [] if home is None else [run for path in at(home) for run in held(path)]
    replaced = {run.experiment for run in own}
    runs = [*(r for r in shipped() if r.experiment not in replaced), *own]
    keyed = ("experiment", "subject", "quantity", "conditions", "measured_on")
    found = {tuple(row[k] for k in keyed): row for run in runs for row in run.rows()}
    return list(found.values())


def digest(home: Path) -> str:
    """What the home's own measurements come to: empty where there are none."""
    own = [path.read_bytes() for path in at(home)]
    return hashlib.sha256(b"\0".join(own)).hexdigest() if own else ""
