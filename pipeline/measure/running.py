"""The run of both experiments, what it wrote, and what it says."""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline import durable
from pipeline.errors import Usage
from pipeline.measure import depth, machine, published, vocabularies
from pipeline.sheets.lines import DIM, STRONG, Line, title, wrapped
from pipeline.sources import measured
from pipeline.sources.measured import Number, Run

FILE = "experiments.json"
EXTRA = "pip install 'llm-architecture-atlas[measure]'"


def library(name: str) -> Any:
    """A library of the extra; raises `Usage`, with what to install, where it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        said = f"the experiments run real modules and need {name}, which is not installed: {EXTRA}"
        raise Usage(f"{said}\n--import FILE takes an engine's benchmark without it.") from error


def run(threads: int) -> list[Run]:
    """Both experiments, each with its machine, versions, settings and day. Raises `Usage` and `Invalid`."""
    torch, tokenizers = library("torch"), library("tokenizers")
    torch.set_num_threads(threads)
    text, before = vocabularies.corpus(), machine.load()
    shapes = depth.measured(torch)
    load = f"load average {before} before and {machine.load()} after"
    first = f"threads: {threads}, {load}, {machine.system()}; {depth.SETTINGS}"
    second = f"{machine.system()}; byte-level, merges that occur at least {vocabularies.FREQUENCY} times; {text.says}"
    return [
        _run(depth.EXPERIMENT, "torch", torch, first, shapes),
        _run(
            vocabularies.EXPERIMENT,
            "tokenizers",
            tokenizers,
            second,
            [*vocabularies.measured(tokenizers, text), *published.measured(text.held)],
        ),
    ]


def _run(experiment: str, engine: str, library_: Any, conditions: str, numbers: Sequence[Number]) -> Run:
    return Run(
        experiment=experiment, measured_on=dt.datetime.now(dt.UTC).date(), hardware=machine.hardware(), engine=engine,
        engine_version=str(library_.__version__), conditions=conditions, numbers=tuple(numbers),
    )  # fmt: skip


def keep(home: Path, runs: Sequence[Run], name: str = FILE) -> Path:
    """Write runs where the next refresh of the home finds them; raises `Busy` or `AtlasError`."""
    folder = home / measured.FOLDER
    with durable.lock(folder):
        durable.sweep(folder)
        durable.write_atomically(folder / name, measured.encoded(runs), point="measure.runs")
    return folder / name


def lines(runs: Sequence[Run]) -> Iterator[Line]:
    """Every number of runs, with what has to be known of it."""
    for r in runs:
        yield title(r.experiment, f"{r.measured_on}, {r.engine} {r.engine_version}")
        yield from wrapped(f"{r.hardware}; {r.conditions}", 2, DIM)
        for n in r.numbers:
            yield [(f"  {n.subject}: ", DIM), (f"{n.quantity} ", ""), (said(n.value), STRONG),
                   (f" {n.unit}{_between(n)}", DIM)]  # fmt: skip
        yield []


def said(value: float) -> str:
    """A value with the digits that a reader needs."""
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1e}" if abs(value) < 1e-3 else f"{value:,.3f}" if value < 10 else f"{value:,.1f}"


def _between(n: Number) -> str:
    return "" if n.low is None or n.high is None else f" ({said(n.low)} to {said(n.high)}, {n.samples})"
