"""What an independent total proves of a derivation, and what it never does."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from atlas.derived import Derived
from atlas.interpret import derive
from atlas.numbers.fingerprint import Evidence
from schemas.vocabulary import Check, Origin, Verdict

HEADER = Origin.HEADER.value


def held(derived: Derived, total: int | None) -> Derived:
    """The derivation held against a checkpoint's own total: `exact` where both are equal to the weight, else `off`.

    Unchanged where there is no total or no number. Equality proves the weights; the verdict becomes `known` only where
    the doubt was of weights alone, with the total as evidence. A loop, a window or a shared cache shows in no total.
    """
    if total is None or derived.fingerprint.params_total is None:
        return derived
    derived = decided(derived, total)
    f = derived.fingerprint
    if f.params_total != total:
        return msgspec.structs.replace(derived, fingerprint=msgspec.structs.replace(f, check=Check.OFF.value))
    exact = msgspec.structs.replace(derived, fingerprint=msgspec.structs.replace(f, check=Check.EXACT.value))
    return lifted(exact, total) if derived.proved_by_total else exact


def decided(derived: Derived, *totals: int) -> Derived:
    """The reading of a file that one of its own totals proves, with that as evidence; as it is where none does.

    `totals` are weights of the whole checkpoint, or of the model alone.
    """
    if not derived.readings:
        return derived
    if _agrees(derived, totals):
        return _with_total(derived, frozenset(), "as it stands")
    return _read(derived, lambda other: _agrees(other, totals))


def published(derived: Derived, design_id: str | None) -> Derived:
    """The reading whose design a snapshot holds, where a total decided it there; as it is where no other one has it."""
    if design_id is None or derived.fingerprint.design_id == design_id:
        return derived
    return _read(derived, lambda other: other.fingerprint.design_id == design_id)


def alike(changed: Derived, base: Derived) -> Derived:
    """A changed config read as the one it was changed from, where a total or header chose among that one's readings."""
    said = {e.value for e in base.evidence if e.field == "reading"}
    chosen = next((r for r in changed.readings if r.said in said), None)
    return changed if chosen is None else derive(chosen.data, name=changed.fingerprint.repo_id)


def _read(derived: Derived, holds: Callable[[Derived], bool]) -> Derived:
    """The first other reading that holds, with a total as its source; as it is where none does."""
    for reading in derived.readings:
        other = derive(reading.data, name=derived.fingerprint.repo_id)
        if holds(other):
            return _with_total(other, frozenset(reading.changes), reading.said)
    return derived


def _agrees(derived: Derived, totals: tuple[int, ...]) -> bool:
    f = derived.fingerprint
    return any(n is not None and n in totals for n in (f.params_total, f.params_checkpoint))


def _with_total(derived: Derived, keys: frozenset[str], said: str) -> Derived:
    """The reading that was chosen: what stands for it has the total as its source."""
    why = f"the checkpoint's own total is that of this reading: {said}"
    told = tuple(Evidence(e.field, e.value, HEADER, why) if e.source in keys else e for e in derived.evidence)
    note = Evidence("reading", said, HEADER, why)
    return msgspec.structs.replace(derived, evidence=(note, *told), readings=())


def lifted(derived: Derived, total: int) -> Derived:
    """The derivation with verdict `known`, and the total that answered its doubt as evidence."""
    said = f"the checkpoint's own total, {total:,}, equals the derived one, and the doubt was of weights alone"
    note = Evidence("verdict", Verdict.KNOWN.value, HEADER, said)
    rest = tuple(e for e in derived.evidence if e.field != "verdict")
    row = msgspec.structs.replace(derived.fingerprint, verdict=Verdict.KNOWN.value, doubt=None)
    return msgspec.structs.replace(derived, fingerprint=row, evidence=(note, *rest), readings=(), proved_by_total=False)
