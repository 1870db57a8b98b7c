"""What a checkpoint weighs, by the strongest evidence there is: headers, an index that the rule agrees with, the rule.

A stated dtype is no evidence: a config that says nothing of a quantization is no proof of 16 bits. Without any
evidence there is no number, and the reason says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from atlas.checkpoint.packing import Listing
from atlas.numbers.storage import Storage, StoredRow
from atlas.stored import measured, plain
from atlas.stored.form import Unsaid
from atlas.stored.held import by_dtype, rows, total_bytes
from atlas.stored.rule import stores_tied_once, variants
from atlas.stored.settings import Settings
from atlas.stored.subject import Subject

HEADER, INDEX, RULE = "header", "index", "rule"
SILENT = (
    "nothing proves how the weights are stored: the config names no quantization, which is no proof of 16 bits, and "
    "there is no header, index or count of stored types"
)


class Files(NamedTuple):
    """What is known of a checkpoint's files: their tensors, or what an index states, or neither.

    `groups` are those of table `stored` that an index's names belong to.
    """

    listing: Listing | None = None
    total_bytes: int | None = None
    groups: frozenset[str] | None = None


def storage(of: Subject | None, s: Settings | None, files: Files | None = None) -> Storage:
    """What the files of a checkpoint hold; `of` is its model, where that could be derived."""
    files = files or Files()
    possible = [*_possible(of, s, files)]
    if files.listing is not None:
        return _by_header(files.listing, possible, s)
    reason = next((p for p in possible if isinstance(p, str)), None)
    found = [p for p in possible if not isinstance(p, str)]
    if files.total_bytes:
        return _by_index(files.total_bytes, [f for f in found if _named_alike(f, files.groups)], reason)
    if of is None or s is None or not found:
        return Storage(reason=reason or SILENT)
    return _by_rule(found, sure=not found[1:] or stores_tied_once(of, s))


def _possible(of: Subject | None, s: Settings | None, files: Files) -> Iterator[tuple[StoredRow, ...] | str]:
    """What the files may hold by rule, the likeliest first; a text where the settings say too little."""
    if of is None:
        return
    try:
        if s is not None:
            yield from (rows(h, RULE) for h in variants(of, s))
        elif files.listing is not None or files.total_bytes:
            yield from (rows(h, RULE) for h in plain.possible(of))
    except Unsaid as said:
        yield str(said)


def _named_alike(found: tuple[StoredRow, ...], groups: frozenset[str] | None) -> bool:
    """Whether a sum has the towers, drafts and buffers that names show, and no others."""
    return groups is None or frozenset(r.group for r in found) & _BESIDE == groups & _BESIDE


_BESIDE = frozenset(("towers", "drafts", "buffers"))


def _by_rule(possible: list[tuple[StoredRow, ...]], *, sure: bool) -> Storage:
    found = possible[0]
    total = total_bytes(found)
    if total is not None and not sure:
        both = " or ".join(f"{total_bytes(f):,}" for f in possible if total_bytes(f) is not None)
        return Storage(found, None, RULE, f"{both} bytes: some tools store a tied head a second time, and no file says")
    if total is not None:
        return Storage(found, total, RULE)
    known = sum(r.bytes for r in found if r.bytes is not None)
    open_ = sum(r.tensors for r in found if r.bytes is None)
    why = f"{known:,} bytes, and {open_:,} texts of about 170 bytes whose length is data and follows from no rule"
    return Storage(found, None, RULE, why)


def _by_index(total: int, found: list[tuple[StoredRow, ...]], reason: str | None) -> Storage:
    """What an index states, where a rule comes to the same bytes."""
    for each in found:
        if total_bytes(each) == total:
            return Storage(_as(each, INDEX), total, INDEX)
        if total_bytes(each) is None and _texts_fill(each, total):
            return Storage(each, total, INDEX, note="the index's total; the lengths of some texts follow from no rule")
    if not found:
        return Storage(
            reason=f"an index states {total:,} bytes, and no rule can be held against it: {reason or SILENT}"
        )
    ours = total_bytes(found[0])
    words = "an unknown number of" if ours is None else f"{ours:,}"
    return Storage(found[0], None, None, f"an index states {total:,} bytes, the rule gives {words}: they do not agree")


def _texts_fill(found: tuple[StoredRow, ...], total: int) -> bool:
    """Whether what a rule leaves open, texts of some 170 bytes each, makes up the rest of a total."""
    rest = total - sum(r.bytes for r in found if r.bytes is not None)
    texts = sum(r.tensors for r in found if r.bytes is None)
    return _SHORTEST * texts <= rest <= _LONGEST * texts


_SHORTEST, _LONGEST = 120, 240


def _by_header(listing: Listing, possible: list[tuple[StoredRow, ...] | str], s: Settings | None) -> Storage:
    """What headers state, to the byte; in the rule's groups where it gives the same, else as far as names tell."""
    found = measured.rows_of(listing, s, HEADER)
    total = total_bytes(found)
    for each in possible:
        if not isinstance(each, str) and (same := _agreeing(each, found)) is not None:
            return Storage(_as(same, HEADER), total, HEADER)
    if s is None or not possible:
        return Storage(found, total, HEADER)
    ours = possible[0]
    return Storage(found, total, HEADER, None, _differing(ours, found), () if isinstance(ours, str) else ours)


def _differing(ours: tuple[StoredRow, ...] | str, found: tuple[StoredRow, ...]) -> str:
    """What the rule gives otherwise than headers, by type."""
    if isinstance(ours, str):
        return f"no rule to hold against it: {ours}"
    one, other = by_dtype(found), by_dtype(ours)
    differences = {k: one.get(k, 0) - other.get(k, 0) for k in one | other}
    words = ", ".join(f"{n:+,} {k}" for k, n in differences.items() if n)
    return (
        f"the rule of its settings gives other elements: the files have {words}" if words else "tensors differ in count"
    )


def _agreeing(by_rule: tuple[StoredRow, ...], found: tuple[StoredRow, ...]) -> tuple[StoredRow, ...] | None:
    """The rule's rows where headers have as many elements of every type; what the rule leaves open is filled in."""
    ours, theirs = by_dtype(by_rule), by_dtype(found)
    open_ = [r for r in by_rule if r.elements is None]
    if sum(r.tensors for r in by_rule) != sum(r.tensors for r in found):
        return None
    if not open_:
        return by_rule if ours == theirs else None
    rest = {k: theirs.get(k, 0) - ours.get(k, 0) for k in ours.keys() | theirs.keys()}
    dtype = open_[0].dtype
    if len(open_) > 1 or rest[dtype] <= 0 or any(n for k, n in rest.items() if k != dtype):
        return None
    filled = msgspec.structs.replace(open_[0], elements=rest[dtype], bytes=rest[dtype])
    return tuple(filled if r is open_[0] else r for r in by_rule)


def _as(found: tuple[StoredRow, ...], evidence: str) -> tuple[StoredRow, ...]:
    return tuple(msgspec.structs.replace(r, evidence=evidence) for r in found)
