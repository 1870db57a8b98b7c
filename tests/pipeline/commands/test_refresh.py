"""What `atlas refresh` prints, and which options go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hub_server import HubServer, Population, Repo

from pipeline.cli import main
from pipeline.guide import render

HOSTILE = {"model_type": "\x1b[2J\u202e" + "|<b>" * 20, "architectures": ["A"], "hidden_size": 64}


@pytest.fixture(autouse=True)
def _no_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide has tests of its own, and takes most of a refresh."""
    monkeypatch.setattr(render, "build", lambda *_: render.Report("none", (), ()))


def test_hostile_model_types_are_shown_escaped_and_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Model types of strangers go to a terminal without codes, cut, and no more than eight of them."""
    repos = [
        Repo(f"a/m{i}", json.dumps(HOSTILE | {"model_type": f"{i}{HOSTILE['model_type']}"}).encode()) for i in range(20)
    ]
    assert main(["refresh", "--source", "catalogue", "--date", "2026-11-20", "--home", str(tmp_path)]) == 0
    assert "never seen before" not in capsys.readouterr().out
    with HubServer(Population(0, extra=tuple(repos))) as hub:
        assert main(["refresh", "--source", "hub", "--endpoint", hub.endpoint, "--home", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "model types never seen before" in out
    assert out.replace("\n", "").isprintable()
    assert "and 12 more" in out


def test_a_config_that_is_none_stays_malformed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list instead of an object is malformed in the first refresh and in the next; it is never called unchanged."""
    with HubServer(Population(2, extra=(Repo("a/list", b"[]"), Repo("a/bom", b"\xef\xbb\xbf{}")))) as hub:
        for others in ("ok", "unchanged"):
            arguments = ["--source", "hub", "--endpoint", hub.endpoint, "--home", str(tmp_path), "--json"]
            assert main(["refresh", *arguments]) == 0
            outcomes = json.loads(capsys.readouterr().out)["outcomes"]
            assert outcomes["malformed"] == 2
            assert outcomes[others] >= 2


@pytest.mark.parametrize("option", [("--top", "3"), ("--author", "me"), ("--list", "names"), ("--budget", "9")])
def test_options_of_the_hub_are_not_ignored(
    option: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that selects from the Hub, given with another source, ends with 2 instead of doing nothing."""
    assert main(["refresh", *option, "--home", str(tmp_path)]) == 2
    assert option[0] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
