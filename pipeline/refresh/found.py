"""One repository as a refresh finds it, on the Hub or elsewhere."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from schemas.vocabulary import Outcome


class Found(Protocol):
    """One repository as a refresh found it; `pipeline.hub.records.Crawled` is one."""

    @property
    def repo_id(self) -> str:
        """Its name."""
        ...

    @property
    def outcome(self) -> str:
        """How it ended."""
        ...

    @property
    def revision(self) -> str | None:
        """The commit of the config."""
        ...

    @property
    def raw(self) -> bytes | None:
        """Its config, None where none was ever read."""
        ...

    @property
    def listing(self) -> Mapping[str, Any]:
        """What the Hub says of it, by the names in `listed.LISTING`."""
        ...

    @property
    def as_of(self) -> dt.date | None:
        """The day the config was last seen to be current."""
        ...

    @property
    def source(self) -> str:
        """Where it was found."""
        ...

    @property
    def detail(self) -> str | None:
        """What explains the outcome."""
        ...

    @property
    def settings(self) -> tuple[tuple[str, bytes], ...]:
        """The settings files beside the config, by name."""
        ...


class Input(msgspec.Struct, frozen=True):
    """A repository found elsewhere than on the Hub."""

    repo_id: str
    raw: bytes | None
    source: str
    as_of: dt.date | None
    outcome: str = Outcome.OK.value
    revision: str | None = None
    listing: Mapping[str, Any] = {}
    detail: str | None = None
    settings: tuple[tuple[str, bytes], ...] = ()
