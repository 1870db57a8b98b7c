"""The encoder of a pair, asked by its own part of the row; what it notes stands beside the decoder's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from atlas.families.rules import Family
from atlas.numbers.fingerprint import Evidence
from atlas.parse import Raw
from atlas.reading.answers import DERIVED
from atlas.reading.config import Config
from atlas.refusal import Refused
from schemas.vocabulary import RefusalKind


def encoder_reader(c: Config) -> Config:
    """The reader of the encoder: of a pair what it reads and notes is kept with the decoder's, under `encoder.`."""
    if c.rules.encoder is None:
        return c
    key = c.rules.facts.get("encoder_key")
    if key is None:
        inner = Config(c.raw, c.rules.encoder, c.outer, c.prefix)
        inner.read = c.read
        inner.values.update(_answered(c))
    else:
        inner = Config(nested(c, key), c.rules.encoder, c.outer, key + ".")
    inner.noted = Prefixed(c.noted)
    return inner


def _answered(c: Config) -> dict[str, Any]:
    """The decoder's answers that are the encoder's too: looked up, not computed, and in the row no different."""
    own, noted = _otherwise(c.rules), c.noted
    return {
        field: value
        for field, value in c.values.items()
        if field not in own and (field not in noted or noted[field].origin != DERIVED)
    }


@lru_cache(maxsize=256)
def _otherwise(rules: Family) -> frozenset[str]:
    """Fields that the encoder's part of a row answers otherwise."""
    assert rules.encoder is not None  # noqa: S101 - only pairs come here
    tables = ((rules.keys, rules.encoder.keys), (rules.defaults, rules.encoder.defaults))
    pairs = (*tables, (rules.facts, rules.encoder.facts))
    return frozenset(f for ours, theirs in pairs for f in ours.keys() | theirs.keys() if ours.get(f) != theirs.get(f))


def nested(c: Config, key: str) -> Raw:
    """The encoder's own config; raises `Refused` where the file has none."""
    found: Any = c.outer
    for step in key.split("."):
        found = found.get(step) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(found, dict):
        raise Refused(RefusalKind.MISSING_KEY, f"{key} is needed: the encoder's own config is not in the file")
    return found  # pyright: ignore[reportUnknownVariableType]


class Prefixed(dict[str, Evidence]):
    """Notes that also go into another reader's, under names of their own."""

    def __init__(self, target: dict[str, Evidence]) -> None:
        super().__init__()
        self.target = target

    def __setitem__(self, field: str, note: Evidence) -> None:
        name = f"encoder.{field}"
        self.target[name] = Evidence(name, note.value, note.origin, note.source)
