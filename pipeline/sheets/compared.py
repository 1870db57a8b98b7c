"""The records of a comparison: models with what depends on the context and on the cache's type."""

from __future__ import annotations

import msgspec

from atlas.derived import Derived
from atlas.numbers.fingerprint import Fingerprint
from pipeline.sheets import inspect


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """What depends on the context and on the type of the cache; null for an encoder, which keeps no cache."""

    kv_bytes_per_token: int | None = None
    state_bytes: int | None = None
    attention_flops_per_token: int | None = None
    decode_bytes_per_token: int | None = None


class Subject(msgspec.Struct, frozen=True):
    """One model of the comparison: its name, where its config comes from, and its numbers."""

    name: str
    source: str
    row: Fingerprint
    sized: Sized
    derived: Derived
    snapshot: str | None = None
    changes: tuple[str, ...] = ()  # keys of its config that are set otherwise
    warnings: tuple[str, ...] = ()  # what must be known of them first


class Compared(msgspec.Struct, frozen=True):
    """The models, the context in tokens, and the type of the cache."""

    subjects: tuple[Subject, ...]
    at: int
    dtype: str
    weights: str | None = None  # a form that the files are supposed to have


def same_design(c: Compared) -> bool:
    """Whether all models have one design and yet compute something else."""
    one = len({s.row.design_id for s in c.subjects}) == 1
    return one and bool(inspect.other_constants([s.derived for s in c.subjects]))


def beyond(c: Compared) -> list[Subject]:
    """Models whose config states less context than the comparison is at."""
    return [s for s in c.subjects if s.row.max_context is not None and s.row.max_context < c.at]
