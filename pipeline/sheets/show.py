"""What `atlas show` and `atlas inspect` print of one model: its sheet, a what-if beside it, what is reported of it.

The structure is derived from the raw text that the name led to; where today's rules give another design than a
snapshot stored, the sheet says so and shows what the snapshot says it is.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.numbers import measure
from pipeline.ask import whatif
from pipeline.ask.found import Adapter, Found
from pipeline.durable import write_atomically
from pipeline.errors import NotFound
from pipeline.sheets.inspect import as_object, summary, supposed_object, what_if
from pipeline.sheets.lines import DIM, STRONG, WARN, Line, labelled, title, wrapped
from pipeline.sheets.sheet import sheet
from pipeline.sheets.stored import hypothetical_form
from pipeline.text import shorten, terminal
from pipeline.units import binary


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked to be shown: layers, evidence, a context and a cache type, a stored form, keys set otherwise."""

    layers: bool = False
    evidence: bool = False
    at: int | None = None
    dtype: str = "bf16"
    width: float = measure.CACHE_WIDTH
    weights: str | None = None
    changes: tuple[str, ...] = ()


def draw(found: Found, file: Path) -> None:
    """Write the drawing of its architecture as SVG; raises `NotFound` where there is no structure to draw."""
    from pipeline.drawing import picture

    drawn = picture.draw(found.derived, found.name)
    if drawn is None:
        why = found.derived.fingerprint.refusal_reason or "its structure does not say how its parts hang together"
        raise NotFound(f"{terminal(found.name)} cannot be drawn: {terminal(why)}")
    write_atomically(file, drawn, point="show.svg")


def sheet_of(found: Found, view: View) -> Iterator[Line]:
    """The sheet: what must be known of a what-if first, then the model, then what was asked beside it."""
    changes = list(view.changes)
    derived = found.what_if(changes)
    if changes:
        for said in whatif.warnings(found.derived, derived, changes):
            yield from wrapped(terminal(said), 0, WARN)
    if found.adapter is not None:
        yield from _adapter(found.adapter)
    supposed = f"A what-if, {', '.join(changes)}: no model that was published." if changes else None
    yield from sheet(derived, layers=view.layers, evidence=view.evidence, first=supposed, asked=_state(derived, view))
    if view.weights is not None:
        yield from hypothetical_form(derived, view.weights)
    if changes:
        yield from what_if(found.derived, derived)
    below = list(_below(found, supposed=bool(changes), whole=view.evidence))
    if below and (changes or derived.model is None):
        yield []
    yield from below


def _below(found: Found, *, supposed: bool, whole: bool) -> Iterator[Line]:
    """What is said under a sheet: what sources state (of the original alone), another design, where it is from."""
    if not supposed:
        yield from _reported(found, whole=whole)
    if found.snapshot is not None and found.derived.fingerprint.design_id != found.design_id:
        yield from wrapped(
            f"Today's rules give another design than snapshot {found.snapshot} holds ({found.design_id}).", 0, WARN
        )
    yield from _origin(found, supposed=supposed)


def _origin(found: Found, *, supposed: bool) -> Iterator[Line]:
    """Where the config is from, cut nowhere."""
    source = f"config from {found.source}"
    if found.snapshot is not None:
        as_of = "" if found.snapshot.startswith(str(found.as_of)) else f" as of {found.as_of}"
        source = f"{found.source}, config from {found.config_source}{as_of}"
    elif found.revision is not None:
        source += f", revision {found.revision}"
    cited = None if found.cite is None or supposed else f"cite {found.cite}"
    here = None if found.path is not None and not found.note else source
    here = source.removeprefix(f"{found.source}, ") if cited and here else here
    said = "; ".join(s for s in (here, found.note, cited) if s)
    yield from wrapped(terminal(said), 0, DIM) if said else ()


def _adapter(a: Adapter) -> Iterator[Line]:
    """What an adapter is, whose, and what it weighs itself."""
    base = a.base_model or "a base that it does not name"
    yield from wrapped(terminal(f"An adapter ({a.method}) of {base}, no model of its own."), 0, STRONG)
    told = [("rank", a.rank), ("alpha", None if a.alpha is None else f"{a.alpha:g}"), ("of", ", ".join(a.targets))]
    said = "; ".join(f"{label} {value}" for label, value in told if value)
    if said:
        yield from wrapped(terminal(said), 2, DIM)
    if a.params is None:
        yield from wrapped("Its weights are not in this folder as safetensors, so they are not counted.", 2, WARN)
    else:
        size = "" if a.bytes is None else f", {a.bytes:,} bytes"
        yield [("  its own weights  ", DIM), (f"{a.params:,}", STRONG), (f" in {a.tensors:,} tensors{size}", "")]
    if a.base_model:
        yield from wrapped(
            terminal(f"Cache and cost are those of its base: atlas show {shlex.quote(a.base_model)}"), 2, DIM
        )
    yield []


def _state(derived: Derived, view: View) -> Iterator[Line]:
    """The cache at the context or in the type that is asked for."""
    if derived.model is None or derived.fingerprint.kv_bytes_4k is None:
        return
    if view.width == measure.CACHE_WIDTH and view.at is None:
        return
    if view.at is None:
        sizes = {k.upper(): measure.kv_bytes(derived.model, t, view.width) for k, t in measure.CONTEXTS.items()}
        label, said = f"  {view.dtype} at  ", ", ".join(f"{k} {binary(n)}" for k, n in sizes.items())
    else:
        n = measure.kv_bytes(derived.model, view.at, view.width)
        label, said = f"  {view.dtype} at {view.at:,} tokens  ", f"{math.ceil(n):,} bytes = {binary(n)}"
    yield from labelled(label, said + ("; without scales" if view.width != measure.CACHE_WIDTH else ""), STRONG)


def _reported(found: Found, *, whole: bool) -> Iterator[Line]:
    """What sources state, each citation once; where in a source it stands, and counts of copies, only if asked for."""
    if not found.reported:
        return
    yield title("Reported", "by sources, not derived here")
    by_source: dict[str, list[tuple[str, str]]] = {}
    copies: list[str] = []
    for fact, value, unit, citation in found.reported:
        owner, _, source = citation.partition(": ")
        of_repository = "/" in owner and " " not in owner and bool(source)
        if of_repository and not whole:
            copies.append(f"{fact.removeprefix('stored as ')} {owner}")
            continue
        said = f"{int(value):,} {unit.partition(' ')[0] if of_repository else unit}" if value.isdecimal() else value
        said += f"  {owner}" if of_repository else ""
        source = source if of_repository else citation
        by_source.setdefault(source if whole else source.partition(";")[0], []).append((fact, said))
    for source, facts in by_source.items():
        if len(facts) == 1:
            ((fact, said),) = facts
            yield from wrapped(terminal(f"{fact:<18} {said}; {source}"), 2, hang=2)
            continue
        for fact, said in facts:
            yield [(f"  {terminal(fact):<18} ", ""), (shorten(terminal(said), 58), STRONG)]
        yield from wrapped(terminal(source), 4, DIM)
    if copies:
        yield from wrapped(terminal(f"copies stored otherwise: {', '.join(copies)}"), 2, hang=2)
    yield []


def object_of(found: Found, view: View, *, reported: bool = True) -> dict[str, Any]:
    """The fingerprint as one object, with what was asked beside it; a what-if has its original under `original`."""
    changes = list(view.changes)
    derived = found.what_if(changes)
    made = as_object(derived, layers=view.layers, evidence=view.evidence)
    made["source"] = found.source
    if reported:
        made["snapshot"] = found.snapshot
        made["cite"] = found.cite
        made["reported"] = [{"fact": f, "value": v, "unit": u, "citation": c} for f, v, u, c in found.reported]
    if found.adapter is not None:
        made["adapter"] = msgspec.to_builtins(found.adapter)
    made |= asked_beside(found, derived, view)
    if changes:
        made["original"] = as_object(found.derived, layers=view.layers, evidence=view.evidence)
    return made


def asked_beside(found: Found, derived: Derived, view: View) -> dict[str, Any]:
    """What an object has beside the fingerprint: sizes at a context and type, a supposed form, a what-if's warnings."""
    made: dict[str, Any] = {}
    if derived.model is not None and (view.width != measure.CACHE_WIDTH or view.at is not None):
        contexts = measure.CONTEXTS if view.at is None else {str(view.at): view.at}
        made["cache_dtype"] = view.dtype
        made["state_bytes_at_dtype"] = {k: measure.kv_bytes(derived.model, t, view.width) for k, t in contexts.items()}
    made |= supposed_object(derived, view.weights)
    if view.changes:
        made["warnings"] = whatif.warnings(found.derived, derived, list(view.changes))
    return made


def of_several(found: Sequence[Found], view: View) -> Iterator[Line]:
    """A line a model: those of a what-if that must be known of first, model by model."""
    derived = [each.what_if(list(view.changes)) for each in found]
    for each, d in zip(found, derived, strict=True) if view.changes else ():
        for said in whatif.warnings(each.derived, d, list(view.changes)):
            yield from wrapped(terminal(f"{each.title}: {said}"), 0, WARN, hang=2)
    yield from summary(derived, measure.CONTEXTS["128k"] if view.at is None else view.at, view.width)
