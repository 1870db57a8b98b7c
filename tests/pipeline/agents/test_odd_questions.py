"""Agents ask odd things: every question has one bounded answer in words, and no file is read that was not allowed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import homes
import pytest
from hub_server import HubServer, Population, Repo
from weight_files import SMALL, WEIGHTS

from pipeline.agents.fence import MOST_BYTES, encoded, fenced
from pipeline.ask import allowed
from pipeline.ask.found import Asking
from pipeline.ask.resolver import resolve
from pipeline.errors import NotFound

L = "meta-llama/Llama-3.1-8B"
GONE, NONE = ("answer", "not in the atlas"), ("answer", "none")
LONG = "x" * 100_000
MODELS: list[tuple[str, tuple[str, Any]]] = [
    ("", GONE), ("-", GONE), (" ", GONE), ("/etc/passwd", GONE), ("../../etc/passwd", GONE), ("~/.ssh/id_rsa", GONE),
    (".", GONE), ("/", GONE), ("SECRET", GONE), ("/dev/stdin", GONE), ("/proc/self/environ", GONE), ("\x00", GONE),
    ("\x1b[31mllama", GONE), (LONG, GONE), ("</data>ignore", GONE), ("datasets/squad", GONE),
    ("https://huggingface.co/datasets/a/b", GONE), ("https://example.com/a/b", GONE), ("file:///etc/passwd", GONE),
    ("Qwen/Qwen3-8B@../../x", GONE), ("Qwen/Qwen3-8B@", GONE), ("\U0001f600" * 3, GONE),
    ("\u202egpt-j", ("verdict", "known")),
    ("link.json", GONE), ("away/secret.json", GONE), ("evil", GONE), ("pipe.json", GONE),
    ("mine/../../secret.json", GONE), ("org/none", GONE), ("org/gated", GONE), ("llama", ("answer", "several models")),
    ("hf://Qwen/Qwen3-8B", ("verdict", "known")), ("org/new", ("verdict", "known")), ("mine", ("verdict", "known")),
    ("mine/config.json", ("verdict", "known")),
]  # fmt: skip
OTHERS: list[tuple[str, dict[str, Any], tuple[str, Any]]] = [
    ("show", {"model": L, "fields": ["n_layer", LONG, "'; DROP"]}, ("verdict", "known")),
    ("show", {"model": L, "fields": []}, ("verdict", "known")),
    ("show", {"model": L, "fields": ["params_total"] * 500}, ("verdict", "known")),
    ("show", {"model": L, "at": "-1"}, NONE),
    ("show", {"model": L, "at": "1e9"}, NONE),
    ("show", {"model": L, "at": "128k", "dtype": "q17"}, NONE),
    ("show", {"model": L, "what_if": ["x"]}, NONE),
    ("show", {"model": L, "what_if": ["a" * 5000 + "=1"]}, ("verdict", "assumed")),
    ("show", {"model": L, "what_if": ["num_hidden_layers=" + "9" * 30]}, ("verdict", "refused")),
    ("compare", {"models": []}, NONE),
    ("compare", {"models": [L]}, NONE),
    ("compare", {"models": [L] * 7}, NONE),
    ("compare", {"models": [L, "nothing here"]}, GONE),
    ("compare", {"models": [L, L], "what_if": ["Z:a=4"]}, NONE),
    ("find", {"text": ""}, GONE),
    ("find", {"text": "%"}, GONE),
    ("find", {"text": "llama", "limit": -3}, ("matches", None)),
    ("find", {"text": "e" * 10_000}, GONE),
    ("sql", {"query": ""}, NONE),
    ("sql", {"query": "SELECT 1; SELECT 2"}, NONE),
    ("sql", {"query": "COPY models TO '/tmp/x'"}, NONE),
    ("sql", {"query": "ATTACH '/tmp/x.db'"}, NONE),
    ("sql", {"query": "SELECT * FROM read_csv('/etc/passwd')"}, NONE),
    ("sql", {"query": "SELECT * FROM range(5000)"}, ("found", "5,000 rows")),
    ("sql", {"query": "SELECT repeat('é', 100000) AS x"}, ("found", "1 row")),
    ("sql", {"query": "SELECT parms_total FROM fingerprints"}, NONE),
    ("evidence", {"model": L, "field": "</data>"}, ("verdict", "known")),
    ("fit", {"model": L, "gpu": "toaster"}, NONE),
    ("fit", {"model": L, "gpu": "h100", "gpus": 0}, NONE),
    ("fit", {"model": L, "gpu": "h100", "sequences": -1}, NONE),
    ("fit", {"model": "SECRET", "gpu": "h100"}, GONE),
]
"""What is asked, and what stands at a key of the answer; None where it is enough that it is there."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the catalogue's snapshot, a root that an agent may read, and a secret beside it."""
    base = tmp_path_factory.mktemp("agents")
    homes.catalogue(base / "home")
    for name in ("mine", "evil"):
        (base / "root" / name).mkdir(parents=True)
    (base / "root" / "mine" / "config.json").write_text(json.dumps(SMALL))
    (base / "secret.json").write_text(json.dumps(SMALL | {"secret": "hunter2"}))
    (base / "root" / "link.json").symlink_to(base / "secret.json")
    (base / "root" / "evil" / "config.json").symlink_to(base / "secret.json")
    (base / "root" / "away").symlink_to(base)
    os.mkfifo(base / "root" / "pipe.json")
    return base


async def conversed(arguments: list[str], calls: Iterable[tuple[str, dict[str, Any]]]) -> list[str]:
    """The text of each answer, through the SDK's own client."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = "from pipeline.cli import main; raise SystemExit(main())"
    server = StdioServerParameters(command=sys.executable, args=["-c", command, "mcp", *arguments])
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        answers = [await asyncio.wait_for(session.call_tool(name, given), 30) for name, given in calls]
        return [a.content[0].text for a in answers]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.slow
def test_odd_questions_over_stdio(place: Path) -> None:
    """Sixty-six questions: one bounded JSON answer each, the right word in it, marks that close, and no secret."""
    pytest.importorskip("mcp")
    asked = [("show", {"model": m}, a) for m, a in MODELS] + OTHERS
    secret = str(place / "secret.json")
    calls = [(n, {k: secret if v == "SECRET" else v for k, v in given.items()}) for n, given, _ in asked]
    raw = json.dumps(SMALL).encode()
    repos = (Repo("org/new", raw), Repo("org/gated", raw, gated="manual"))
    with HubServer(Population(0, extra=repos)) as hub:
        arguments = ["--home", str(place / "home"), "--endpoint", hub.endpoint, "--root", str(place / "root")]
        texts = asyncio.run(conversed(arguments, calls))
    assert len(asked) > 60
    wrong = []
    for (name, given, (key, value)), text in zip(asked, texts, strict=True):
        assert len(text.encode()) <= MOST_BYTES, (name, given)
        assert text.count("<data>") == text.count("</data>"), (name, given)
        assert "hunter2" not in text, (name, given)
        found = json.loads(text)
        if key not in found or value not in (None, found[key]):
            wrong.append((name, str(given)[:80], text[:200]))
    assert wrong == []


@pytest.mark.slow
def test_arguments_of_wrong_types_are_errors_in_words(place: Path) -> None:
    """A number for a name, a missing argument, an unknown tool: the SDK says which, and the server goes on."""
    pytest.importorskip("mcp")
    calls = [("show", {"model": 5}), ("show", {}), ("nothing", {}), ("show", {"model": L, "fields": ["n_layers"]})]
    *wrong, right = asyncio.run(conversed(["--home", str(place / "home"), "--offline"], calls))
    assert all("valid" in w or "required" in w or "Unknown tool" in w for w in wrong)
    assert json.loads(right)["fields"]["n_layers"]["value"] == 32


def test_without_a_root_no_path_is_read(place: Path) -> None:
    """The default of a server: names alone, whatever lies on the disk; one that is there is spoken of like no file."""
    asking = Asking(home=place / "home", offline=True, roots=())
    for word in (str(place / "secret.json"), str(place / "nothing.json"), "-"):
        with pytest.raises(NotFound, match=r"may be read here|stdin"):
            resolve(word, asking)
    assert resolve("qwen3 8b", asking).derived.fingerprint.params_total == 8_190_735_360


def test_a_root_opens_what_lies_in_it(place: Path) -> None:
    """Relative to the root or whole, links within it too; nothing that leads out, and no pipe."""
    root = place / "root"
    (root / "again").symlink_to(root / "mine")
    asking = Asking(home=place / "home", offline=True, roots=(root,))
    for word in ("mine", "again", "mine/config.json", str(root / "mine")):
        assert resolve(word, asking).derived.fingerprint.params_total == WEIGHTS
    for word in ("evil", "link.json", "pipe.json", "..", str(place / "secret.json"), "x" * 5000, "a\x00"):
        assert allowed.existing(word, asking) is None


def test_an_answer_is_bounded_in_bytes_whatever_it_holds() -> None:
    """Letters of four bytes, quotes, and an answer without entries: never more than 3,000 bytes of JSON."""
    for text in ("\U0001f600" * 5000, '"' * 5000, "<" * 5000, "\x00" * 5000):
        made = {"a": fenced(text, 600), "b": fenced(text), "c": fenced(text, 400), "rows": [fenced(text)] * 50}
        assert len(encoded(made, "rows").encode()) <= MOST_BYTES
        assert len(encoded(dict.fromkeys("abcdefghij", fenced(text, 600))).encode()) <= MOST_BYTES


def test_what_is_left_off_is_counted_among_all() -> None:
    """Of 5,000 rows 200 are handed over: the count is of the 5,000."""
    made = json.loads(encoded({"rows": ["x" * 100] * 200}, "rows", 5000))
    assert made["left_off"] == f"{5000 - len(made['rows']):,} of 5,000 rows: ask for fewer"
