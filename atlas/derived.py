"""What comes of one config: its row, its structure, and the evidence for every value."""

from __future__ import annotations

import msgspec

from atlas.numbers.fingerprint import Evidence, Fingerprint
from atlas.numbers.storage import Storage
from atlas.numbers.structure import Model
from atlas.numbers.towers import Tower


class Derived(msgspec.Struct, frozen=True, eq=False):
    """One config interpreted: its row, its structure, and the evidence for every value. A refusal has no model."""

    fingerprint: Fingerprint
    model: Model | None = None
    evidence: tuple[Evidence, ...] = ()
    unread: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    towers: tuple[Tower, ...] = ()
    stored: Storage = Storage()
