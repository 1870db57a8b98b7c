"""What somebody sees who waits for a Hub that gives no answer."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hub_server import HubServer, Population, Reply
from places import ROOT

from pipeline.hub.records import Progress
from pipeline.sheets import progress

SAID = re.compile(rb"the Hub gives no answer \(([\w ]+)\); tried for (\d+) s more")


def started(home: Path, endpoint: str, stderr: int) -> subprocess.Popen[bytes]:
    """A refresh from a Hub, its messages going to a terminal or a pipe."""
    command = [sys.executable, "-c", "from pipeline.cli import main; raise SystemExit(main())"]
    options = ["refresh", "--source", "hub", "--home", str(home), "--endpoint", endpoint]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("HF_HUB_OFFLINE", None)
    return subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=stderr, env=environment)


def read(end: int, seconds: float, counts: int) -> bytes:
    """What comes until it named so many numbers of seconds, or no longer than this."""
    said, until = b"", time.monotonic() + seconds
    while len(set(SAID.findall(said))) < counts and time.monotonic() < until:
        ready, _, _ = select.select([end], [], [], 0.2)
        try:
            said += os.read(end, 1 << 16) if ready else b""
        except OSError:  # nobody holds the other end any more
            break
    return said


@pytest.mark.slow
def test_a_terminal_counts_down_while_the_hub_is_down(tmp_path: Path) -> None:
    """A Hub that answers 503: within 5 s of the first request why, and for how long yet, fewer seconds each second."""
    with HubServer(Population(3)) as hub:
        hub.fail("/api/models", Reply(503), times=None)
        parent, child = pty.openpty()
        with started(tmp_path, hub.endpoint, child) as process:
            os.close(child)
            while not hub.requests and process.poll() is None:
                time.sleep(0.05)
            asked = time.monotonic()
            first = read(parent, 20, 1)
            waited = time.monotonic() - asked
            more = read(parent, 20, 3)
            process.send_signal(signal.SIGINT)
            read(parent, 1, 1_000)
            assert process.wait(20) == 130
        os.close(parent)
    assert waited < 5
    found = SAID.findall(first + more)
    assert {why for why, _ in found} == {b"status 503"}
    left = [int(seconds) for _, seconds in found]
    assert left == sorted(left, reverse=True)
    assert 170 <= left[-1] < left[0] <= 180


@pytest.mark.slow
def test_nobody_at_the_address_is_said_at_once_in_a_log(tmp_path: Path) -> None:
    """Off a terminal one line says why and how long it is tried, a last one how it ended: exit code 4."""
    with started(tmp_path, "http://127.0.0.1:9", subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait() == 4
    assert len(SAID.findall(said)) == 1
    assert b"atlas: http://127.0.0.1:9 cannot be reached" in said
    assert b"\x1b" not in said


def test_a_reason_is_said_once_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The same trouble again says nothing, another one does; a quiet run says neither."""
    for quiet in (False, True):
        with progress.watching(quiet=quiet) as watch:
            for why in ("status 503", "status 503", "ReadTimeout"):
                watch(Progress("listing", 0, None, 1, 0.0, 12.4, why))
        said = capsys.readouterr().err.splitlines()
        expected = [f"atlas: the Hub gives no answer ({w}); tried for 12 s more" for w in ("status 503", "ReadTimeout")]
        assert said == ([] if quiet else expected)
