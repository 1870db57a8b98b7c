"""What the files of a checkpoint hold, as lines of a sheet: by group and type, and what the number rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from atlas.derived import Derived
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.storage import Storage, StoredRow
from atlas.stored.answer import SILENT
from atlas.stored.held import by_dtype
from atlas.stored.hypothetical import WORDS, hypothetical
from atlas.stored.subject import Subject
from pipeline.errors import Usage
from pipeline.sheets.lines import DIM, STRONG, WARN, WIDTH, Line, labelled, title, wrapped
from pipeline.text import shorten, terminal
from pipeline.units import binary

GROUPS = {
    "language_model": "language model",
    "towers": "towers and projectors",
    "drafts": "drafting layers",
    "tied_head": "second copy of a tied head",
    "buffers": "buffers",
    "scales": "scales, zeros, settings",
}
_BRIEFLY = "no header, index or count proves 16 bits"
EVIDENCE = {
    "header": "by its headers",
    "index": "by its index, and the rule agrees",
    "rule": "by rule, from its settings",
}


def stored_form(f: Fingerprint, stored: Storage) -> Iterator[Line]:
    """The section of a sheet: bytes with what proves them, then the groups; without proof what is missing."""
    yield title("Stored form", _words(f))
    yield from _total(stored)
    for row in stored.rows:
        yield _row(row)
    if stored.rows and f.params_checkpoint and stored.bytes:
        bits = f"{8 * stored.bytes / f.params_checkpoint:.3f}"
        yield from labelled("  bits per weight ", f"{bits}; elements: {_types(stored.rows)}")
    yield []


def _words(f: Fingerprint) -> str:
    stated = ", ".join(terminal(x) for x in (f.dtype, f.quant_method) if x)
    return shorten(f"stated: {stated}" if stated else "no type stated", 50)


def _total(stored: Storage) -> Iterator[Line]:
    if stored.bytes is not None:
        proof = f" = {binary(stored.bytes)}, {EVIDENCE.get(stored.evidence or '', '')}"
        yield [("  tensors      ", DIM), (f"{stored.bytes:,} bytes", STRONG), (proof, DIM)]
    why = stored.reason or stored.note
    said = [terminal(_BRIEFLY if why == SILENT else why)] if why else []
    if stored.bytes is None:
        yield from wrapped(": ".join(["stored form not proven", *said]), 2, WARN, hang=2)
    elif said:
        yield from wrapped(said[0], 4, DIM)


def _row(row: StoredRow) -> Line:
    size = "-" if row.bytes is None else f"{row.bytes:,}"
    what = f"{GROUPS.get(row.group, terminal(row.group))}, {terminal(row.scheme)}"
    return [(f"  {shorten(what, 44):<45}", ""), (f"{terminal(row.dtype):<9}", DIM), (f"{size:>{WIDTH - 56}}", "")]


def _types(rows: Iterable[StoredRow]) -> str:
    return ", ".join(f"{n:,} {d}" for d, n in sorted(by_dtype(rows).items()))


def measured(derived: Derived) -> Iterator[Line]:
    """What is known of a checkpoint whose files alone speak: its weights, and why there is nothing else."""
    f = derived.fingerprint
    yield from wrapped(terminal(f"Measured, not derived: {f.refusal_reason}"), 2, WARN)
    yield from wrapped("Weights are exact, by its headers; no cache and no structure follows from shapes.", 2, DIM)
    yield []
    if f.params_checkpoint is not None:
        yield [("  weights      ", DIM), (f"{f.params_checkpoint:,}", STRONG)]
    for label, n in _components(f):
        yield [(f"    {label:<22}", DIM), (f"{n:>19,}", "")]
    yield []
    yield from stored_form(f, derived.stored)


def _components(f: Fingerprint) -> Iterator[tuple[str, int]]:
    found = {
        "token table": f.params_embedding,
        "output table": f.params_unembedding,
        "routed experts": f.params_experts_routed,
        "drafting layers": f.params_mtp,
        "towers and projectors": f.params_towers,
        "buffers": f.params_buffers,
    }
    yield from ((label, n) for label, n in found.items() if n)


def supposed(derived: Derived, word: str) -> Storage:
    """The same model stored in another form, by the rules of that form. Raises `Usage` for a form that is none."""
    if word not in WORDS:
        raise Usage(f"--weights {terminal(word)} is no form that is described: {', '.join(WORDS)} are")
    if derived.model is None or derived.config is None:
        return Storage(reason="the config is refused, so there is nothing to store")
    row = derived.fingerprint
    towers = None if row.has_towers and row.params_towers is None else derived.towers
    return hypothetical(Subject(derived.model, derived.config.rules, {}, towers, row.params_mtp), word)


def hypothetical_form(derived: Derived, word: str) -> Iterator[Line]:
    """The section of a sheet for a form that the files do not have."""
    found = supposed(derived, word)
    yield title(f"Stored as {word}", "hypothetical: no file says so")
    if found.bytes is None:
        yield from wrapped(terminal(found.reason or ""), 2, WARN)
    else:
        yield [("  tensors      ", DIM), (f"{found.bytes:,} bytes", STRONG), (f" = {binary(found.bytes)}", DIM)]
    for row in found.rows:
        yield _row(row)
    yield []


def hypothetical_object(derived: Derived, word: str) -> dict[str, object]:
    """The same for programs."""
    found = supposed(derived, word)
    rows = msgspec.to_builtins(found.rows)
    return {"weights": word, "weight_bytes": found.bytes, "stored": rows, "reason": found.reason}
