"""The listing read whole, once each, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from crawling import UNHURRIED, crawled
from hub_server import HubServer, Population, Reply, Repo, Request, as_json
from huggingface_hub import HfApi

from pipeline.errors import Invalid, NotFound, Upstream, Usage
from pipeline.hub.entry import base_models, entry_of
from pipeline.hub.listing import Selection, read_list
from schemas.vocabulary import Outcome


def test_every_page_is_read_and_nothing_twice(tmp_path: Path) -> None:
    """2,300 repositories are three pages of up to 1,000, and the stock client lists the same ones."""
    with HubServer(Population(2300, config=lambda _: None)) as hub:
        stock = {model.id for model in HfApi(endpoint=hub.endpoint, token=False).list_models()}
        hub.forget()
        records, summary = crawled(tmp_path, hub, budget=3, limits=UNHURRIED)
        assert set(records) == stock
        assert summary.listed == 2300
        assert hub.count("/api/models") == summary.requests == 3


def test_a_repeated_cursor_is_noticed(tmp_path: Path) -> None:
    """A next link that leads back to a page already read ends the crawl with exit 4 instead of going round for ever."""
    with HubServer(Population(3)) as hub:
        link = f'<{hub.endpoint}/api/models?cursor=0>; rel="next"'
        hub.fail("/api/models", as_json([hub.population.repo(0).info()], Link=link), times=None)
        with pytest.raises(Upstream, match="same page cursor twice"):
            crawled(tmp_path, hub)
        assert hub.count("/api/models") == 2


def test_a_listing_without_end_meets_the_page_budget(tmp_path: Path) -> None:
    """When every page names a fresh next one, the crawl stops at its page budget with exit 4."""

    def endless(request: Request) -> Reply:
        page = len(request.target)
        return as_json([{"id": f"a/{page}"}], Link=f'<{request.target}x>; rel="next"')

    with HubServer(Population(0)) as hub:
        hub.fail("/api/models", endless, times=None)
        with pytest.raises(Upstream, match="more than 5 pages"):
            crawled(tmp_path, hub, limits={"pages": 5})


def test_an_empty_page_with_a_next_is_read_on_and_counted(tmp_path: Path) -> None:
    """One empty page in the middle loses nothing; three in a row are not believed (exit 4)."""
    with HubServer(Population(4)) as hub:
        onward = Reply(200, b"[]", {"Link": f'<{hub.endpoint}/api/models?limit=1000>; rel="next"'})
        hub.fail("/api/models", onward)
        _, summary = crawled(tmp_path, hub)
        assert (summary.listed, summary.empty_pages) == (4, 1)

        def hollow(request: Request) -> Reply:
            return Reply(200, b"[]", {"Link": f'<{hub.endpoint}{request.target}x>; rel="next"'})

        hub.fail("/api/models", hollow, times=None)
        with pytest.raises(Upstream, match="3 empty pages in a row"):
            crawled(tmp_path, hub)


def test_an_id_on_two_pages_counts_once(tmp_path: Path) -> None:
    """Where the listing moves between two pages, the repository seen twice is one record, and the summary says so."""
    with HubServer(Population(4)) as hub:
        first = [hub.population.repo(i).info() for i in (0, 1)]
        hub.fail("/api/models", as_json(first, Link=f'<{hub.endpoint}/api/models?cursor=1>; rel="next"'))
        _, summary = crawled(tmp_path, hub)
        assert (summary.listed, summary.duplicates) == (4, 1)
        assert hub.count("/resolve/") == 4


@pytest.mark.parametrize(
    "reply",
    [Reply(200, b"<html>sign in</html>"), Reply(200, b'{"error": "no"}'), Reply(200, b'[{"id": "a'), Reply(400)],
)
def test_a_page_that_is_no_list_ends_the_crawl(tmp_path: Path, reply: Reply) -> None:
    """A login page, an object, a text cut short or a refusal in place of the listing is exit 4, within the deadline."""
    with HubServer(Population(2)) as hub:
        hub.fail("/api/models", reply, times=None)
        with pytest.raises(Upstream, match="listing cannot be read"):
            crawled(tmp_path, hub, limits={"deadline": 0.3})


def test_a_shorter_listing_is_not_believed(tmp_path: Path) -> None:
    """100 repositories, then 98: 2 % fewer stop the crawl (exit 3) before any config is asked for, unless allowed."""
    with HubServer(Population(100)) as hub:
        crawled(tmp_path, hub)
        hub.forget()
        for index in (10, 20):
            hub.population.edit(index, gone=True)
        with pytest.raises(Invalid, match=r"98 repositories, 2 fewer than the 100.*--allow-shrink") as raised:
            crawled(tmp_path, hub)
        assert raised.value.exit_code == 3
        assert hub.count("/resolve/") == 0
        _, summary = crawled(tmp_path, hub, allow_shrink=True)
        assert (summary.listed, summary.vanished, summary.outcomes) == (98, 2, {"unchanged": 98, "missing": 2})
        assert summary.losses != []


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(top=3), ["org0/model-0", "org1/model-1", "org2/model-2"]),
        (Selection(author="org1"), ["org1/model-1", "org1/model-98"]),
        (Selection(task="fill-mask"), ["bert/base"]),
        (Selection(task=None, author="bert"), ["bert/base"]),
        (Selection(ids=("org5/model-5", "bert/base", "org5/model-5")), ["bert/base", "org5/model-5"]),
    ],
    ids=["top", "author", "task", "any task", "list"],
)
def test_a_selection_is_what_it_says(tmp_path: Path, selection: Selection, expected: list[str]) -> None:
    """By downloads, author, task or a list of ids, the records are the repositories of that selection."""
    bert = Repo("bert/base", b"{}", facts=(("pipeline_tag", "fill-mask"),))
    with HubServer(Population(110, extra=(bert,))) as hub:
        records, _ = crawled(tmp_path, hub, selection)
        assert list(records) == expected


def test_a_list_file_has_one_id_a_line(tmp_path: Path) -> None:
    """Comments and empty lines are left out; a missing, empty or binary file is an error that names it."""
    path = tmp_path / "list"
    path.write_text("# mine\n\n a/b \nc/d\n")
    assert read_list(path) == ("a/b", "c/d")
    with pytest.raises(NotFound, match="elsewhere"):
        read_list(tmp_path / "elsewhere")
    for content in (b"# nothing\n", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(Usage, match="list"):
            read_list(path)


def test_a_list_with_an_impossible_id_is_a_usage_error(tmp_path: Path) -> None:
    """An id of a list file that no repository can have is refused before anything is asked with it."""
    with HubServer(Population(1)) as hub:
        with pytest.raises(Usage, match="owner/name"):
            crawled(tmp_path, hub, Selection(ids=("../secret",)))
        assert hub.requests == []


def test_the_card_says_what_a_model_was_made_from(shared: Path) -> None:
    """Llama-3.1-8B-Instruct's recorded card names its base by an old name; the Hub's tag has today's, which counts."""
    recorded = json.loads((shared / "hub/api/meta-llama--Llama-3.1-8B-Instruct.model_info.json").read_text())
    entry = entry_of(recorded, authenticated=True)
    assert entry is not None
    assert entry.facts["base_models"] == ["meta-llama/Llama-3.1-8B"]
    assert entry.facts["base_model_relation"] == "finetune"
    assert (entry.facts["model_type_hint"], entry.facts["gated"]) == ("llama", "manual")
    assert entry.facts["downloads"] == recorded["downloads"]


def test_base_models_are_each_named_once_whatever_the_card_holds() -> None:
    """A text, a list or nonsense in a card gives a list of names; what the Hub made of it in its tags comes first."""
    assert base_models({"base_model": "a/b"}, ["en"]) == ["a/b"]
    assert base_models({"base_model": ["a/b", None, "c/d", "a/b"]}, []) == ["a/b", "c/d"]
    assert base_models({"base_model": {"no": 1}}, ["base_model:merge:x/y", "base_model:x/y", "en"]) == ["x/y"]


WEIRD: list[dict[str, Any]] = [
    {"downloads": -1},
    {"downloads": "many", "likes": 10**30, "tags": [None, 3, "ok", {}]},
    {"config": ["llama"], "safetensors": {"parameters": {"F8": "x"}, "total": 1.5}, "cardData": "text"},
    {"author": "\ud800", "tags": ["\udfff"] * 10_000, "createdAt": 5, "gated": {"a": 1}},
]


@pytest.mark.parametrize("weird", WEIRD, ids=["negative", "texts", "shapes", "surrogates"])
def test_nonsense_in_a_listing_is_no_fact(tmp_path: Path, weird: dict[str, Any]) -> None:
    """Facts of a wrong type are None or dropped, lone surrogates replaced; the repository is crawled all the same."""
    with HubServer(Population(1, extra=(Repo("odd/one", b"{}", facts=tuple(weird.items())),))) as hub:
        records, summary = crawled(tmp_path, hub)
        assert summary.outcomes == {"ok": 2}
        told = records["odd/one"].listing
        assert told["downloads"] in {None, 0}
        assert all(isinstance(tag, str) for tag in told["tags"])
        assert len(told["tags"]) <= 200


def test_entries_without_an_id_are_counted_not_dropped_in_silence(tmp_path: Path) -> None:
    """An entry that cannot be read at all appears in the summary."""
    with HubServer(Population(1)) as hub:
        hub.fail("/api/models", as_json([hub.population.repo(0).info(), {"sha": "x"}, None, []]))
        _, summary = crawled(tmp_path, hub)
        assert (summary.listed, summary.unreadable_entries) == (1, 3)


HOSTILE = [
    "../../etc/passwd",
    "a%2fb/c",
    "line\nbreak/x",
    "org/\u202egnp.exe",
    "\u043ergan/m\u043edel",
    "CON/aux",
    "org/" + "x" * 120,
    "org/<b>|`name`",
    "org/a/b/c",
    "nul\x00/x",
    "org/{{ 7*7 }}",
]


def test_no_path_and_no_address_is_made_from_a_hostile_id(tmp_path: Path) -> None:
    """Every hostile id has an outcome, is in no file name and, where it breaks the Hub's rules, in no request."""
    repos = tuple(Repo(name, b"{}") for name in HOSTILE)
    with HubServer(Population(2, extra=repos)) as hub:
        records, summary = crawled(tmp_path, hub)
        asked = [request.target for request in hub.requests if "/resolve/" in request.target]
    assert set(HOSTILE) < set(records)
    refused = {name for name in HOSTILE if records[name].outcome is Outcome.MALFORMED}
    assert refused == set(HOSTILE) - {"CON/aux"}
    assert summary.outcomes == {"malformed": 10, "ok": 3}
    assert len(asked) == 3
    assert not any(".." in target or "\n" in target for target in asked)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "archive",
        "archive/.lock",
        "archive/hub.sqlite",
    ]
