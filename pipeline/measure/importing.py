"""`atlas measure --import`: an engine's benchmark as dated rows, beside what the structure allows at best.

The file is a stranger's: it is only data, a model it names is looked up in the atlas and nowhere else, and a result
that is cut short or contradicts itself is refused whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from atlas.derived import Derived
from pipeline.ask import resolver
from pipeline.ask.found import Asking
from pipeline.errors import Usage
from pipeline.measure import bench, llama_bench, vllm_bench
from pipeline.measure.bench import Bench, Entry
from pipeline.measure.bounds import Beside, beside
from pipeline.measure.running import keep, said
from pipeline.serve.gpus import Gpu, bytes_of, gpu_of
from pipeline.serve.subject import subject
from pipeline.sheets.lines import DIM, STRONG, WARN, Line, title, wrapped
from pipeline.sources.measured import Number, Run
from pipeline.text import shorten, terminal

TOOLS = (llama_bench, vllm_bench)
BEYOND = (
    "a number is better than its bound: the machine or the model is another than stated, a prompt was cached before,"
    " or a step made several tokens"
)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an import, as given."""

    model: str | None = None
    gpu: str | None = None
    bandwidth: str | None = None
    hardware: str | None = None
    version: str | None = None
    tp: int | None = None
    home: Path = Path()
    snapshot: str | None = None
    endpoint: str | None = None
    offline: bool = False


class Imported(NamedTuple):
    """One result as a run, and its bounds, by the quantity that each bounds."""

    run: Run
    bounds: dict[str, Beside]
    why_none: str | None


def imported(path: Path, asked: Asked) -> list[Imported]:
    """The results of a file with their bounds, kept in the home.

    Raises:
        Usage: the file is none of the two tools', is cut short or contradicts itself, or an option is missing.
        NotFound, Upstream, Invalid: there is no such file, or no such model.
    """
    found = [_imported(b, asked) for b in benches(path, asked)]
    runs = [one.run for one in found]
    digest = hashlib.sha256(msgspec.json.encode(runs)).hexdigest()
    keep(asked.home, runs, f"{runs[0].experiment.replace(' ', '-')}-{digest[:12]}.json")
    return found


def benches(path: Path, asked: Asked) -> list[Bench]:
    """The results of a file, with what options say of them. Raises `Usage` and `NotFound`."""
    return [_with_options(_read(e), e, asked) for e in bench.each(path, bench.entries(path))]


def _read(e: Entry) -> Bench:
    for tool in TOOLS:
        if tool.is_one(e.raw):
            return tool.read(e)
    raise e.wrong("it is a result of neither tool")


def _with_options(b: Bench, e: Entry, a: Asked) -> Bench:
    if b.on_cpu and a.gpu is not None:
        raise e.wrong(f"it ran on a CPU, and --gpu {a.gpu} is none: say --bandwidth, such as 80GB a second")
    hardware = b.hardware or a.hardware or (None if a.gpu is None else gpu_of(a.gpu, None).name)
    version = b.version or a.version
    if hardware is None:
        raise Usage(f"{e.where} does not say on what it ran: add --gpu, or --hardware with its name")
    if version is None:
        raise Usage(f"{e.where} does not say which version of {b.engine} ran: add --engine-version")
    return msgspec.structs.replace(b, hardware=bench.kept(hardware), version=bench.kept(version), tp=a.tp or b.tp)


def _imported(b: Bench, a: Asked) -> Imported:
    named = _model(b, a)
    bounds = [] if named is None else beside(b, named[1], _gpu(a))
    numbers = (*b.numbers, *(x.number for x in bounds))
    name = b.model if named is None else named[0]
    served = "" if name == b.model else f", served as {b.model}"
    run = Run(
        experiment=b.tool, measured_on=b.measured_on, hardware=b.hardware or "", engine=b.engine,
        engine_version=b.version or "", conditions=f"{b.conditions}{served}; {b.hardware}, {b.engine} {b.version}",
        numbers=tuple(msgspec.structs.replace(n, subject=name) for n in numbers),
    )  # fmt: skip
    return Imported(run, {x.quantity: x for x in bounds}, None if bounds else _why_none(b, a, named))


def _model(b: Bench, a: Asked) -> tuple[str, Derived] | None:
    """The model that was served: what --model means, else the atlas's own of exactly the name that the tool states."""
    if a.model is not None:
        return subject(a.home, a.snapshot, a.model, endpoint=a.endpoint, offline=a.offline)
    known = resolver.known_names(Asking(home=a.home, snapshot=a.snapshot))
    return subject(a.home, a.snapshot, b.model, offline=True) if b.model in known else None


def _gpu(a: Asked) -> Gpu:
    if a.gpu is not None and a.bandwidth is not None:
        raise Usage("--gpu and --bandwidth both say how fast memory is: give one")
    if a.bandwidth is not None:
        return Gpu(memory=0, bandwidth=bytes_of(a.bandwidth, "--bandwidth"))
    return Gpu(memory=0) if a.gpu is None else gpu_of(a.gpu, None)


def _why_none(b: Bench, a: Asked, named: tuple[str, Derived] | None) -> str:
    if b.without is not None:
        return b.without
    if named is None:
        return f"which model of the atlas '{b.model}' is was not said: add --model"
    if named[1].model is None:
        return f"{named[0]} has no structure here"
    if a.gpu is None and a.bandwidth is None:
        return "how fast the machine's memory is was not said: add --gpu, or --bandwidth"
    if b.steps is None and a.gpu is None:
        return "how many operations a second the machine does was not said: add --gpu"
    return "of these numbers none is bounded by a step's bytes or a prompt's operations"


def lines(found: Sequence[Imported]) -> Iterator[Line]:
    """Every number, what the structure allows at best, and the share of it that was reached."""
    for one in found:
        r = one.run
        yield title(shorten(terminal(r.numbers[0].subject), 40), f"{r.experiment}, {r.measured_on}")
        yield from wrapped(terminal(r.conditions), 2, DIM)
        for n in r.numbers:
            if ", bound: " not in n.quantity:
                yield _line(n, one.bounds.get(n.quantity))
        for b in one.bounds.values():
            yield from wrapped(f"bound of {b.quantity}: {b.made_of}", 2, DIM)
        if any(n.quantity in one.bounds and _reached(n, one.bounds[n.quantity]) > 1 for n in r.numbers):
            yield from wrapped(BEYOND, 2, WARN)
        if one.why_none:
            yield from wrapped(terminal(f"no bound: {one.why_none}"), 2, WARN)
        yield []


def _line(n: Number, b: Beside | None) -> Line:
    shown = [(f"  {shorten(n.quantity, 32):<33}", ""), (f"{said(n.value):>12}", STRONG), (f" {n.unit:<10}", DIM)]
    if b is None:
        return shown
    word = "at least" if b.unit == "ms" else "at most"
    return [*shown, (f" {word} {said(b.best)}, {_reached(n, b):.0%} reached", DIM)]


def _reached(n: Number, b: Beside) -> float:
    return b.best / n.value if b.unit == "ms" else n.value / b.best
