"""Writes are whole or absent, at every point where they can be cut off."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from failpoints import PIPELINE, points
from places import ROOT

from pipeline import durable
from pipeline.errors import AtlasError, Busy

WRITE = """
import pathlib, sys
from pipeline import durable
durable.write_atomically(pathlib.Path(sys.argv[1]), "new text", point="test.file")
"""
HOLD = """
import pathlib, sys
from pipeline import durable
with durable.lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def child(code: str, *arguments: str, failpoint: str = "") -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} | ({"ATLAS_FAILPOINT": failpoint} if failpoint else {})
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("stage", durable.STAGES)
def test_a_kill_at_any_stage_leaves_the_old_or_the_new_file_whole(tmp_path: Path, stage: str) -> None:
    """Killed before the rename the old text stands, after it the new one; the next sweep removes what is left."""
    path = tmp_path / "file"
    path.write_text("old text")
    ended = child(WRITE, str(path), failpoint=f"test.file.{stage}:kill")
    assert ended.returncode == -signal.SIGKILL
    assert path.read_text() == ("new text" if stage == "renamed" else "old text")
    durable.sweep(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("stage", durable.STAGES[:3])
@pytest.mark.parametrize(("action", "words"), [("enospc", "No space left"), ("eio", "Input/output error")])
def test_a_failing_disk_is_a_sentence_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, action: str, words: str
) -> None:
    """A full or failing disk raises an AtlasError that names the file and the cause; no temporary stays behind."""
    path = tmp_path / "file"
    path.write_text("old text")
    monkeypatch.setenv("ATLAS_FAILPOINT", f"test.file.{stage}:{action}")
    with pytest.raises(AtlasError, match=words):
        durable.write_atomically(path, "new text", point="test.file")
    assert path.read_text() == "old text"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_an_exception_inside_the_block_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """When the caller fails while writing, the old file stands; the temporary, with files named after it, is gone."""
    path = tmp_path / "file"
    path.write_text("old text")

    def fail_while_writing() -> None:
        with durable.replacing(path, point="test.file") as temporary:
            temporary.write_text("half")
            temporary.with_name(temporary.name + ".wal").write_text("a log beside it")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_while_writing()
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old text"


def test_an_unreadable_failpoint_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistyped ATLAS_FAILPOINT is an error, so that a test cannot pass by naming nothing."""
    monkeypatch.setenv("ATLAS_FAILPOINT", "test.file.before")
    with pytest.raises(AtlasError, match="ATLAS_FAILPOINT"):
        durable.failpoint("anything")


def test_a_second_writer_is_turned_away_within_two_seconds(tmp_path: Path) -> None:
    """While one process holds the folder, another gets Busy (exit 5) in under two seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        started = time.monotonic()
        with pytest.raises(Busy), durable.lock(tmp_path):
            pass
        assert time.monotonic() - started < 2
        holder.kill()
    with durable.lock(tmp_path):
        assert (tmp_path / ".lock").exists()


def writes(path: Path) -> list[str]:
    """Calls in a file that could write to the disk without a failpoint."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        modes = [
            value.value
            for value in [*node.args[-1:], *(k.value for k in node.keywords if k.arg == "mode")]
            if isinstance(value, ast.Constant) and isinstance(value.value, str)
        ]
        opens = name.split(".")[-1] == "open" and any(set(mode) & set("wax+") and len(mode) < 4 for mode in modes)
        if (
            opens
            or name.split(".")[-1] in {"write_text", "write_bytes"}
            or name in {"os.replace", "os.rename", "shutil.move"}
        ):
            found.append(f"{path.name}:{node.lineno} {name}")
    return found


def test_every_write_of_the_pipeline_has_a_failpoint() -> None:
    """No file of the pipeline but durable.py writes or renames a file: each write takes a named point."""
    assert [line for path in sorted(PIPELINE.rglob("*.py")) if path.name != "durable.py" for line in writes(path)] == []


def test_every_point_has_its_own_name() -> None:
    """A point names one write, so that a test can make exactly that one fail."""
    assert {name: where for name, where in points().items() if len(where) > 1} == {}
