"""What every repository comes to, from one crawl to the next."""

from __future__ import annotations

import os
import resource
import signal
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from crawling import crawled, facts, kill_at_random, start_crawl, stored
from hub_server import HubServer, Population, Reply, Repo, as_json

from pipeline.errors import Busy, Invalid, Usage
from pipeline.hub import crawl
from pipeline.hub.listing import Selection
from pipeline.hub.records import Progress
from schemas.vocabulary import Outcome

pytestmark = pytest.mark.slow

MONDAY, TUESDAY = date(2026, 3, 2), date(2026, 3, 3)
TOKEN = "hf_reader"


def test_only_what_changed_is_fetched_again(tmp_path: Path) -> None:
    """The second crawl of 300 repositories with 3 changed makes one request for the page and three for the configs."""
    with HubServer(Population(300)) as hub:
        _, first = crawled(tmp_path, hub, today=MONDAY)
        assert (first.outcomes, first.requests) == ({"ok": 300}, 301)
        for index in (7, 70, 270):
            hub.population.change(index, b'{"model_type": "new"}')
        records, second = crawled(tmp_path, hub, today=TUESDAY)
        assert (second.outcomes, second.requests) == ({"ok": 3, "unchanged": 297}, 4)
        changed, kept = records["org7/model-7"], records["org8/model-8"]
        assert (changed.raw, changed.as_of) == (b'{"model_type": "new"}', TUESDAY)
        assert (kept.raw, kept.as_of) == (hub.population.config(8), MONDAY)
        assert changed.revision == hub.population.repo(7).sha


def test_bytes_are_kept_exactly_and_equal_texts_once(tmp_path: Path) -> None:
    """Whatever bytes JSON readers take come back unchanged, and 40 repositories with 4 texts store 4 texts."""
    texts = [b'{"a":1}', b'{ "a" : 1 }\r\n', b'\xef\xbb\xbf{"a":1}', '{"ä":"☃"}'.encode()]
    with HubServer(Population(40, config=lambda index: texts[index % 4])) as hub:
        records, _ = crawled(tmp_path, hub)
        assert [records[f"org{i}/model-{i}"].raw for i in range(40)] == texts * 10
    assert stored(tmp_path, "SELECT count(*) FROM blobs") == [(4,)]


def changes() -> list[tuple[str, dict[str, Any], Outcome]]:
    """(what happens to a repository, the edit, what it comes to)."""
    return [
        ("gated", {"gated": "manual"}, Outcome.GATED),
        ("disabled", {"disabled": True}, Outcome.DISABLED),
        ("deleted", {"gone": True}, Outcome.MISSING),
        ("private", {"private": True}, Outcome.MISSING),
        ("renamed", {"renamed_to": "org9/new-name"}, Outcome.MISSING),
    ]


@pytest.mark.parametrize("token", [None, TOKEN], ids=["anonymous", "token"])
@pytest.mark.parametrize(("what", "edit", "outcome"), changes(), ids=[row[0] for row in changes()])
def test_a_lost_repository_keeps_its_last_good_config(
    tmp_path: Path, what: str, edit: dict[str, Any], outcome: Outcome, token: str | None
) -> None:
    """Gated, disabled, deleted, private or renamed since: an outcome, with the last good config and the day it held."""
    with HubServer(Population(5)) as hub:
        before, _ = crawled(tmp_path, hub, today=MONDAY, token=token)
        hub.population.edit(2, version=1, **edit)
        records, summary = crawled(tmp_path, hub, today=TUESDAY, token=token)
        lost, was = records["org2/model-2"], before["org2/model-2"]
        assert lost.outcome is outcome
        assert (lost.raw, lost.revision, lost.as_of) == (was.raw, was.revision, MONDAY)
        assert summary.vanished == (what in {"deleted", "private", "renamed"})
        again, _ = crawled(tmp_path, hub, today=TUESDAY, token=token)
        assert facts(again) == facts({**records})


def test_a_repository_lost_between_listing_and_config_is_an_outcome(tmp_path: Path) -> None:
    """The listing may be older than the truth: what the config's answer says decides."""
    answers = {
        0: (Reply(401, b"", {"X-Error-Code": "GatedRepo"}), Outcome.GATED),
        1: (Reply(403, b"", {"X-Error-Message": "Access to this resource is disabled."}), Outcome.DISABLED),
        2: (Reply(404, b"", {"X-Error-Code": "RepoNotFound"}), Outcome.MISSING),
        3: (Reply(404, b"", {"X-Error-Code": "RevisionNotFound"}), Outcome.MISSING),
        4: (Reply(404, b"", {"X-Error-Code": "EntryNotFound"}), Outcome.UNSUPPORTED),
        5: (Reply(403), Outcome.GATED),
        6: (Reply(401), Outcome.MISSING),
        7: (Reply(418), Outcome.MALFORMED),
    }
    with HubServer(Population(9)) as hub:
        for index, (reply, _) in answers.items():
            hub.fail(f"model-{index}/resolve/", reply)
        hub.population.edit(8, renamed_to="org0/model-0")
        listed = [hub.population.repo(i).info() for i in range(9)]
        hub.fail("/api/models", as_json(listed))
        hub.fail("model-0/resolve/.*", Reply(200, b'{"moved": 1}'))
        records, _ = crawled(tmp_path, hub, limits={"workers": 1}, token=TOKEN)
        assert {i: records[f"org{i}/model-{i}"].outcome for i in answers} == {i: o for i, (_, o) in answers.items()}
        assert records["org8/model-8"].raw == b'{"moved": 1}'


def test_the_listing_alone_decides_what_needs_no_request(tmp_path: Path) -> None:
    """Adapters, GGUF-only repositories, empty ones, and gated ones without a token cost nothing but their line."""
    bare: tuple[tuple[str, Any], ...] = (("config", {}),)
    extra = (
        Repo("a/adapter", None, facts=(*bare, ("library_name", "peft"))),
        Repo("a/gguf", None, facts=(*bare, ("gguf", {"total": 5}))),
        Repo("a/empty", None, facts=(("sha", None),)),
        Repo("a/gated", b"{}", gated="auto"),
        Repo("a/plain", None, facts=bare),
    )
    with HubServer(Population(0, extra=extra)) as hub:
        records, _ = crawled(tmp_path, hub)
        assert {name: record.outcome.value for name, record in records.items()} == {
            "a/adapter": "unsupported",
            "a/empty": "unsupported",
            "a/gated": "gated",
            "a/gguf": "unsupported",
            "a/plain": "unsupported",
        }
        assert [request.path.split("/")[2] for request in hub.requests if "/resolve/" in request.path] == ["plain"]


def test_a_refusal_is_asked_about_again_on_a_growing_schedule(tmp_path: Path) -> None:
    """A gated config at the same commit is asked for 1, 2 and 4 days after the last time, and when access changes."""
    closed = Repo("a/closed", b"{}", gated="auto", readers=frozenset({"hf_other"}))
    with HubServer(Population(0, extra=(closed,))) as hub:
        for day, token, asked, outcome in (
            (2, TOKEN, 1, "gated"),
            (2, TOKEN, 0, "gated"),
            (3, TOKEN, 1, "gated"),
            (4, TOKEN, 0, "gated"),
            (5, TOKEN, 1, "gated"),
            (8, TOKEN, 0, "gated"),
            (9, TOKEN, 1, "gated"),
            (16, "hf_other", 0, "gated"),
            (17, "hf_other", 1, "ok"),
        ):
            hub.forget()
            records, _ = crawled(tmp_path, hub, today=date(2026, 3, day), token=token)
            assert (hub.count("/resolve/"), records["a/closed"].outcome.value) == (asked, outcome), day


PASSING = {
    "404": Reply(404),
    "no such entry": Reply(404, b"", {"X-Error-Code": "EntryNotFound"}),
    "401": Reply(401),
    "a page": Reply(200, b"<html>back soon</html>"),
    "a redirect to itself": Reply(302, b"", {"Location": "/x/resolve/main/config.json"}),
    "too large": Reply(200, b" " * 20_000),
}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
def test_a_passing_outage_is_not_remembered(tmp_path: Path, reply: Reply) -> None:
    """All 60 commits change while every config.json fails: the run is refused (exit 3) and counts for nothing.

    The next run asks for all 60 and brings them; an outage of few repositories is over on the day after.
    """
    small = {"config_bytes": 10_000}
    with HubServer(Population(60)) as hub:
        crawled(tmp_path, hub, limits=small, today=MONDAY)
        for index in range(60):
            hub.population.change(index)
        hub.fail("/resolve/", reply, times=None)
        with pytest.raises(Invalid, match="allow-shrink"):
            crawled(tmp_path, hub, limits=small, today=TUESDAY)
        hub.heal()
        _, summary = crawled(tmp_path, hub, limits=small, today=TUESDAY)
        assert summary.outcomes == {"ok": 60}
        for index in range(5):
            hub.population.change(index)
        hub.fail("/resolve/", reply, times=None)
        _, summary = crawled(tmp_path, hub, limits=small, today=TUESDAY)
        assert summary.outcomes["unchanged"] == 55
        hub.heal()
        _, summary = crawled(tmp_path, hub, limits=small, today=date(2026, 3, 4))
        assert summary.outcomes == {"ok": 5, "unchanged": 55}


def test_a_killed_run_in_an_outage_counts_for_nothing_once_it_is_refused(tmp_path: Path) -> None:
    """What an unfinished run tried is let go with the refused run that went on from it."""
    with HubServer(Population(60)) as hub:
        crawled(tmp_path, hub, today=MONDAY)
        for index in range(60):
            hub.population.change(index)
        hub.fail("/resolve/", Reply(404), times=None)
        crawled(tmp_path, hub, today=TUESDAY, finish=False, allow_shrink=True)
        with pytest.raises(Invalid):
            crawled(tmp_path, hub, today=TUESDAY)
        hub.heal()
        assert crawled(tmp_path, hub, today=TUESDAY)[1].outcomes == {"ok": 60}


def test_a_repository_that_becomes_gated_at_its_commit_is_asked_again(tmp_path: Path) -> None:
    """With a token that may not read it: gated, its config kept; opened again: ok. Another token alone asks nothing."""
    with HubServer(Population(3)) as hub:
        crawled(tmp_path, hub, token=TOKEN, today=MONDAY)
        hub.population.edit(1, gated="manual")
        records, _ = crawled(tmp_path, hub, token=TOKEN, today=TUESDAY)
        assert (records["org1/model-1"].outcome, records["org1/model-1"].as_of) == (Outcome.GATED, MONDAY)
        assert records["org1/model-1"].raw is not None
        hub.population.edit(1, gated=False)
        records, summary = crawled(tmp_path, hub, token=TOKEN, today=TUESDAY)
        assert (records["org1/model-1"].outcome, summary.requests) == (Outcome.OK, 2)
        assert crawled(tmp_path, hub, token="hf_other", today=TUESDAY)[1].requests == 1
        assert crawled(tmp_path, hub, today=TUESDAY)[1].requests == 1


def test_what_a_stranger_lists_ends_no_crawl(tmp_path: Path) -> None:
    """An entry whose reading fails is malformed by name; times beyond the calendar and odd types are put up with."""
    odd = (
        Repo("a/early", b'{"model_type": "llama"}', facts=(("createdAt", "0001-01-01T00:00:00+23:59"),)),
        Repo("a/tags", b'{"model_type": "llama"}', facts=(("tags", {"a": [1]}), ("safetensors", [[[]]]))),
        Repo("a/fine", b'{"model_type": "llama"}'),
    )
    with HubServer(Population(0, extra=odd)) as hub:
        records, _ = crawled(tmp_path, hub)
    assert {name: r.outcome.value for name, r in records.items()} == dict.fromkeys(
        ("a/early", "a/fine", "a/tags"), "ok"
    )


def test_an_endpoint_with_a_password_is_refused_and_stored_nowhere(tmp_path: Path) -> None:
    """Exit 2 before anything is written, and the password is not in the sentence."""
    with pytest.raises(Usage) as caught:
        crawled(tmp_path, "http://me:canary-secret@127.0.0.1:9")
    assert "canary-secret" not in str(caught.value)
    found = [p for p in tmp_path.rglob("*") if p.is_file() and b"canary-secret" in p.read_bytes()]
    assert found == []


def test_new_model_types_come_first_and_are_reported(tmp_path: Path) -> None:
    """The least downloaded repository goes first when its model_type is new; later the most downloaded do."""
    with HubServer(Population(20)) as hub:
        _, summary = crawled(tmp_path, hub)
        assert summary.new_model_types == ["llama"]
        for index in (3, 5, 18, 19):
            hub.population.change(index, b'{"model_type": "novel"}' if index > 9 else None)
        hub.forget()
        _, summary = crawled(tmp_path, hub, limits={"workers": 1})
        fetched = [request.path.split("/")[2] for request in hub.requests if "/resolve/" in request.path]
        assert fetched == ["model-18", "model-3", "model-5", "model-19"]
        assert summary.new_model_types == ["novel"]


def test_a_mass_of_refusals_is_not_believed(tmp_path: Path) -> None:
    """When 20 of 100 repositories turn gated at once the crawl ends with exit 3, unless that is allowed."""
    with HubServer(Population(100)) as hub:
        crawled(tmp_path, hub)
        for index in range(20):
            hub.population.edit(index, gated="manual")
        with pytest.raises(Invalid, match="20 of 100 repositories are gated, after 0 of 100"):
            crawled(tmp_path, hub)
        assert crawled(tmp_path, hub, allow_shrink=True)[1].outcomes == {"gated": 20, "unchanged": 80}


def test_a_family_that_shrinks_is_not_believed(tmp_path: Path) -> None:
    """When a quarter of a family's repositories lose their model_type the crawl ends with exit 3 and names it."""
    with HubServer(Population(100)) as hub:
        crawled(tmp_path, hub)
        for index in range(25):
            hub.population.edit(index, facts=(("config", {}),))
        with pytest.raises(Invalid, match="75 repositories name the model_type 'llama', after 100"):
            crawled(tmp_path, hub)


def test_a_crawl_counts_as_done_only_when_it_is_finished(tmp_path: Path) -> None:
    """What was fetched for a snapshot that was never published is `ok` again in the next crawl, without a request."""
    with HubServer(Population(4)) as hub:
        unpublished, _ = crawled(tmp_path, hub, finish=False)
        hub.forget()
        records, _ = crawled(tmp_path, hub)
        assert facts(records) == facts(unpublished)
        assert hub.count("/resolve/") == 0
        assert crawled(tmp_path, hub)[1].outcomes == {"unchanged": 4}


def test_a_clock_that_goes_back_overwrites_nothing(tmp_path: Path) -> None:
    """Crawls on Tuesday, on Monday after it, and on the same Monday number their runs upwards and keep every text."""
    with HubServer(Population(3)) as hub:
        crawled(tmp_path, hub, today=TUESDAY)
        hub.population.change(0, b'{"second": 1}')
        records, summary = crawled(tmp_path, hub, today=MONDAY)
        assert (records["org0/model-0"].as_of, summary.outcomes) == (MONDAY, {"ok": 1, "unchanged": 2})
        hub.population.change(0, b'{"third": 1}')
        records, _ = crawled(tmp_path, hub, today=MONDAY)
        assert records["org0/model-0"].raw == b'{"third": 1}'
    assert stored(tmp_path, "SELECT run FROM finishes ORDER BY rowid") == [(1,), (2,), (3,)]
    assert stored(tmp_path, "SELECT count(*) FROM blobs") == [(5,)]


def test_a_second_crawl_is_turned_away(tmp_path: Path) -> None:
    """While one crawl holds the archive, another ends with exit 5 within two seconds; after it the way is free."""
    with HubServer(Population(2)) as hub:
        with crawl.run(crawl.Wanted(tmp_path, hub.endpoint, Selection())):
            started = time.monotonic()
            with pytest.raises(Busy) as raised:
                crawl.run(crawl.Wanted(tmp_path, hub.endpoint, Selection()))
            assert time.monotonic() - started < 2
            assert raised.value.exit_code == 5
        crawled(tmp_path, hub)


def test_a_crawl_tells_how_far_it_is(tmp_path: Path) -> None:
    """Progress goes through the listing to the last config, with the requests made so far."""
    told: list[Progress] = []
    with HubServer(Population(30)) as hub:
        crawled(tmp_path, hub, progress=told.append)
    assert (told[0].stage, told[0].done, told[0].total) == ("listing", 30, None)
    assert (told[-1].stage, told[-1].done, told[-1].total, told[-1].requests) == ("configs", 30, 30, 31)


def test_a_rest_for_the_quota_is_told_as_it_begins(tmp_path: Path) -> None:
    """Who watches hears how long the crawl rests, and the summary counts the time once for all workers together."""
    told: list[Progress] = []
    with HubServer(Population(30), quota={"resolvers": (20, 1.0)}) as hub:
        started = time.monotonic()
        _, summary = crawled(tmp_path, hub, progress=told.append, limits={"longest_wait": 5.0})
        assert 0 < summary.waited_seconds <= time.monotonic() - started
        assert [step.done < 30 for step in told if step.pause_seconds > 0] != []


MONSTERS: dict[str, tuple[bytes, Outcome]] = {
    "depth 100,000": (b"[" * 100_000 + b"]" * 100_000, Outcome.MALFORMED),
    "10^400": (b'{"hidden_size": 1' + b"0" * 400 + b"}", Outcome.OK),
    "infinity": (b'{"time_step_limit": [0.0, Infinity], "a": NaN}', Outcome.OK),
    "zero heads": (b'{"num_attention_heads": 0, "num_hidden_layers": -3}', Outcome.OK),
    "text": (b'{"hidden_size": "many"}', Outcome.OK),
    "300,000 keys": (b"{" + b",".join(b'"k%d": %d' % (i, i) for i in range(300_000)) + b"}", Outcome.OK),
    "duplicate keys": (b'{"a": 1, "a": 2}', Outcome.OK),
    "surrogate": (b'{"a": "\\ud800"}', Outcome.OK),
    "nul": (b'{"a": "\x00"}', Outcome.MALFORMED),
    "bom": (b'\xef\xbb\xbf{"a": 1}', Outcome.OK),
    "utf-16": ('{"a": 1}'.encode("utf-16"), Outcome.OK),
    "list": (b"[1, 2]", Outcome.OK),
    "empty": (b"", Outcome.MALFORMED),
    "50 MB": (b'{"a": "' + b"x" * 50_000_000 + b'"}', Outcome.TOO_LARGE),
    "no utf-8": (b'{"a": "\xff"}', Outcome.MALFORMED),
}


def test_a_monstrous_config_never_leaves_the_batch_in_pieces(tmp_path: Path) -> None:
    """Configs that no reader takes are malformed or too_large; every other text arrives as it is, to be judged."""
    extra = tuple(Repo(f"monster/m{place}", body) for place, (body, _) in enumerate(MONSTERS.values()))
    with HubServer(Population(1, extra=extra)) as hub:
        # The server's own stub of each config is not what this is about.
        hub.fail("/api/models", as_json([repo.info() | {"config": {}} for repo in extra]))
        records, _ = crawled(tmp_path, hub)
    for place, (name, (body, outcome)) in enumerate(MONSTERS.items()):
        record = records[f"monster/m{place}"]
        assert (name, record.outcome) == (name, outcome)
        assert record.raw == (body if outcome is Outcome.OK else None)


def test_a_crawl_killed_at_random_ends_like_one_that_was_not(tmp_path: Path) -> None:
    """Five kills at random moments, then a run to the end: the records equal those of an uninterrupted crawl."""
    with HubServer(Population(400)) as hub:
        clean, _ = crawled(tmp_path / "clean", hub)
        kill_at_random(tmp_path / "killed", hub, 5, 0.9)
        records, _ = crawled(tmp_path / "killed", hub)
        assert facts(records) == facts(clean)


def test_an_interrupted_crawl_keeps_what_it_has(tmp_path: Path) -> None:
    """Ctrl-C in the middle ends the crawl as an interruption; every config that had come is there for the next run."""
    with HubServer(Population(40)) as hub:
        hub.fail("model-39/resolve/", Reply(200, b"{}", mode="stall"), times=None)
        process = start_crawl(tmp_path, hub, limits={"silence": 60.0, "attempt": 60.0, "deadline": 60.0})
        while hub.count("model-38/resolve/") == 0:
            time.sleep(0.02)
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        process.join(5)
        assert process.exitcode == 130
        hub.heal()
        hub.forget()
        _, summary = crawled(tmp_path, hub)
        assert summary.outcomes == {"ok": 40}
        assert hub.count("/resolve/") <= 8


@pytest.mark.soak
def test_ten_thousand_repositories(tmp_path: Path) -> None:
    """Killed 20 times, 10,000 repositories equal an uninterrupted crawl; with 1 % changed, few requests are made."""
    with HubServer(Population(10_000)) as hub:
        clean, first = crawled(tmp_path / "clean", hub, limits={"deadline": 60.0})
        assert first.requests == 10_010
        killed = kill_at_random(tmp_path / "killed", hub, 20, first.seconds / 12)
        records, _ = crawled(tmp_path / "killed", hub, limits={"deadline": 60.0})
        assert killed >= 15
        assert facts(records) == facts(clean)
        for index in range(0, 10_000, 100):
            hub.population.change(index, b'{"changed": %d}' % index)
        _, second = crawled(tmp_path / "clean", hub)
        assert second.outcomes == {"ok": 100, "unchanged": 9_900}
        assert second.requests <= 10 + 100 + 1
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert peak < 2**20, f"{peak} KiB"
