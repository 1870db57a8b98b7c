"""Old snapshots are read whole once; whatever is done to a file afterwards is noticed before it is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import homes
import pytest

from pipeline.cli import main
from pipeline.errors import Corrupt
from pipeline.store import shelf, trusted

DAYS = ("2026-11-29", "2026-11-30", "2026-12-01")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three snapshots."""
    return homes.hand_made_days(tmp_path, *DAYS)


def flipped(path: Path) -> None:
    """One bit otherwise, everything else as it was."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    with path.open("r+b") as file:
        file.write(data)


def flipped_with_its_time(path: Path) -> None:
    """The same, and the time of the last write is put back."""
    before = path.stat()
    flipped(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def swapped(path: Path) -> None:
    """Another snapshot under its name."""
    path.unlink()
    path.write_bytes((path.parent / f"{DAYS[1]}.duckdb").read_bytes())


def cut(path: Path) -> None:
    """Half of it."""
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    os.truncate(path, path.stat().st_size // 2)


def test_a_file_is_digested_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look digests three files, the second none; a file that was only touched is digested again, alone."""
    read: list[str] = []
    digest = shelf.file_digest
    monkeypatch.setattr(shelf, "file_digest", lambda path: read.append(path.stem) or digest(path))
    assert [entry.id for entry, _ in trusted.all_of(home)] == list(DAYS)
    assert read == list(DAYS)
    trusted.all_of(home)
    assert read == list(DAYS)
    os.utime(home / "snapshots" / f"{DAYS[0]}.duckdb")
    trusted.all_of(home)
    assert read == [*DAYS, DAYS[0]]


@pytest.mark.parametrize("harm", [flipped, flipped_with_its_time, swapped, cut, Path.unlink], ids=lambda f: f.__name__)
def test_whatever_happens_to_a_file_is_noticed(home: Path, harm: Callable[[Path], None]) -> None:
    """After a first look every change of an old snapshot ends `sql --all` with 6."""
    trusted.all_of(home)
    harm(home / "snapshots" / f"{DAYS[0]}.duckdb")
    with pytest.raises(Corrupt, match=DAYS[0]):
        trusted.all_of(home)
    assert main(["sql", "--all", "SELECT count(*) FROM history", "--home", str(home)]) == 6


def test_a_record_that_is_damaged_is_made_anew(home: Path) -> None:
    """No flipped bit of the record lets a harmed file pass; what cannot be read is forgotten."""
    trusted.all_of(home)
    record = home / "snapshots" / trusted.RECORD
    whole = record.read_bytes()
    flipped(home / "snapshots" / f"{DAYS[0]}.duckdb")
    for position in range(0, len(whole), 7):
        record.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(Corrupt):
            trusted.all_of(home)
    record.write_bytes(b"\xff")
    with pytest.raises(Corrupt):
        trusted.all_of(home)


def test_a_home_that_cannot_be_written_is_still_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be remembered every file is read again, and the answer is the same."""
    monkeypatch.setenv("ATLAS_FAILPOINT", "snapshot.checked.before:eio")
    assert len(trusted.all_of(home)) == 3
    assert not (home / "snapshots" / trusted.RECORD).exists()
