"""What comes of one config: its row, its structure, and the evidence for every value."""

from __future__ import annotations

import msgspec

from atlas.numbers.fingerprint import Evidence, Fingerprint
from atlas.numbers.storage import Storage
from atlas.numbers.structure import Model
from atlas.numbers.towers import Tower
from atlas.reading.config import Config
from atlas.reading.constants import constants_of
from atlas.reading.twofold import Reading


class Derived(msgspec.Struct, frozen=True, eq=False):
    """One config interpreted: its row, its structure, and the evidence for every value. A refusal has no model."""

    fingerprint: Fingerprint
    model: Model | None = None
    evidence: tuple[Evidence, ...] = ()
    unread: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    towers: tuple[Tower, ...] = ()
    stored: Storage = Storage()
    config: Config | None = None  # what was read, for what is worked out when it is asked for
    readings: tuple[Reading, ...] = ()  # other ways to read the file, between which a total or header decides
    proved_by_total: bool = False  # the doubt is of weights alone: an equal total answers it

    @property
    def constants(self) -> tuple[Evidence, ...]:
        """What changes the computation and not the shape, by name; none where nothing was derived."""
        return () if self.config is None else constants_of(self.config)
