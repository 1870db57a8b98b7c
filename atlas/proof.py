"""What an independent total proves of a derivation, and what it never does."""

from __future__ import annotations

import msgspec

from atlas.derived import Derived
from atlas.numbers.fingerprint import Evidence
from schemas.vocabulary import Check, Origin, Verdict


def held(derived: Derived, total: int | None) -> Derived:
    """The derivation held against a checkpoint's own total: `exact` where both are equal to the weight, else `off`.

    Unchanged where there is no total or no number. Equality proves the weights; the verdict becomes `known` only where
    the doubt was of weights alone, with the total as evidence. A loop, a window or a shared cache shows in no total.
    """
    f = derived.fingerprint
    if total is None or f.params_total is None:
        return derived
    if f.params_total != total:
        return msgspec.structs.replace(derived, fingerprint=msgspec.structs.replace(f, check=Check.OFF.value))
    exact = msgspec.structs.replace(derived, fingerprint=msgspec.structs.replace(f, check=Check.EXACT.value))
    return lifted(exact, total) if derived.proved_by_total else exact


def lifted(derived: Derived, total: int) -> Derived:
    """The derivation with verdict `known`, and the total that answered its doubt as evidence."""
    said = f"the checkpoint's own total, {total:,}, equals the derived one, and the doubt was of weights alone"
    note = Evidence("verdict", Verdict.KNOWN.value, Origin.HEADER.value, said)
    rest = tuple(e for e in derived.evidence if e.field != "verdict")
    row = msgspec.structs.replace(derived.fingerprint, verdict=Verdict.KNOWN.value, doubt=None)
    return msgspec.structs.replace(derived, fingerprint=row, evidence=(note, *rest), proved_by_total=False)
