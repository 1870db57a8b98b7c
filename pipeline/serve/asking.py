"""What `atlas fit` does: reads what is asked, answers for models or for all of them, for an engine, a file or a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from atlas.derived import Derived
from atlas.numbers.ranks import Split
from pipeline.ask.found import Asking
from pipeline.ask.resolver import resolve
from pipeline.ask.whatif import warnings
from pipeline.engines.geometry import geometry
from pipeline.engines.named import engine_of
from pipeline.engines.predicting import lines as prediction_lines
from pipeline.engines.predicting import predicted
from pipeline.engines.record import Engine, Geometry, Prediction
from pipeline.engines.types import kept_in
from pipeline.errors import AtlasError, Invalid, NotFound, Usage
from pipeline.serve import logs, view
from pipeline.serve.every import every
from pipeline.serve.fit import Fit, Wanted, fit
from pipeline.serve.gpus import bytes_of, gpu_of
from pipeline.serve.subject import subject
from pipeline.sheets.lines import Line
from pipeline.sheets.widths import context_of


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command, as given."""

    models: list[str] = []
    changes: list[str] = []
    gpu: str | None = None
    memory: str | None = None
    gpus: int | None = None
    tp: int | None = None
    pp: int = 1
    ep: int = 1
    dp: int = 1
    at: str | None = None
    sequences: int | None = None
    dtype: str = "bf16"
    weights: str = "stored"
    reserve: str = "0GiB"
    under: str | None = None
    top: int = 20
    engine: str | None = None
    version: str | None = None
    inputs: list[str] = []
    rules: bool = False
    home: Path = Path()
    snapshot: str | None = None
    offline: bool = False
    endpoint: str | None = None


class Answer(NamedTuple):
    """For programs, for people, and whether all of it fits and is known."""

    value: Any
    lines: Iterator[Line]
    holds: bool


def answer(a: Asked) -> Answer:
    """The answer to what is asked; raises `Usage` and `NotFound`."""
    if a.engine is not None:
        return _engine(a, engine_of(a.engine))
    _refuse(a, _OF_ENGINES, "belongs to --engine: say which")
    wanted = wanted_of(a)
    if not a.models:
        _refuse(a, ("changes",), "is a what-if of a model: name one")
        found = every(a.home, a.snapshot, wanted, _count(a.under) if a.under else None)
        fitting = [f for f in found if view.holds(f, wanted)]
        value = {"order": view.ORDER, "asked": _as_value(a), "models": [msgspec.to_builtins(f) for f in fitting]}
        return Answer(value, view.table(fitting[: a.top], found, wanted), bool(fitting))
    fits = [_with_notes(fit(name, d, wanted), said) for name, d, said in (_subject(a, m) for m in a.models)]
    value = {"asked": _as_value(a), "models": [msgspec.to_builtins(f) for f in fits]}
    return Answer(value, view.sheets(fits, wanted), all(f.fits for f in fits))


def wanted_of(a: Asked) -> Wanted:
    """What is asked of the GPUs; raises `Usage` where options contradict each other."""
    if a.gpu is None and a.memory is None:
        raise Usage("say which GPU: --gpu h100, or --memory 24GiB for any other")
    tp = a.tp if a.tp is not None else max(1, (a.gpus or a.pp) // a.pp)
    if a.gpus is not None and a.gpus != tp * a.pp:
        raise Usage(f"--gpus {a.gpus} is not TP x PP = {tp} x {a.pp}")
    if tp % a.dp or (a.ep > 1 and tp % a.ep):
        raise Usage(f"--dp-attention {a.dp} and --ep {a.ep} must divide the {tp} ranks of --tp")
    gpu, at = gpu_of(a.gpu, a.memory), None if a.at is None else context_of(a.at)
    split = Split(tp, a.pp, a.ep, a.dp)
    return Wanted(gpu, tp * a.pp, split, at, a.sequences, kept_in(a.dtype), a.weights, bytes_of(a.reserve, "--reserve"))


def _as_value(a: Asked) -> dict[str, Any]:
    return {k: v for k, v in msgspec.to_builtins(a, enc_hook=str).items() if v not in (None, [], False)}


def _count(text: str) -> float:
    """A number of parameters such as 40B; raises `Usage`."""
    units = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
    digits = text[:-1] if text[-1:].lower() in units else text
    try:
        return float(digits) * units.get(text[-1:].lower(), 1)
    except ValueError as wrong:
        raise Usage(f"--under {text}: say a number of parameters, such as 40B") from wrong


def _engine(a: Asked, engine: Engine) -> Answer:
    if a.rules:
        return Answer([r._asdict() for r in engine.rules], view.rules(engine), holds=True)
    if not a.models:
        raise Usage("--engine is asked about a model: name one, or give --rules")
    _refuse_of_gpus(a, engine)
    given = inputs_of(a, engine)
    found = [_one(a, engine, given, model) for model in a.models]
    value = [{"name": g.name, **msgspec.to_builtins(p)} for g, p in found]
    holds = all(p.predicted and not p.missing for _, p in found)
    return Answer(value, view.engine(engine, a.version or engine.newest, given, found), holds)


def _subject(a: Asked, model: str) -> tuple[str, Derived, tuple[str, ...]]:
    """A model's name and derivation, as changed by --set, and what must be known of the change."""
    found = resolve(model, Asking(home=a.home, snapshot=a.snapshot, endpoint=a.endpoint, offline=a.offline))
    if not a.changes:
        return found.title, found.derived, ()
    made = found.what_if(a.changes)
    return f"{found.title} with {', '.join(a.changes)}", made, tuple(warnings(found.derived, made, a.changes))


def _with_notes(found: Fit, said: tuple[str, ...]) -> Fit:
    return msgspec.structs.replace(found, notes=(*said, *found.notes))


def _one(a: Asked, engine: Engine, given: dict[str, Any], model: str) -> tuple[Geometry, Prediction]:
    name, d, said = _subject(a, model)
    made = geometry(name, d)
    if made is None:
        raise Invalid(f"{name} is refused ({d.fingerprint.refusal_kind}): {d.fingerprint.refusal_reason}")
    known = predicted(made, engine.name, a.version or engine.newest, given)
    return made, msgspec.structs.replace(known, assumed=(*said, *known.assumed))


_OF_GPUS = ("gpu", "memory", "gpus", "sequences", "weights", "reserve", "under", "top")
_OF_ENGINES = ("version", "inputs", "rules")
_OF_LINES = ("models", "changes", "tp", "pp", "ep", "dp", "at", "dtype", "engine", *_OF_GPUS, *_OF_ENGINES)
_OPTION = {
    "dp": "--dp-attention", "version": "--engine-version", "inputs": "--input", "models": "a MODEL",
    "changes": "--set",
}  # fmt: skip


def _refuse(a: Asked, names: Iterable[str], why: str) -> None:
    """Raise `Usage` for an option that the view asked for would have to leave out."""
    for name in names:
        if getattr(a, name) != getattr(Asked(), name):
            raise Usage(f"{_OPTION.get(name, f'--{name}')} {why}")


def _refuse_of_gpus(a: Asked, engine: Engine) -> None:
    why = f"has no part in --engine {engine.name}: what profiling left is an input of it, see --input"
    _refuse(a, _OF_GPUS, why)


_AS_INPUTS = {"tp": "tp", "pp": "pp", "ep": "ep", "dp": "dp"}


def _ranks(a: Asked, engine: Engine) -> dict[str, Any]:
    """The degrees that differ from one, as the engine's inputs; raises `Usage` for one its rules do not cover."""
    known, found = {i.name for i in engine.inputs}, dict[str, Any]()
    for name in _AS_INPUTS:
        degree = getattr(a, name)
        if degree in (None, 1):
            continue
        if name not in known:
            raise Usage(f"{_OPTION.get(name, f'--{name}')} {degree}: {_why_not(engine.name, name)}")
        found[name] = degree
    return found


def _why_not(engine: str, name: str) -> str:
    if engine == "llama.cpp":
        return "llama.cpp prints the sizes of all its devices together: leave it out"
    if engine == "vllm" and name == "dp":
        return "each replica of vllm prints its own sizes: ask with the --tp of one replica"
    return f"how {engine} shares its cache so was not read, and no number is made of it"


def inputs_of(a: Asked, engine: Engine) -> dict[str, Any]:
    """The engine's inputs as given by options and --input; raises `Usage` for one it does not have."""
    known, found = {i.name for i in engine.inputs}, _ranks(a, engine)
    if a.dtype != "bf16":
        found |= dict.fromkeys(("kv",) if "kv" in known else ("k", "v"), a.dtype)
    if a.at is not None:
        found["max_model_len"] = context_of(a.at)
    for text in a.inputs:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise Usage(f"--input {text}: {engine.name} takes {', '.join(sorted(known))}")
        found[name] = _value(value)
    return found


def _value(text: str) -> int | float | str:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def finder(a: Asked) -> Any:
    """A function from a MODEL to its geometry, or to why it has none; each is looked up once."""
    known: dict[str, Geometry | str] = {}

    def find(model: str) -> Geometry | str:
        if model not in known:
            try:
                # A file of many lines asks the Hub for none of them.
                name, d = subject(a.home, a.snapshot, model, offline=True)
            except AtlasError as reason:
                return known.setdefault(model, f"geometry: {str(reason).partition(chr(10))[0]}")
            made = geometry(name, d)
            known[model] = made or f"{name} is refused ({d.fingerprint.refusal_kind}): {d.fingerprint.refusal_reason}"
        return known[model]

    return find


def predictions(a: Asked, path: Path) -> Iterator[str]:
    """One JSON line per line of the file; raises `NotFound` where there is none, `Usage` for an option of a view."""
    _refuse(a, _OF_LINES, "has no part in --predict: its lines state everything")
    try:
        text = path.read_bytes()
    except OSError as wrong:
        raise NotFound(f"{path} cannot be read: {wrong.strerror}") from wrong
    for row in prediction_lines(text, finder(a)):
        yield orjson.dumps(row).decode()


def log(a: Asked, path: Path) -> Answer:
    """A start-up log held against what the rules predict from the inputs it states."""
    _refuse(a, ("changes",), "has no part in --explain-log: the log is of a model as it is")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as wrong:
        raise NotFound(f"{path} cannot be read: {wrong.strerror}") from wrong
    read = logs.read(text)
    if read is None:
        raise NotFound(f"{path} holds no line of an engine's start-up that is known here")
    model = a.models[0] if a.models else read.model
    if model is None:
        raise Usage("the log names no model: say which, as atlas fit MODEL --explain-log FILE")
    engine = engine_of(read.engine)
    _refuse_of_gpus(a, engine)
    given = read.inputs | inputs_of(a, engine)
    found = finder(a)(model)
    made = Prediction(missing=(found,)) if isinstance(found, str) else predicted(
        found, read.engine, a.version or read.version, given
    )  # fmt: skip
    rows = [(k, v, line, made.predicted.get(k)) for k, (v, line) in read.observed.items()]
    confirmed = [r[3] is not None and logs.agrees(r[1], float(r[3]), given, r[0]) for r in rows]
    value = {
        "engine": read.engine, "version": a.version or read.version, "model": model, "inputs": given,
        "assumed": list(made.assumed), "missing": list(made.missing),
        "lines": [{"figure": k, "observed": v, "line": line, "predicted": p, "confirmed": ok}
                  for (k, v, line, p), ok in zip(rows, confirmed, strict=True)],
    }  # fmt: skip
    return Answer(value, view.log(value), bool(confirmed) and all(confirmed))
