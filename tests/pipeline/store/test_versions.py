"""A snapshot of an older major version is listed, proven, derived again and asked in SQL; anything else refuses it."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import hand_made
import pytest
from places import FIXTURES

from pipeline.cli import main
from pipeline.errors import NotFound
from pipeline.store import shelf, snapshot
from pipeline.store.versions import major, require_readable
from schemas.version import SCHEMA_CHANGES, SCHEMA_VERSION

KEPT = FIXTURES / "snapshots"
"""One small snapshot of every published version (see `make_snapshot.py`)."""
DAY = "2026-11-28"
BEFORE = [version for version, _ in SCHEMA_CHANGES if major(version) < major(SCHEMA_VERSION)]


@pytest.fixture(scope="module", params=BEFORE)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose only snapshot an older version published."""
    home = tmp_path_factory.mktemp("older")
    place = shelf.folder(home)
    place.mkdir()
    path = place / f"{DAY}.duckdb"
    path.write_bytes(gzip.decompress((KEPT / f"{request.param}.duckdb.gz").read_bytes()))
    entry = snapshot.proven(path)
    assert entry.schema_version == request.param
    shelf.write(place, shelf.Index(latest=DAY, snapshots=(entry,)))
    return home


def test_every_version_before_this_one_is_kept() -> None:
    """Each version that has a line among the changes, but the one being written, has its snapshot here."""
    assert BEFORE
    assert {p.name.removesuffix(".duckdb.gz") for p in KEPT.glob("*.gz")} >= set(BEFORE)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["ls"], "1.0.0"),
        (["verify"], "whole"),
        (["rederive", DAY], "hand/"),
    ],
    ids=["ls", "verify", "rederive"],
)
def test_it_is_listed_proven_and_derived_again(
    home: Path, command: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`snapshots ls`, `verify` by its own columns, and `rederive`, which compares the columns that both have."""
    assert main(["snapshots", *command, "--home", str(home)]) == 0
    assert says in capsys.readouterr().out


def test_its_configs_have_todays_numbers(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A llama of 2 layers of 64: 2 x (2 x 64 x 64 + 2 x 32 x 64 + 3 x 128 x 64 + 2 x 64) + 64 + 2 x 100 x 64 weights.

    That is 86,848, the same in both versions: nothing of it is reported as changed.
    """
    query = "SELECT params_total FROM fingerprints WHERE repo_id = 'hand/llama'"
    assert main(["sql", query, "--json", "--home", str(home)]) == 0
    assert json.loads(capsys.readouterr().out) == [{"params_total": 86848}]
    assert main(["snapshots", "rederive", DAY, "--json", "--home", str(home)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ours"]["configs"] == 3
    assert "params_total" not in {change["column"] for change in found["ours"]["columns"]}


@pytest.mark.parametrize(
    "command",
    [
        ["show", "hand/llama"],
        ["compare", "hand/llama", "hand/mamba"],
        ["diff", DAY, DAY],
        ["export", "parquet"],
        ["guide", "build"],
        ["fit", "--gpu", "h100"],
    ],
    ids=" ".join,
)
def test_everything_else_says_to_derive_again(
    home: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 8, and a sentence that names the version, `snapshots rederive` and `refresh`."""
    assert main([*command, "--home", str(home)]) == 8
    said = capsys.readouterr().err
    assert "has schema 1.0.0, and this atlas reads" in said
    assert f"atlas snapshots rederive {DAY}" in said
    assert "atlas refresh" in said


def test_a_new_snapshot_follows_it(home: Path, tmp_path: Path) -> None:
    """A publication beside it becomes latest, names it as the one before, and both are proven."""
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    made = snapshot.publish(
        tmp_path,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
    )
    assert (made.is_new, made.entry.previous) == (True, DAY)
    assert [e.id for e in snapshot.verify(tmp_path)] == [DAY, made.entry.id]


def test_a_newer_major_is_not_read() -> None:
    """What a newer atlas wrote is for a newer atlas; other minors of this major are read."""
    with pytest.raises(NotFound, match="a newer atlas wrote it"):
        require_readable(DAY, f"{major(SCHEMA_VERSION) + 1}.0.0")
    require_readable(DAY, f"{major(SCHEMA_VERSION)}.99.0")
