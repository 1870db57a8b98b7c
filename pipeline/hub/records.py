"""What a crawl hands on: a record per repository, a summary, and how far it is while it runs."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import msgspec

from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    from pipeline.hub.attempts import Judged


class Crawled(msgspec.Struct, frozen=True):
    """One repository. `raw` is the config as received, at `revision`, which was current on the day `as_of`.

    Where the repository cannot be read now, that is the last good config. `raw`, and then `as_of`, is None where there
    never was one. `listing` holds the Hub's own facts, each None where the Hub does not say: author, downloads, likes,
    created_at, last_modified, gated, disabled, private, pipeline_tag, library_name, tags, hub_params_total,
    hub_params_by_dtype, base_models, base_model_relation, model_type_hint, architecture_hint, quant_method_hint,
    settings_files; it is
    empty for a repository that the Hub does not know.
    """

    repo_id: str
    outcome: Outcome
    revision: str | None
    raw: bytes | None
    listing: dict[str, Any]
    as_of: date | None
    detail: str | None = None
    source: str = "hub"
    settings: tuple[tuple[str, bytes], ...] = ()
    """The settings files of a quantization that lie beside the config, by name, as received."""


class CrawlSummary(msgspec.Struct):
    """What a crawl found and what it cost. The outcomes add up to listed + vanished."""

    listed: int
    vanished: int
    left_selection: int
    outcomes: dict[str, int]
    model_types: dict[str, int]
    new_model_types: list[str]
    requests: int
    bytes: int
    retries: dict[str, int]
    quota_refusals: int
    waited_seconds: float
    seconds: float
    duplicates: int
    empty_pages: int
    unreadable_entries: int
    renamed: dict[str, str]
    gave_up: dict[str, int]
    losses: list[str]


class Progress(msgspec.Struct, frozen=True):
    """How far a crawl is. `stage` is listing or configs, `total` None while unknown.

    `waited_seconds` is the time spent on quotas so far; `pause_seconds` is how long it rests from now, mostly 0.
    `trouble` is why the Hub gives no answer; `pause_seconds` is then how long that is put up with from now.
    """

    stage: str
    done: int
    total: int | None
    requests: int
    waited_seconds: float
    pause_seconds: float = 0.0
    trouble: str | None = None


def crawled(judged: Judged) -> Crawled:
    """The record of a repository, with its last good config where it cannot be read now."""
    kept = judged.raw is not None
    return Crawled(
        repo_id=judged.repo_id,
        outcome=judged.outcome,
        revision=judged.good_revision if kept else judged.revision,
        raw=judged.raw,
        listing=judged.facts,
        as_of=date.fromisoformat(judged.good_day) if judged.good_day is not None else None,
        detail=judged.detail,
        settings=judged.beside if kept else (),
    )
