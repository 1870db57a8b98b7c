"""The doctor says what works, what does not, and what still does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest
from hub_server import HubServer, Population, Reply
from places import ROOT

from pipeline.cli import main
from pipeline.hub import reach
from pipeline.sheets import doctor
from pipeline.store import snapshot

NOWHERE = "http://127.0.0.1:9"
CANARY = "hf_canary0canary0canary0canary0"


@pytest.fixture(autouse=True)
def no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever runs the tests may be logged in: here nobody is."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no-token"))


def said(health: doctor.Health) -> dict[str, doctor.Finding]:
    """The findings by subject."""
    return {finding.subject: finding for finding in health.findings}


def test_a_hub_that_answers_is_told_with_its_quota(tmp_path: Path) -> None:
    """A working Hub, a token it takes: everything is ok, the quota is the token's, one request was made."""
    with HubServer(Population(3), quota={"api": (500, 300)}) as hub:
        health = doctor.examine(tmp_path, hub.endpoint, CANARY)
        assert len(hub.requests) == 1
    found = said(health)
    assert (health.hub, health.usable) == (True, True)
    assert found["token"].state == "ok"
    assert "499 api requests left" in found["quota"].says
    assert found["home"].state == found["disk"].state == "ok"
    assert CANARY not in str(health)


def test_a_refused_token_is_told_apart_from_a_hub_that_is_down(tmp_path: Path) -> None:
    """The Hub answers without the token: the hub is ok, the token bad, with what to do."""
    with HubServer(Population(0)) as hub:
        hub.fail("/api/models", Reply(401, b"", {"X-Error-Message": "Invalid credentials in Authorization header"}))
        health = doctor.examine(tmp_path, hub.endpoint, CANARY)
    found = said(health)
    assert (found["hub"].state, found["token"].state, health.hub) == ("ok", "bad", False)
    assert "log in again" in found["token"].says


def test_without_the_hub_it_says_what_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 4, the catalogue offered, 80 columns, and never the token."""
    monkeypatch.setenv("HF_TOKEN", CANARY)
    monkeypatch.setattr(reach, "BRIEF", replace(reach.BRIEF, contact=0.2))
    assert main(["doctor", "--endpoint", NOWHERE, "--home", str(tmp_path)]) == 4
    out = capsys.readouterr().out
    assert "cannot be reached" in out
    assert "refresh --source catalogue" in out
    assert "there is one, not tried" in out
    assert max(map(len, out.splitlines())) <= 80
    assert CANARY not in out


def test_json_has_the_same_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object: whether the Hub works, whether all is usable, and every finding; versions name what is installed."""
    with HubServer(Population(1)) as hub:
        assert main(["doctor", "--json", "--endpoint", hub.endpoint, "--home", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["hub"], told["usable"]) == (True, True)
    versions = next(f["says"] for f in told["findings"] if f["subject"] == "versions")
    assert all(name in versions for name in doctor.LIBRARIES)


def test_a_damaged_snapshot_is_bad_and_a_whole_one_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flipped byte of the latest file: exit code 6 and what to run; before that, its date."""
    made = snapshot.publish(
        tmp_path,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
    )
    with HubServer(Population(1)) as hub:
        at = ["--endpoint", hub.endpoint, "--home", str(tmp_path)]
        assert main(["doctor", *at]) == 0
        assert f"latest of 1 is {made.entry.id}" in capsys.readouterr().out
        made.path.chmod(0o600)
        data = bytearray(made.path.read_bytes())
        data[5000] ^= 1
        made.path.write_bytes(data)
        assert main(["doctor", *at]) == 6
    assert "snapshots verify" in capsys.readouterr().out


def test_a_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A home below a file can never be made."""
    (tmp_path / "file").write_text("")
    with HubServer(Population(1)) as hub:
        found = said(doctor.examine(tmp_path / "file" / "home", hub.endpoint, None))
    assert (found["home"].state, found["token"].state) == ("bad", "note")


@pytest.mark.slow
def test_a_first_run_without_network_is_a_plain_sentence(tmp_path: Path) -> None:
    """`refresh --source hub` with nobody there: exit code 4, what failed, the way without network; no snapshot."""
    command = "import sys; from pipeline.cli import main; sys.exit(main())"
    options = ["refresh", "--source", "hub", "--endpoint", NOWHERE, "--home", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", command, *options], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.splitlines()[0].startswith("atlas: the Hub gives no answer"), "said while it is tried again"
    assert done.stderr.count("\n") == 3
    assert "cannot be reached" in done.stderr
    assert "'atlas refresh --source catalogue'" in done.stderr
    assert not list(tmp_path.rglob("*.duckdb"))
