"""The plain records that pass between the crawl and its archive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from schemas.vocabulary import Outcome


@dataclass(frozen=True)
class Run:
    """One refresh. `finished` is the last run of any selection that came to its end, `before` the last of this one."""

    run: int
    selection: str
    day: str
    finished: int
    before: int | None

    def named(self) -> dict[str, Any]:
        """The parameters of JUDGED."""
        return {"selection": self.selection, "run": self.run, "day": self.day, "finished": self.finished}


class Job(NamedTuple):
    """A config to fetch."""

    repo_id: str
    revision: str
    access: str
    settings: str = "[]"
    """The settings files that its listing names, as a JSON list."""


class Attempt(NamedTuple):
    """What a fetch came to; `raw` only where the outcome is ok.

    `beside` are the settings files that the listing names, empty where one could not be had.
    """

    job: Job
    outcome: Outcome
    raw: bytes | None
    detail: str | None
    beside: tuple[tuple[str, bytes], ...] = ()


class Judged(NamedTuple):
    """What a listed repository came to, and the last good config it had."""

    repo_id: str
    outcome: Outcome
    revision: str | None
    facts: dict[str, Any]
    detail: str | None
    raw: bytes | None
    good_revision: str | None
    good_day: str | None
    beside: tuple[tuple[str, bytes], ...] = ()
