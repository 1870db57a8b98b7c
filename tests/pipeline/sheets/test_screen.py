"""What a terminal gets, and what it does not."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from places import ROOT

CODE = "from pipeline.sheets.screen import write; write(iter([[('loud', 'bold'), (' red', 'red')]]))"


def on_a_terminal(**environment: str) -> bytes:
    """What a line with styles sends to a terminal."""
    parent, child = pty.openpty()
    set_ = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    set_ |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **environment}
    subprocess.run([sys.executable, "-c", CODE], stdout=child, env=set_, check=True)
    os.close(child)
    return os.read(parent, 10_000)


@pytest.mark.parametrize(("environment", "styled"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)])
def test_no_color_means_no_codes_at_all(environment: dict[str, str], styled: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """With NO_COLOR set and not empty a terminal gets the plain text, no bold either."""
    sent = on_a_terminal(**environment)
    assert b"loud" in sent
    assert (b"\x1b" in sent) is styled
