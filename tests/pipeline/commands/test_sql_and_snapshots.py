"""The commands `sql` and `snapshots`, as a user runs them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import hand_made
import polars as pl
import pytest
from places import ROOT

from pipeline.store import snapshot

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one snapshot."""
    home = tmp_path_factory.mktemp("home")
    snapshot.publish(
        home,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
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
        tmp_path,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
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


SLOW = "SELECT count(*) AS n, sum(a.range % 7) AS s FROM range({}) a, range(40000) b WHERE a.range % 7 <> b.range % 5"


def printed(form: str, out: str) -> list[list[str]]:
    """The cells of everything on stdout, head first, as a reader of that format takes them; raises where it is none."""
    if form == "json":
        rows = json.loads(out)
        return [list(rows[0]), *([str(v) for v in row.values()] for row in rows)]
    if form == "csv":
        assert "\r" not in out
        return list(csv.reader(io.StringIO(out), strict=True))
    lines = out.splitlines()
    cut = (lambda s: [c.strip() for c in s.strip("|").split("|")]) if form == "md" else str.split
    return [cut(lines[0]), *(cut(line) for line in lines[2:])]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "table"])
def test_stdout_is_only_data_however_slow_the_query(home: Path, form: str) -> None:
    """A query of more than two seconds, after which DuckDB would draw a progress bar, prints its one row alone."""
    for rows in (20_000 * 3**i for i in range(9)):
        began = time.monotonic()
        asked = atlas(home, "sql", SLOW.format(rows), "--format", form, "--timeout", "120")
        assert asked.returncode == 0
        if time.monotonic() - began > 3:
            break
    else:
        pytest.skip("no query is slow here")
    found = printed(form, asked.stdout)
    assert (found[0], len(found)) == (["n", "s"], 2)


@pytest.mark.parametrize(
    "command",
    [
        ("snapshots", "ls", "--json"), ("sql", "--json", "SELECT * FROM runs"), ("diff", "latest", "latest", "--json"),
        ("snapshots", "rederive", "latest", "--json"),
        ("doctor", "--json", "--endpoint", "http://127.0.0.1:9"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_prints_json_prints_nothing_else(home: Path, command: tuple[str, ...]) -> None:
    """All of stdout is one JSON value."""
    json.loads(atlas(home, *command).stdout)


def test_sql_sees_every_snapshot(tmp_path: Path) -> None:
    """With --all view history has each model once per snapshot, with its name and day; the rest is the latest's."""
    for day, downloads in (("2026-11-29", 1), ("2026-11-30", 2)):
        tables = hand_made.content()
        tables["models"] = tables["models"].with_columns(downloads=pl.lit(downloads, pl.Int64))
        snapshot.publish(
            tmp_path,
            tables,
            snapshot.Publication(
                day=dt.date.fromisoformat(day), source="hand", listed=hand_made.LISTED, code_version="0"
            ),
        )
    latest = "(SELECT max(downloads) FROM models) AS d"
    asked = f"SELECT snapshot, day, count(*) AS n, {latest} FROM history GROUP BY ALL ORDER BY 1"
    rows = json.loads(atlas(tmp_path, "sql", "--all", "--json", asked).stdout)
    assert rows == [{"snapshot": day, "day": day, "n": 4, "d": 2} for day in ("2026-11-29", "2026-11-30")]
    assert atlas(tmp_path, "sql", "--all", "SELECT * FROM read_csv('/etc/passwd')").returncode == 7
    assert atlas(tmp_path, "sql", "SELECT * FROM history").returncode == 7


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["sql 'SELECT * FROM models'", "snapshots ls", "sql --examples"])
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_a_stdout_that_takes_nothing_is_a_sentence(home: Path, command: str, where: str) -> None:
    """A full device and a closed stdout: exit 1 with the cause, nothing "unexpected", no traceback."""
    line = f"exec {sys.executable} -m pipeline_main {command} --home {home} {where}".replace(
        "-m pipeline_main", '-c "import sys; from pipeline.cli import main; sys.exit(main())"'
    )
    ended = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert ended.returncode == 1
    assert "stdout cannot be written" in ended.stderr
    assert "unexpected" not in ended.stderr


def test_the_archive_is_verified_by_name(home: Path) -> None:
    """Without an archive: exit 8 and the way to one."""
    asked = atlas(home, "snapshots", "verify", "--archive")
    assert (asked.returncode, "refresh --source hub" in asked.stderr) == (8, True)
