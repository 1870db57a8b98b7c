"""A verification as a report for people: a terminal of 80 columns, every difference on a line or two."""

from __future__ import annotations

from collections.abc import Iterator

from atlas.checkpoint.header import Comparison, Difference
from pipeline.sheets.lines import DIM, STRONG, WARN, WIDTH, Line, title, wrapped
from pipeline.sheets.sheet import COMPONENTS
from pipeline.sheets.stored import stored_form
from pipeline.text import shorten, terminal
from pipeline.verify.verification import Verified
from schemas.vocabulary import Check

GOOD = "green"
APART = {
    "mtp": "drafting (MTP) layers",
    "towers": "towers and projectors",
    "buffers": "buffers",
    "scales": "quantization scales",
    "tied_again": "tied weights stored again",
    "unused": "keys and values of layers that share a cache",
}
WORDS = {Check.EXACT: "exact", Check.OFF: "off", Check.UNCHECKED: "unchecked"}


def report(found: Verified) -> Iterator[Line]:
    """Every line of the report."""
    name, word = shorten(terminal(found.name), WIDTH - 12), WORDS[found.check]
    yield [(name, STRONG), (f"{word:>{WIDTH - len(name)}}", GOOD if found.check is Check.EXACT else WARN)]
    yield from wrapped(terminal(_against(found)), 2, DIM)
    held = found.comparison
    if held is None:
        yield from wrapped(
            terminal(f"Refused: {found.fingerprint.refusal_kind}: {found.fingerprint.refusal_reason}"), 2, WARN
        )
        yield []
        yield from stored_form(found.fingerprint, found.stored)
        return
    yield []
    yield from _components(held)
    yield from _beside(held)
    if found.note:
        yield from wrapped(terminal(found.note), 2, DIM)
    yield []
    yield from stored_form(found.fingerprint, found.stored)
    yield from _differences(held)


def _against(found: Verified) -> str:
    files = found.files[0] if len(found.files) == 1 else f"{len(found.files)} files"
    what = {
        "headers": "names and shapes of",
        "index": "names and bytes of",
        "names": "names (an index has no shapes) of",
    }[found.basis]
    at = f" at {found.revision[:12]}" if found.revision else ""
    inside = found.comparison.prefix if found.comparison else None
    return f"{what} {files}{at}" + (f", layers at {inside}" if inside else "")


def _components(held: Comparison) -> Iterator[Line]:
    yield title(f"{'component':<22}{'derived':>19}{'found':>19}{'tensors':>10}")
    for component, label in COMPONENTS.items():
        tally = held.components.get(component)
        if tally is not None:
            found = f"{tally.found:,}" if held.shapes_known else "-"
            agrees = tally.found == tally.derived or not held.shapes_known
            yield [
                (f"{label:<22}{tally.derived:>19,}", ""),
                (f"{found:>19}", "" if agrees else WARN),
                (f"{tally.tensors:>10,}", DIM),
            ]
    total = f"{held.found:,}" if held.shapes_known else "-"
    yield [(f"{'total':<22}{held.derived:>19,}{total:>19}", STRONG)]


def _beside(held: Comparison) -> Iterator[Line]:
    for kind, n in held.apart.items():
        yield [(f"{'beside: ' + APART[kind]:<41}", DIM), (f"{'-' if n is None else format(n, ','):>19}", DIM)]
    for packing, n in held.packings.items():
        yield [(f"{n:,} tensors unpacked from {packing}", DIM)]


def _differences(held: Comparison) -> Iterator[Line]:
    if not held.differences:
        return
    yield []
    yield title("Differences", f"{len(held.differences):,}")
    for d in held.differences:
        yield [(f"  {d.kind:<10}", WARN), (terminal(d.name), "")]
        yield [(" " * 12 + f"{d.component}{_shapes(d)}", DIM)]


def _shapes(d: Difference) -> str:
    parts = [
        f"{word} {list(shape)}" for word, shape in (("derived", d.wanted), ("found", d.found)) if shape is not None
    ]
    return f": {', '.join(parts)}" if parts else ""
