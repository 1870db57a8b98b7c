"""Snapshots are taken back with a reason, and their files go only when they are pruned."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import hand_made
import polars as pl
import pytest
from places import ROOT

from pipeline.cli import main
from pipeline.errors import NotFound, Usage
from pipeline.store import prune, shelf, snapshot

FIRST, SECOND = "2026-11-29", "2026-11-30"


def publish(home: Path, downloads: int, day: str) -> snapshot.Published:
    """The hand-made atlas with other download counts."""
    tables = hand_made.content()
    tables["models"] = tables["models"].with_columns(pl.col("downloads") + downloads)
    return snapshot.publish(
        home, tables, day=dt.date.fromisoformat(day), source="hand", listed=hand_made.LISTED, code_version="0"
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two snapshots; tests copy it."""
    home = tmp_path_factory.mktemp("two")
    publish(home, 0, FIRST)
    publish(home, 1, SECOND)
    return home


@pytest.fixture
def home(two: Path, tmp_path: Path) -> Path:
    """A home of its own with two snapshots."""
    return Path(shutil.copytree(two, tmp_path / "home"))


def test_a_retracted_latest_gives_way_to_the_one_before(home: Path) -> None:
    """The index names the one before as latest and keeps the reason; the file can still be asked for by its date."""
    index = shelf.retract(home, SECOND, "a wrong rule")
    assert (index.latest, index.retracted) == (FIRST, {SECOND: "a wrong rule"})
    assert shelf.read(shelf.folder(home)) == index
    assert shelf.locate(home)[0].id == FIRST
    assert shelf.locate(home, SECOND)[1].is_file()


def test_what_is_taken_back_stays_back(home: Path) -> None:
    """The next publication follows the standing one under a new id, also after pruning; no id is used twice."""
    shelf.retract(home, SECOND, "a wrong rule")
    prune.prune(home)
    made = publish(home, 1, SECOND)
    assert (made.entry.id, made.entry.previous) == (f"{SECOND}.2", FIRST)
    assert [e.id for e in snapshot.verify(home)] == [FIRST, f"{SECOND}.2"]


def test_pruning_deletes_retracted_files_alone_and_keeps_the_reason(home: Path) -> None:
    """One file goes, the other stays; who asks for the pruned one reads why; pruning again finds nothing."""
    shelf.retract(home, FIRST, "counted twice")
    assert prune.prune(home) == [home / "snapshots" / f"{FIRST}.duckdb"]
    assert sorted(p.name for p in (home / "snapshots").glob("*.duckdb")) == [f"{SECOND}.duckdb"]
    with pytest.raises(NotFound, match="counted twice"):
        shelf.locate(home, FIRST)
    assert prune.prune(home) == []
    assert [e.id for e in snapshot.verify(home)] == [SECOND]


def test_all_may_be_retracted(home: Path) -> None:
    """Then there is no latest, and a refresh starts anew after the last day used."""
    shelf.retract(home, SECOND, "wrong")
    assert shelf.retract(home, FIRST, "wrong too").latest is None
    with pytest.raises(NotFound, match="no snapshot here yet"):
        shelf.locate(home)
    assert publish(home, 0, FIRST).entry.id == f"{SECOND}.2"


@pytest.mark.parametrize(("name", "why", "error"), [("2020-01-01", "wrong", NotFound), (SECOND, "  ", Usage)])
def test_only_what_exists_is_retracted_and_only_with_a_reason(
    home: Path, name: str, why: str, error: type[Exception]
) -> None:
    """An unknown date or an empty reason changes nothing."""
    before = shelf.read(shelf.folder(home))
    with pytest.raises(error):
        shelf.retract(home, name, why)
    assert shelf.read(shelf.folder(home)) == before


@pytest.mark.parametrize(
    "point", ["snapshot.index.before", "snapshot.index.renamed", "snapshot.prune.before", "snapshot.prune.removed"]
)
def test_a_killed_prune_is_finished_by_the_next(home: Path, point: str) -> None:
    """Wherever pruning is killed, the retracted snapshot is not adopted again, and pruning again ends it well."""
    shelf.retract(home, SECOND, "wrong")
    code = "import sys, pathlib; from pipeline.store import prune; prune.prune(pathlib.Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ATLAS_FAILPOINT": f"{point}:kill"}
    ended = subprocess.run([sys.executable, "-c", code, str(home)], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    made = publish(home, 2, SECOND)
    assert (made.entry.id, made.entry.previous) == (f"{SECOND}.2", FIRST)
    prune.prune(home)
    assert sorted(p.stem for p in (home / "snapshots").glob("*.duckdb")) == [FIRST, f"{SECOND}.2"]


def test_the_commands_say_what_they_did(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`retract` names the new latest, `ls` the reason, `prune` the deleted file; an empty home may be pruned."""
    at = ["--home", str(home)]
    assert main(["snapshots", "retract", SECOND, "--why", "a wrong rule", *at]) == 0
    assert f"latest is {FIRST}" in capsys.readouterr().err
    assert main(["snapshots", "ls", *at]) == 0
    assert "a wrong rule" in capsys.readouterr().out
    assert main(["snapshots", "prune", *at]) == 0
    assert capsys.readouterr().out == f"{home}/snapshots/{SECOND}.duckdb\n"
    assert main(["snapshots", "prune", "--home", str(home / "nowhere")]) == 0
    assert not (home / "nowhere").exists()


@pytest.mark.parametrize("latest", ["2026-12-01", "nonsense", FIRST])
def test_a_latest_that_does_not_stand_is_damage(home: Path, latest: str) -> None:
    """An index whose latest is no snapshot of it, or a retracted one, is damaged for every command: exit 6, not 8."""
    shelf.retract(home, FIRST, "a wrong rule")
    path = shelf.folder(home) / shelf.INDEX
    path.write_text(path.read_text().replace(f'"latest": "{SECOND}"', f'"latest": "{latest}"'))
    for command in (("snapshots", "verify"), ("snapshots", "ls"), ("sql", "SELECT 1"), ("show", "gpt2")):
        assert main([*command, "--home", str(home)]) == 6
