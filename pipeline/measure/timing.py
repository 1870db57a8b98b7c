"""Timing that a slow minute of the machine does not decide: rounds in alternating order, medians, quartiles."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline.sources.measured import Number

Clock = Callable[[], float]


class Spread(NamedTuple):
    """The median of samples and their quartiles."""

    value: float
    low: float
    high: float
    samples: int


def spread(samples: Sequence[float]) -> Spread:
    """Median and quartiles; one sample is all three."""
    if len(samples) < 2:
        return Spread(samples[0], samples[0], samples[0], 1)
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Spread(middle, low, high, len(samples))


def number(subject: str, quantity: str, samples: Iterable[float], unit: str, factor: float = 1) -> Number:
    """The median of samples as a measured number, each of them times `factor`."""
    value, low, high, n = spread([s * factor for s in samples])
    return Number(subject, quantity, value, unit, low, high, n)


class Passes(NamedTuple):
    """Seconds of passes by the wall clock, and those the processor worked on them (all threads of this process)."""

    wall: list[float]
    processor: list[float]


def interleaved(
    works: Mapping[str, Callable[[], Passes]], rounds: int, seconds: float, clock: Clock = time.perf_counter
) -> dict[str, Passes]:
    """Passes of each work, over rounds that run them forwards and backwards in turn; the first round is left out.

    No round begins after so many `seconds`, but for the first that counts.
    """
    found = {name: Passes([], []) for name in works}
    began = clock()
    for i in range(1 + rounds):
        if i > 1 and clock() - began > seconds:
            break
        for name in list(works)[:: 1 if i % 2 == 0 else -1]:
            took = works[name]()
            if i:
                found[name].wall.extend(took.wall)
                found[name].processor.extend(took.processor)
    return found


def timed(
    work: Callable[[], object], repeats: int, clock: Clock = time.perf_counter, busy: Clock = time.process_time
) -> Passes:
    """So many passes of a work."""
    found = Passes([], [])
    for _ in range(repeats):
        start, worked = clock(), busy()
        work()
        found.wall.append(clock() - start)
        found.processor.append(busy() - worked)
    return found
