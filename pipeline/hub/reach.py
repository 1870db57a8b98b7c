"""Whether the Hub answers, as whom, and what it leaves of its quotas: for `atlas doctor`."""

from __future__ import annotations

import asyncio
import time

import msgspec

from pipeline.errors import Upstream
from pipeline.hub.limits import Answer, GaveUp, Limits, Refused
from pipeline.hub.session import Hub

BRIEF = Limits(deadline=20.0, attempt=10.0, silence=10.0, contact=2.5, refusals=0)


class Reach(msgspec.Struct, frozen=True):
    """What one request tells. `quotas` has, per policy, the requests left and the seconds to their renewal."""

    endpoint: str
    status: int
    seconds: float
    authenticated: bool
    quotas: dict[str, tuple[int, float]]


def reach(endpoint: str, *, token: str | None) -> Reach:
    """Ask the Hub for one line of its listing.

    Raises:
        Upstream: no answer, no quota left, or a token that the Hub refuses.
        Usage: no address, or no token, that could be used.
    """
    return asyncio.run(_reach(endpoint, token))


async def _reach(endpoint: str, token: str | None) -> Reach:
    started = time.monotonic()
    async with Hub(endpoint, token=token, limits=BRIEF) as hub:
        try:
            status = await hub.get(f"{hub.endpoint}/api/models?limit=1", kind="api", cap=2**20, read=_status)
        except (GaveUp, Refused) as error:
            raise Upstream(f"{endpoint} does not answer as a Hub does: {error}") from error
        return Reach(endpoint, status, time.monotonic() - started, token is not None, hub.quota.known())


def _status(answer: Answer) -> int:
    return answer.status
