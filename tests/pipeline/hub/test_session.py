"""Requests to the Hub under faults: what is retried, what is refused, and where the token never goes."""

from __future__ import annotations

import gzip
import io
import logging
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from crawling import FAST, UNHURRIED, crawled, facts
from hub_server import HubServer, Population, Reply, Repo, as_json

import pipeline
from pipeline.errors import Upstream, Usage
from pipeline.hub.listing import Selection
from pipeline.hub.session import Hub
from schemas.vocabulary import Outcome

CANARY = "hf_CanaryThatNobodyMayEverSee"
FIRST = "org0/model-0"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    """Six repositories."""
    with HubServer(Population(6)) as server:
        yield server


IN_A_MOMENT = format_datetime(datetime.now(UTC) + timedelta(days=9), usegmt=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"RateLimit": '"resolvers";r=0;t=7', "RateLimit-Policy": '"fixed window";"resolvers";q=3;w=300'},
        {"RateLimit": '"resolvers";r=0;t=' + "9" * 5000},
        {"Retry-After": "0"},
        {"Retry-After": "7"},
        {"Retry-After": IN_A_MOMENT},
        {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"},
        {"Retry-After": "9" * 5000},
        {"Retry-After": "-5"},
        {"Retry-After": "soon, perhaps"},
        {},
    ],
    ids=["ratelimit", "ratelimit-absurd", "now", "seconds", "date", "past", "absurd", "negative", "garbage", "none"],
)
@pytest.mark.parametrize("target", ["/resolve/", "/api/models"])
def test_a_429_is_waited_out_whatever_it_says(
    tmp_path: Path, hub: HubServer, headers: dict[str, str], target: str
) -> None:
    """A 429 with any or no hint is waited for, never longer than the cap (0.15 s here), and the crawl ends complete."""
    hub.fail(target, Reply(429, b"", headers), times=2)
    started = time.monotonic()
    _, summary = crawled(tmp_path, hub)
    assert summary.outcomes == {"ok": 6}
    assert summary.quota_refusals == 2
    assert time.monotonic() - started < 3


def test_a_quota_that_stays_spent_ends_the_crawl_resumably(tmp_path: Path, hub: HubServer) -> None:
    """After the allowed waits the crawl exits 4; what it fetched is kept, and running again fetches only the rest."""
    hub.fail("model-0/resolve/", Reply(200, hub.population.repo(0).config or b""))
    hub.fail("/resolve/", Reply(429), times=None)
    with pytest.raises(Upstream, match="'resolvers' stays spent after 3 waits") as raised:
        crawled(tmp_path, hub, limits={"workers": 1})
    assert raised.value.exit_code == 4
    hub.heal()
    hub.forget()
    _, summary = crawled(tmp_path, hub)
    assert summary.outcomes == {"ok": 6}
    assert hub.count("/resolve/") == 5


def test_the_told_quota_is_shared_by_all_workers_and_kept(tmp_path: Path) -> None:
    """With 20 requests a second allowed, 50 configs by 8 workers take three windows and meet 429 hardly ever."""
    with HubServer(Population(50), quota={"resolvers": (20, 1.0), "api": (500, 300)}) as hub:
        _, summary = crawled(tmp_path, hub, limits={"longest_wait": 5.0})
        assert summary.outcomes == {"ok": 50}
        assert summary.waited_seconds >= 1
        assert hub.replies.count(429) <= 8


@pytest.mark.parametrize(
    "reply",
    [Reply(500), Reply(502), Reply(503), Reply(504), Reply(408)]
    + [Reply(200, b"x" * 100, mode=mode) for mode in ("stall", "reset", "short", "slow")],
    ids=lambda reply: f"{reply.status}-{reply.mode}",
)
@pytest.mark.parametrize("target", ["/resolve/", "/api/models"])
def test_transient_faults_leave_no_trace(tmp_path: Path, hub: HubServer, reply: Reply, target: str) -> None:
    """Server errors, time-outs, resets within a body, dripping answers: retried, as if nothing had been."""
    clean, _ = crawled(tmp_path / "clean", hub)
    hub.fail(target, reply, times=3)
    records, summary = crawled(tmp_path / "faulty", hub, limits={"deadline": 9.0, "attempt": 0.6})
    assert facts(records) == facts(clean)
    busy = summary.retries.get("ConnectTimeout", 0)  # of a machine that is slow to connect: no fault here is one
    assert sum(summary.retries.values()) - busy == 3


def test_a_request_ends_at_its_deadline_not_after_a_number_of_tries(tmp_path: Path, hub: HubServer) -> None:
    """A config that only ever gets 503 is tried many times until the deadline, then deferred; the others are ok."""
    hub.fail("model-3/resolve/", Reply(503), times=None)
    started = time.monotonic()
    records, summary = crawled(tmp_path, hub, limits={"deadline": 1.0})
    assert time.monotonic() - started < 2.5
    assert summary.outcomes == {"ok": 5, "deferred": 1}
    assert records["org3/model-3"].outcome is Outcome.DEFERRED
    assert hub.count("model-3/resolve/") >= 4
    assert list(summary.gave_up) == ["no answer within 1 s (status 503)"]


def test_a_hub_that_is_down_ends_the_crawl_with_exit_4(tmp_path: Path, hub: HubServer) -> None:
    """Where no config at all can be had, the crawl says so in a sentence and can be run again."""
    hub.fail("/resolve/", Reply(503), times=None)
    with pytest.raises(Upstream, match=r"no answer for .* of 6 configs"):
        crawled(tmp_path, hub, limits={"deadline": 0.5})
    hub.heal()
    assert crawled(tmp_path, hub)[1].outcomes == {"ok": 6}


def test_no_network_is_a_sentence_and_soon(tmp_path: Path) -> None:
    """With nobody at the address the crawl stops soon, with exit 4, and says so."""
    started = time.monotonic()
    with pytest.raises(Upstream, match=r"127.0.0.1:9 cannot be reached \(ConnectError\)"):
        crawled(tmp_path, "http://127.0.0.1:9", limits={"contact": 0.3})
    assert time.monotonic() - started < 2.5


def bomb(mebibytes: int) -> bytes:
    """Zeros, compressed about a thousandfold."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(mebibytes):
            file.write(bytes(2**20))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(200, b'{"model_type": "lla'), Outcome.MALFORMED),
        (Reply(200, b'{"model_type": "llama"}', {"Content-Length": "500"}, mode="short"), Outcome.MALFORMED),
        (Reply(200, b"<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"}), Outcome.MALFORMED),
        (Reply(200, b"no gzip at all", {"Content-Encoding": "gzip"}), Outcome.MALFORMED),
        (Reply(200, gzip.compress(b'{"a": 1}')[:-9], {"Content-Encoding": "gzip"}), Outcome.MALFORMED),
        (Reply(200, b"{}", {"Content-Encoding": "br"}), Outcome.MALFORMED),
        (Reply(200, bomb(200), {"Content-Encoding": "gzip"}), Outcome.TOO_LARGE),
        (Reply(200, b'"' + b"x" * (5 * 2**20 - 1) + b'"'), Outcome.TOO_LARGE),
        (Reply(302, headers={"Location": "/loop/resolve/x"}), Outcome.MALFORMED),
        (Reply(302, headers={"Location": "http://[bad"}), Outcome.MALFORMED),
        (Reply(302, headers={"Location": "file:///etc/passwd"}), Outcome.MALFORMED),
    ],
    ids=["cut", "length", "html", "nogzip", "cutgzip", "brotli", "bomb", "5MiB+1", "loop", "bad-url", "file-url"],
)
def test_a_body_that_cannot_be_taken_is_an_outcome(
    tmp_path: Path, hub: HubServer, reply: Reply, outcome: Outcome
) -> None:
    """Broken, oversized and misdirected answers become malformed or too_large for their repository; nothing is kept."""
    hub.fail("model-0/resolve/|/loop/", reply, times=None)
    records, summary = crawled(tmp_path, hub, limits={"deadline": 0.6})
    assert records[FIRST].outcome is outcome
    assert records[FIRST].raw is None
    assert summary.outcomes == {"ok": 5, outcome.value: 1}


def test_a_config_of_exactly_five_mebibytes_is_taken(tmp_path: Path, hub: HubServer) -> None:
    """The cap is inclusive, and a compressed body is kept as what it decompresses to."""
    text = b'"' + b"x" * (5 * 2**20 - 2) + b'"'
    hub.fail("model-0/resolve/", Reply(200, gzip.compress(text), {"Content-Encoding": "gzip"}))
    records, _ = crawled(tmp_path, hub)
    assert records[FIRST].raw == text


def test_five_hops_are_followed_and_a_sixth_is_not(tmp_path: Path, hub: HubServer) -> None:
    """A chain of five redirects on the Hub's own origin leads to the config; six are refused."""
    repo = hub.population.repo(0)
    for start, name in ((1, "five"), (0, "six")):
        for hop in range(start, 6):
            target = f"/{name}/{hop + 1}" if hop < 5 else f"/{FIRST}/resolve/{repo.sha}/config.json?again"
            hub.fail(f"^/{name}/{hop}$", Reply(307, headers={"Location": target}), times=None)
    hub.fail(r"model-1/resolve/.*json$", Reply(307, headers={"Location": "/five/2"}), times=None)
    hub.fail(r"model-2/resolve/.*json$", Reply(307, headers={"Location": "/six/1"}), times=None)
    records, _ = crawled(tmp_path, hub)
    assert records["org1/model-1"].raw == repo.config
    assert records["org2/model-2"].detail == "more than 5 redirects"


def test_the_token_stays_on_its_origin(tmp_path: Path, hub: HubServer) -> None:
    """A config may lie on another origin, which is asked without the token, even when it sends the client back."""
    with HubServer(Population(0)) as elsewhere:
        back = f"{hub.endpoint}/back"
        elsewhere.fail("/blob", Reply(302, headers={"Location": back}))
        hub.fail("model-0/resolve/", Reply(302, headers={"Location": f"{elsewhere.endpoint}/blob"}))
        hub.fail("/back", Reply(200, b"{}"))
        records, _ = crawled(tmp_path, hub, token=CANARY)
        assert records[FIRST].raw == b"{}"
        assert [request.token for request in elsewhere.requests] == [None]
    tokens = {request.target: request.token for request in hub.requests}
    assert tokens.pop("/back") is None
    assert set(tokens.values()) == {CANARY}


@pytest.mark.parametrize("how", ["link", "redirect"])
def test_a_listing_is_not_followed_to_another_origin(tmp_path: Path, hub: HubServer, how: str) -> None:
    """A next page or a redirect elsewhere ends the crawl with exit 4, and the other server hears nothing."""
    with HubServer(Population(3)) as elsewhere:
        target = f"{elsewhere.endpoint}/api/models?cursor=0"
        link = as_json([hub.population.repo(0).info()], Link=f'<{target}>; rel="next"')
        hub.fail("/api/models", link if how == "link" else Reply(302, headers={"Location": target}))
        with pytest.raises(Upstream, match="another"):
            crawled(tmp_path, hub, token=CANARY)
        assert elsewhere.requests == []


def test_nothing_written_holds_the_token(
    tmp_path: Path, hub: HubServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """With faults, debug logs, a refused token and tracebacks, the token is found nowhere but in the requests."""
    caplog.set_level(logging.DEBUG)
    hub.fail("/resolve/", Reply(503))
    hub.fail("/resolve/", Reply(200, b"x" * 50, mode="reset"))
    crawled(tmp_path, hub, token=CANARY)
    refused = {"X-Error-Message": "Invalid credentials in Authorization header"}
    hub.fail("/api/models", Reply(401, b"{}", refused))
    with pytest.raises(Upstream, match="refused the token") as raised:
        crawled(tmp_path, hub, token=CANARY)
    with pytest.raises(Usage) as unusable:
        crawled(tmp_path, hub, token=CANARY + "\n" + CANARY)
    said = [*traceback.format_exception(raised.value), *traceback.format_exception(unusable.value), caplog.text]
    said += [repr(vars(Hub(hub.endpoint, token=CANARY, limits=FAST))), *capfd.readouterr()]
    assert hub.requests[0].token == CANARY
    assert CANARY not in "".join(said)
    assert [file for file in tmp_path.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()] == []


def test_the_budget_defers_what_it_does_not_cover(tmp_path: Path, hub: HubServer) -> None:
    """Of 4 requests one goes to the listing and three to configs, most downloaded first; the next run has the rest."""
    records, summary = crawled(tmp_path, hub, budget=4, limits=UNHURRIED | {"workers": 1})
    assert summary.outcomes == {"ok": 3, "deferred": 3}
    assert [name for name, record in records.items() if record.raw is not None] == [
        f"org{i}/model-{i}" for i in range(3)
    ]
    assert len(hub.requests) == 4
    _, summary = crawled(tmp_path, hub)
    assert summary.outcomes == {"ok": 3, "unchanged": 3}


def test_a_renamed_repository_in_a_list_is_found_under_its_new_name(tmp_path: Path) -> None:
    """A list file's id that the Hub redirects is recorded under the new id, and the summary tells."""
    moved = (Repo("old/name", b"{}", renamed_to="new/name"), Repo("new/name", b"{}"))
    with HubServer(Population(0, extra=moved)) as hub:
        records, summary = crawled(tmp_path, hub, Selection(ids=("old/name",)))
        assert {name: record.outcome for name, record in records.items()} == {"new/name": Outcome.OK}
        assert summary.renamed == {"old/name": "new/name"}


def test_the_hub_is_told_who_asks(tmp_path: Path, hub: HubServer) -> None:
    """Name and version of the project stand in the user agent of every request."""
    crawled(tmp_path, hub)
    told = {r.headers["user-agent"].partition(";")[0] for r in hub.requests}
    assert told == {f"llm-architecture-atlas/{pipeline.__version__}"}
