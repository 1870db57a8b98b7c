"""What one request tells of the Hub."""

from __future__ import annotations

import pytest
from hub_server import HubServer, Population, Reply

from pipeline.errors import Upstream, Usage
from pipeline.hub.reach import reach


def test_a_hub_that_answers_tells_its_quota() -> None:
    """One request gives the status, whether a token went along, and what is left of the quota it counted against."""
    with HubServer(Population(3), quota={"api": (500, 300)}) as hub:
        told = reach(hub.endpoint, token="hf_reader")
        assert (told.status, told.authenticated) == (200, True)
        remaining, renewed = told.quotas["api"]
        assert remaining == 499
        assert 290 < renewed <= 301
        assert len(hub.requests) == 1


def test_a_spent_quota_or_a_refused_token_is_said_at_once() -> None:
    """A 429 or a refused token is exit 4 without waiting; an address that is none is exit 2."""
    with HubServer(Population(0)) as hub:
        hub.fail("/api/models", Reply(429, b"", {"Retry-After": "200"}))
        with pytest.raises(Upstream, match="quota"):
            reach(hub.endpoint, token=None)
        hub.fail("/api/models", Reply(401, b"", {"X-Error-Message": "Invalid credentials in Authorization header"}))
        with pytest.raises(Upstream, match="refused the token"):
            reach(hub.endpoint, token="hf_reader")
    with pytest.raises(Usage, match="--endpoint"):
        reach("not an address", token=None)
