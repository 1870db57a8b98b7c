"""Answers of `atlas fit` for people, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.engines.record import GIB, Engine, Geometry, Input, Prediction, Rule
from pipeline.serve.fit import LONGEST, Fit, Wanted
from pipeline.serve.weights import NOTE_UNPROVEN, UNPROVEN
from pipeline.sheets.lines import DIM, STRONG, WARN, WIDTH, Line, title, wrapped
from pipeline.text import shorten, terminal
from pipeline.units import binary

ORDER = "most parameters first, then by name"
_LABEL = 20


def _row(label: str, value: str, more: str = "") -> Line:
    return [(f"  {label:<{_LABEL}}", DIM), (value, STRONG), (f"  {more}" if more else "", DIM)]


def sheets(found: list[Fit], w: Wanted) -> Iterator[Line]:
    """One sheet per model."""
    yield from _asked(w)
    for i, f in enumerate(found):
        yield from [[]] if i else []
        yield from _sheet(f, w)


def _asked(w: Wanted) -> Iterator[Line]:
    g, s = w.gpu, w.split
    degrees = {"TP": s.tp, "PP": s.pp, "EP": s.ep, "DP attention": s.dp}
    shared = ", ".join(f"{k} {n}" for k, n in degrees.items() if n > 1)
    yield [(f"{w.gpus} x {g.name}", STRONG), (f" of {_gib(g.memory)}" + (f", {shared}" if shared else ""), "")]
    if g.source != "as stated":
        yield from wrapped(f"memory and rates: {g.source}", 2, DIM)
    yield []


def _gib(n: float) -> str:
    return f"{n / GIB:,.2f} GiB"


def _size(n: float | None) -> str:
    return "-" if n is None else _gib(n)


def _sheet(f: Fit, w: Wanted) -> Iterator[Line]:
    word, style = {True: ("fits", "green"), False: ("does not fit", WARN), None: ("not known", WARN)}[f.fits]
    name = shorten(terminal(f.name), WIDTH - 14)
    yield [(name, STRONG), (f"{word:>{WIDTH - len(name)}}", style)]
    yield from wrapped(terminal(f.why), 2)
    if f.weight_bytes is not None:
        yield from _ledger(f, w)
    for note in f.notes:
        if not (note == NOTE_UNPROVEN and f.weights_are == UNPROVEN):
            yield from wrapped(f"- {terminal(note)}", 2, DIM, hang=2)


def _ledger(f: Fit, w: Wanted) -> Iterator[Line]:
    assert f.weight_bytes is not None  # noqa: S101 - the caller looked
    yield _row("weights", _gib(f.weight_bytes), f.weights_are or "")
    if f.reserve:
        yield _row("reserve", _gib(f.reserve), "for all else, as stated")
    if f.cache_bytes_per_sequence is not None and f.at is not None:
        yield _row("one sequence", _gib(f.cache_bytes_per_sequence), f"cache at {w.cache.name}, {f.at:,} tokens")
    if f.fits and f.binds is not None:
        yield _row("bound by", f.binds)
    if f.sequences is not None:
        most = "no bound" if f.sequences >= LONGEST else f"{f.sequences:,}"
        yield _row("sequences at most", most, f"of {f.at:,} tokens each" if f.at else "")
    if f.longest_context is not None:
        longest = "no bound" if f.longest_context >= LONGEST else f"{f.longest_context:,} tokens"
        yield _row("context at most", longest, f"for {w.sequences or 1} at once")
    yield from _bounds(f)


def _bounds(f: Fit) -> Iterator[Line]:
    b = f.bounds
    if b is None or not f.fits:
        return
    moved = f"at least: {binary(b.weight_bytes_read)} weights, {binary(b.cache_bytes_read)} cache"
    for label, seconds, what in (
        ("a step, bandwidth", b.seconds_by_bandwidth, moved),
        ("a step, rate", b.seconds_by_rate, "at least: operations over dense rate"),
    ):
        if seconds is not None:
            yield _row(label, f"{seconds * 1000:,.2f} ms", what)
    if b.experts_touched is not None:
        yield _row("experts touched", f"{b.experts_touched:,.1f}", "a layer and step, even routing")


def holds(f: Fit, w: Wanted) -> bool:
    """Whether a model fits and its config states at least the context that is asked about."""
    return f.fits is True and (w.at is None or (f.states_context is not None and f.states_context >= w.at))


def table(shown: list[Fit], found: list[Fit], w: Wanted) -> Iterator[Line]:
    """The models that fit, best first."""
    yield from _asked(w)
    yield [(f"{'model':<38}{'weights':>11}{'a sequence':>12}{'sequences':>10}{'left':>9}", "bold cyan")]
    for f in shown:
        each = _size(f.cache_bytes_per_sequence)
        most = "-" if f.sequences is None else f"{f.sequences:,}" if f.sequences < LONGEST else "any"
        name = shorten(terminal(f.name), 37)
        left = "-" if f.left_bytes is None else f"{f.left_bytes / GIB:,.1f}"
        yield [(f"{name:<38}", ""), (f"{_size(f.weight_bytes):>11}{each:>12}{most:>10}{left:>9}", "")]
    fitting = sum(holds(f, w) for f in found)
    unknown = sum(f.fits is None for f in found)
    at = "the stated context" if w.at is None else f"{w.at:,} tokens"
    yield from wrapped(
        f"{fitting} of {len(found)} models fit {w.sequences or 1} sequence(s) at {at}, cache at {w.cache.name}, weights"
        f" {w.weights}; {unknown} not known. Order: {ORDER}. Left: GiB of the fullest GPU.", 0, DIM,
    )  # fmt: skip
    short = sum(f.fits is True and not holds(f, w) for f in found)
    if short:
        yield from wrapped(f"{short} more would fit, and state less context: not listed.", 0, DIM)
    supposed = sum(holds(f, w) and f.weights_are is not None and "not proven" in f.weights_are for f in found)
    if supposed:
        yield from wrapped(f"Of {supposed} the stored form is not proven: weights at bf16.", 0, WARN)


def rules(e: Engine) -> Iterator[Line]:
    """The engine's inputs, with what they mean and where a default is from, then its rules."""
    yield title(f"Inputs of {e.name}", "default, origin")
    for i in e.inputs:
        yield from _input(i, i.default, f"default: {i.origin}" if i.origin else "to be given where needed")
    yield []
    yield title(f"Rules of {e.name}", "read at, proof")
    for r in e.rules:
        yield [(f"  {r.name:<26}", STRONG), (f"{r.read_at}, {r.proof}", DIM if r.proof == "logs" else WARN)]
        yield from wrapped(r.says, 4)
        yield from wrapped(r.source, 4, DIM)


def engine(
    e: Engine, version: str, given: dict[str, Any], found: list[tuple[Geometry, Prediction]]
) -> Iterator[Line]:  # fmt: skip
    """What the engine will say of each model, with the inputs that are given or wanted; --rules explains all."""
    yield title(f"{e.name} {version}", f"rules read up to {e.newest}")
    wanted = {said.split()[0].rstrip(":,") for _, p in found for said in p.missing}
    for i in e.inputs:
        if i.name in given or i.name in wanted:
            yield from _input(i, given.get(i.name), "given" if i.name in given else "to be given")
    rest = [f"{i.name} {i.default}" for i in e.inputs if i.name not in given and i.default is not None]
    yield from wrapped(f"by default: {', '.join(rest)}; --rules says what each is", 2, DIM, hang=2)
    yield []
    for g, p in found:
        yield [(shorten(terminal(g.name), WIDTH), STRONG)]
        yield from _prediction(g, p, given, {r.name: r for r in e.rules})
        yield []


def _input(i: Input, value: object, origin: str) -> Iterator[Line]:
    shown = "-" if value is None else terminal(str(value))
    yield [(f"  {i.name:<15}", STRONG), (f"{shown:<10}", ""), (shorten(origin, WIDTH - 27), DIM)]
    yield from wrapped(i.meaning, 4, DIM)


def _prediction(g: Geometry, p: Prediction, given: dict[str, Any], known: dict[str, Rule]) -> Iterator[Line]:
    yield from _logical(g, given)
    for name, value in p.predicted.items():
        yield _row(name, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}", FIGURES.get(name, ""))
    for s in p.steps:
        yield from wrapped(f"rule {s.rule}: {s.what}", 2)
        if (rule := known.get(s.rule)) is not None:
            yield from wrapped(f"{rule.source}, read at {rule.read_at}, {rule.proof}", 4, DIM)
    for text in p.assumed:
        yield from wrapped(f"assumed: {terminal(text)}", 2, WARN)
    for text in p.missing:
        yield from wrapped(f"needed: {terminal(text)}", 2, WARN)


FIGURES = {
    "tokens": "GPU KV cache size", "concurrency": "maximum concurrency, x", "block": "tokens of an attention block",
    "request_gib": "GiB that one longest request takes", "available_gib": "GiB needed for the tokens wanted",
    "kv_mib": "MiB", "k_mib": "MiB of keys", "v_mib": "MiB of values", "swa_mib": "MiB of windowed layers",
    "swa_cells": "cells of the windowed cache", "rs_mib": "MiB of recurrent states", "r_mib": "MiB of columns",
    "s_mib": "MiB of states", "index_mib": "MiB of index keys", "kv_gib": "GiB", "k_gib": "GiB of keys",
    "v_gib": "GiB of values", "conv_gib": "GiB of columns", "ssm_gib": "GiB of states", "gib": "GiB of the pool",
}  # fmt: skip


def _logical(g: Geometry, given: dict[str, Any]) -> Iterator[Line]:
    """The model's own size, without an engine: a token's and that of the length asked about."""
    grows = sum(c.elements * 2 / c.stride for c in g.own() if c.stride and c.kind in ("kv", "latent"))
    if grows:
        yield _row("logical, a token", f"{grows:,.0f} B", "at 2 bytes, windows open, all ranks")
    length = given.get("max_model_len") or given.get("cells")
    if isinstance(length, int):
        total = sum(c.bytes_at(length) for c in g.own())
        yield _row("logical, a sequence", _gib(total), f"of {length:,} tokens, at 2 bytes, all ranks")


def log(value: dict[str, Any]) -> Iterator[Line]:
    """A log held against the rules."""
    yield title(f"{value['engine']} {value['version'] or '(version not stated)'}", terminal(str(value["model"]))[:50])
    said = ", ".join(f"{k} {v}" for k, v in value["inputs"].items())
    yield from wrapped(f"The log states: {terminal(said) or 'no input'}", 2, DIM)
    for row in value["lines"]:
        made = row["predicted"]
        word = "not predicted" if made is None else "confirmed" if row["confirmed"] else "differs"
        shown = "-" if made is None else f"{made:,.2f}"
        yield [(f"  {row['figure']:<14}", ""), (f"{row['observed']:>16,.2f}", STRONG), (f"{shown:>16}", ""),
               (f"  {word}", "green" if word == "confirmed" else WARN)]  # fmt: skip
        yield [(shorten(f"    {terminal(row['line'])}", WIDTH), DIM)]
    for kind in ("assumed", "missing"):
        for text in value[kind]:
            yield from wrapped(f"{kind}: {terminal(text)}", 2, WARN)
