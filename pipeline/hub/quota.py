"""The Hub's request quotas, one budget per policy name, shared by every worker of a crawl.

The Hub counts requests per policy ("api", "resolvers") in fixed windows and tells what is left with every answer:
https://huggingface.co/docs/hub/rate-limits.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from pipeline.errors import Upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_NUMBER = 12
"""Digits; a longer count of seconds is nonsense, and very long ones are costly to read."""


@dataclass
class Window:
    """What is known of one policy. Times are of the monotonic clock, in seconds."""

    remaining: int | None = None
    resets_at: float = 0.0
    closed_until: float = 0.0
    refusals: int = 0
    under_way: int = 0

    def wait(self, now: float) -> float:
        """Seconds until the next request may go."""
        if self.remaining is not None and now >= self.resets_at:
            self.remaining = None
        spent = self.resets_at if self.remaining is not None and self.remaining <= 0 else 0.0
        return max(spent, self.closed_until) - now


class Quota:
    """Every policy's window. A request has a kind ("api", "resolvers") until the Hub says which policy counts it."""

    def __init__(self, *, longest_wait: float, refusals: int) -> None:
        self.longest_wait = longest_wait
        self.allowed_refusals = refusals
        self.notice: Callable[[float], None] | None = None
        """Told how many seconds a wait will take, as it begins."""
        self.waited_seconds = 0.0
        self._waits_until = 0.0
        self.refused = 0
        self._windows: dict[str, Window] = {}
        self._policy: dict[str, str] = {}

    def _window(self, kind: str) -> Window:
        return self._windows.setdefault(self._policy.get(kind, kind), Window())

    async def enter(self, kind: str) -> Window:
        """Wait until a request of this kind may go, and count it as under way, which the caller takes back."""
        while (wait := self._window(kind).wait(time.monotonic())) > 0:
            wait = min(wait, self.longest_wait) + random.uniform(0, 0.05 + wait / 50)  # noqa: S311 - no secret hangs on it
            self._count(wait)
            await asyncio.sleep(wait)
        window = self._window(kind)
        window.under_way += 1
        if window.remaining is not None:
            window.remaining -= 1
        return window

    def _count(self, wait: float) -> None:
        """Workers wait side by side: their time counts once."""
        now = time.monotonic()
        longer = now + wait - max(now, self._waits_until)
        if longer > 0:
            self.waited_seconds += longer
            self._waits_until = now + wait
            if self.notice is not None:
                self.notice(wait)

    def known(self) -> dict[str, tuple[int, float]]:
        """Per policy that the Hub told of: requests left, and seconds until they are renewed."""
        now = time.monotonic()
        return {
            name: (window.remaining, max(0.0, window.resets_at - now))
            for name, window in self._windows.items()
            if window.remaining is not None
        }

    def learn(self, kind: str, headers: Mapping[str, str]) -> None:
        """Take in what an answer tells about the quota; header names in lower case."""
        told = _told(headers)
        if told is not None:
            self._policy[kind] = told.policy
            self._remember(self._window(kind), told)

    def _remember(self, window: Window, told: Told) -> None:
        now = time.monotonic()
        known = window.remaining if now < window.resets_at else None
        # The answer does not know of the requests under way, and answers overtake each other: the smaller count holds.
        left = told.remaining - max(0, window.under_way - 1)
        window.remaining = left if known is None else min(left, known)
        window.resets_at = now + min(told.reset_seconds, self.longest_wait)

    def granted(self, kind: str) -> None:
        """An answer came that was no refusal."""
        self._window(kind).refusals = 0

    def refuse(self, kind: str, headers: Mapping[str, str]) -> None:
        """Close the policy for as long as a 429 asks, at most `longest_wait`.

        Raises:
            Upstream: the Hub refused again after every wait; running again later resumes.
        """
        window, now = self._window(kind), time.monotonic()
        self.refused += 1
        if now < window.closed_until:
            return  # the same refusal, met by another worker
        window.refusals += 1
        if window.refusals > self.allowed_refusals:
            raise Upstream(
                f"the Hub's quota '{self._policy.get(kind, kind)}' stays spent after {self.allowed_refusals} waits; "
                "run the same command later to go on from here"
            )
        wait = _asked(headers)
        window.closed_until = now + min(2.0**window.refusals if wait is None else wait, self.longest_wait)


@dataclass(frozen=True)
class Told:
    """The RateLimit header of an answer."""

    policy: str
    remaining: int
    reset_seconds: float


def _told(headers: Mapping[str, str]) -> Told | None:
    if "ratelimit" not in headers:
        return None
    from huggingface_hub.utils import parse_ratelimit_headers

    try:
        info = parse_ratelimit_headers(headers)
    except ValueError:  # a number of thousands of digits
        return None
    return info and Told(info.resource_type, info.remaining, float(min(info.reset_in_seconds, 10**LONGEST_NUMBER)))


def _asked(headers: Mapping[str, str]) -> float | None:
    """Seconds that a 429 asks to wait: the RateLimit's reset, else Retry-After in either form, else None."""
    told = _told(headers)
    if told is not None and told.remaining == 0:
        return told.reset_seconds
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:LONGEST_NUMBER])
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
