"""Snapshots are taken back with a reason, and their files go only when they are pruned."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import hand_made
import msgspec
import polars as pl
import pytest
from places import ROOT

from pipeline.cli import main
from pipeline.errors import Corrupt, Invalid, NotFound, Usage
from pipeline.store import prune, shelf, snapshot

pytestmark = pytest.mark.slow

FIRST, SECOND = "2026-11-29", "2026-11-30"


def publish(home: Path, downloads: int, day: str) -> snapshot.Published:
    """The hand-made atlas with other download counts."""
    tables = hand_made.content()
    tables["models"] = tables["models"].with_columns(pl.col("downloads") + downloads)
    return snapshot.publish(
        home,
        tables,
        snapshot.Publication(day=dt.date.fromisoformat(day), source="hand", listed=hand_made.LISTED, code_version="0"),
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


def test_a_flipped_bit_of_the_index_is_damage(two: Path, tmp_path: Path) -> None:
    """Every single-bit flip of index.json is exit 6 for a reader, or leaves what it says as it was."""
    place = tmp_path / "snapshots"
    place.mkdir()
    shelf.write(place, msgspec.structs.replace(shelf.read(shelf.folder(two)), retracted={FIRST: "a wrong rule"}))
    path, said = place / shelf.INDEX, shelf.read(place)
    whole = path.read_bytes()
    for place_of, bit in itertools.product(range(len(whole)), range(8)):
        content = bytearray(whole)
        content[place_of] ^= 1 << bit
        path.write_bytes(content)
        try:
            assert shelf.read(place) == said, (place_of, bit)
        except Corrupt:
            continue


def test_an_index_of_before_there_were_digests_is_read(home: Path) -> None:
    """It has none; the next write adds it."""
    path = shelf.folder(home) / shelf.INDEX
    plain = msgspec.json.decode(path.read_bytes())
    del plain["digest"], plain["pruned"]
    path.write_bytes(msgspec.json.encode(plain))
    assert shelf.read(path.parent).latest == SECOND
    assert shelf.retract(home, SECOND, "wrong").digest is not None


def test_latest_and_previous_are_names(home: Path) -> None:
    """Both mean standing snapshots; where there is only one, `previous` is exit 8."""
    assert [shelf.locate(home, name)[0].id for name in ("latest", "previous")] == [SECOND, FIRST]
    shelf.retract(home, SECOND, "wrong")
    with pytest.raises(NotFound, match="no snapshot before"):
        shelf.locate(home, "previous")


def test_a_day_years_ahead_is_refused_and_one_taken_back_is_free_again(home: Path) -> None:
    """--date 9999-12-31 is exit 2; a future day that was retracted no longer holds the ids back."""
    with pytest.raises(Usage, match="ahead"):
        snapshot.publish(
            home, hand_made.content(), snapshot.Publication(
                day=dt.date(9999, 12, 31), source="hand", listed=hand_made.LISTED, code_version="0",
                day_was_asked_for=True,
            ),
        )  # fmt: skip
    ahead = (dt.datetime.now(dt.UTC).date() + dt.timedelta(days=300)).isoformat()
    publish(home, 5, ahead)
    shelf.retract(home, ahead, "a slip of the pen")
    today = dt.datetime.now(dt.UTC).date().isoformat()
    assert publish(home, 6, today).entry.id[:10] == today


def test_far_fewer_models_are_published_only_on_purpose(home: Path) -> None:
    """Two of five models would go: exit 3 with their names, from whatever source; allow_shrink does it."""
    tables = hand_made.content()
    keep = ~pl.col("repo_id").is_in(["other/bad", "other/gated"])
    tables["models"] = tables["models"].filter(keep)
    tables["configs"] = tables["configs"].filter(pl.col("config_id") != hand_made.BAD)
    tables["refusals"] = tables["refusals"].filter(pl.col("config_id") != hand_made.BAD)
    day = dt.date.fromisoformat(SECOND)

    def made(*, allow_shrink: bool) -> snapshot.Published:
        return snapshot.publish(
            home,
            tables,
            snapshot.Publication(day=day, source="folder", listed=3, code_version="0", allow_shrink=allow_shrink),
        )

    with pytest.raises(Invalid, match="other/bad, other/gated; nothing was published"):
        made(allow_shrink=False)
    assert shelf.locate(home)[0].id == SECOND
    assert made(allow_shrink=True).entry.models == 3


def test_a_policy_keeps_the_last_of_days_weeks_and_months(home: Path) -> None:
    """Of seven daily snapshots of two months, 2 days, 2 weeks and all months leave four; the chain stays proven.

    2026-11-29 is a Sunday and 11-30 a Monday. Days: 12-08, 12-07. Weeks: 12-08 and 12-06 (a Sunday). Months: 11-30
    and 12-08.
    """
    for number, day in enumerate(("2026-12-01", "2026-12-05", "2026-12-06", "2026-12-07", "2026-12-08"), 2):
        publish(home, number, day)
    index = shelf.read(shelf.folder(home))
    keep = prune.Keep(2, 2, prune.ALL)
    plan = prune.plan(index, keep)
    assert [e.id for e in plan.kept] == ["2026-11-30", "2026-12-06", "2026-12-07", "2026-12-08"]
    assert shelf.read(shelf.folder(home)) == index
    assert [e.id for e in prune.thin(home, keep).gone] == [FIRST, "2026-12-01", "2026-12-05"]
    assert [e.id for e in snapshot.verify(home)] == [e.id for e in plan.kept]
    with pytest.raises(NotFound, match="was pruned; its manifest had the digest"):
        shelf.locate(home, FIRST)
    assert publish(home, 20, "2026-12-05").entry.id == "2026-12-08.2"
    assert not (home / "snapshots" / f"{FIRST}.duckdb").exists()


def test_prune_says_first_what_it_would_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --apply a policy deletes nothing; with it, what was said."""
    asked = ["snapshots", "prune", "--keep-daily", "1", "--home", str(home)]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"{FIRST}  ")
    assert "nothing was deleted" in said.err
    assert (home / "snapshots" / f"{FIRST}.duckdb").exists()
    assert main([*asked, "--apply"]) == 0
    assert not (home / "snapshots" / f"{FIRST}.duckdb").exists()
