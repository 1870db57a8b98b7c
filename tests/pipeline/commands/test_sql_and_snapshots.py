"""The commands `sql` and `snapshots`, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import hand_made
import pytest
from places import ROOT

from pipeline.store import snapshot


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one snapshot."""
    home = tmp_path_factory.mktemp("home")
    snapshot.publish(
        home, hand_made.content(), day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"
    )
    return home


def atlas(home: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command."""
    code = "import sys; from pipeline.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments, "--home", str(home)], input=stdin, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_sql_answers(home: Path) -> None:
    """A query given as an argument or on stdin prints rows on stdout and nothing else."""
    for asked in (
        atlas(home, "sql", "SELECT 1 AS a", "--format", "csv"),
        atlas(home, "sql", "-", "--format", "csv", stdin="SELECT 1 AS a"),
    ):
        assert (asked.returncode, asked.stdout, asked.stderr) == (0, "a\n1\n", "")


def test_sql_prints_json_by_either_name(home: Path) -> None:
    """--json is --format json: one array of objects, a decimal a number."""
    for option in (("--json",), ("--format", "json")):
        assert json.loads(atlas(home, "sql", "SELECT 1.5 AS a", *option).stdout) == [{"a": 1.5}]


def test_sql_ends_with_the_code_of_its_error(home: Path, tmp_path: Path) -> None:
    """Refused 7, no snapshot 8, usage 2; each with a sentence and no traceback."""
    for code, arguments in (
        (7, ("DROP TABLE models",)),
        (7, ("SELECT nope",)),
        (8, ("SELECT 1", "--snapshot", "2020-01-01")),
        (2, ()),
    ):
        ended = atlas(home, "sql", *arguments)
        assert (ended.returncode, ended.stdout) == (code, "")
        assert ended.stderr
        assert "Traceback" not in ended.stderr
    assert atlas(tmp_path, "sql", "SELECT 1").returncode == 8


def test_sql_shows_examples(home: Path) -> None:
    """--examples needs no snapshot and no query."""
    shown = atlas(home / "nowhere", "sql", "--examples")
    assert shown.returncode == 0
    assert shown.stdout.count("SELECT") >= 10


def test_snapshots_are_listed(home: Path) -> None:
    """`ls` shows what there is, for people and as JSON."""
    assert "2026-11-29  latest  hand" in atlas(home, "snapshots", "ls").stdout
    (entry,) = json.loads(atlas(home, "snapshots", "ls", "--json").stdout)
    assert (entry["id"], entry["state"], entry["models"]) == ("2026-11-29", "latest", 5)


def test_an_empty_home_is_said_to_be_empty(tmp_path: Path) -> None:
    """Without snapshots, `ls` says how to make one, and JSON is an empty array."""
    assert "atlas refresh" in atlas(tmp_path, "snapshots", "ls").stderr
    assert json.loads(atlas(tmp_path, "snapshots", "ls", "--json").stdout) == []


def test_damage_ends_verify_and_sql_with_6(tmp_path: Path) -> None:
    """A flipped bit is reported by `verify`, and no query reads the file."""
    made = snapshot.publish(
        tmp_path, hand_made.content(), day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"
    )
    assert "whole" in atlas(tmp_path, "snapshots", "verify").stdout
    data = bytearray(made.path.read_bytes())
    data[len(data) // 2] ^= 1
    made.path.chmod(0o644)
    made.path.write_bytes(data)
    for command in (("snapshots", "verify"), ("sql", "SELECT 1")):
        ended = atlas(tmp_path, *command)
        assert ended.returncode == 6
        assert "damaged" in ended.stderr
