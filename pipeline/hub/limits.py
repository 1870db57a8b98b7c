"""What a crawl allows itself, and the ways in which a request to the Hub can end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What one crawl allows itself. Times in seconds, sizes in bytes after decompression."""

    deadline: float = 180.0
    """One request, retries included, waits for quota apart."""
    attempt: float = 60.0
    """One try of a request."""
    silence: float = 20.0
    """Without a byte, or for a connection."""
    contact: float = 6.0
    """For the first connection of all: without one, trying on for the whole deadline would only keep people waiting."""
    backoff: float = 0.25
    """The first pause before trying again; it doubles up to 8."""
    longest_wait: float = 330.0
    """For a quota: a little more than the Hub's window of five minutes."""
    refusals: int = 5
    """Waits for one quota without an answer in between, before giving up."""
    hops: int = 5
    config_bytes: int = 5 * MIB
    page_bytes: int = 64 * MIB
    pages: int = 10_000
    workers: int = 16


class Transient(Exception):
    """Trying again may help."""


class Garbled(Transient):
    """The answer broke the protocol: its length or its compression did not hold."""


class Refused(Exception):
    """Trying again cannot help; the message says why."""


class TooLarge(Refused):
    """The body exceeds its cap."""


class GaveUp(Exception):
    """The deadline passed; `garbled` if the last answer was one that broke the protocol."""

    def __init__(self, reason: str, *, garbled: bool) -> None:
        super().__init__(reason)
        self.garbled = garbled


class BudgetSpent(Exception):
    """The crawl's own budget of requests is used up."""


class Limited(Exception):
    """A 429; carries the headers that say how long to wait."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("429")
        self.headers = headers


@dataclass(frozen=True)
class Answer:
    """A final answer: no redirect, no refusal of quota, no server error."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


@dataclass
class Spent:
    """What a crawl has cost so far."""

    requests: int = 0
    bytes: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
