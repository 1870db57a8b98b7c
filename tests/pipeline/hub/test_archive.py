"""The archive under crashes, failing disks and damage."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest
from crawling import CHILDREN, crawl_on_a_small_disk, crawled, facts, start_crawl, stored
from failpoints import points
from hub_server import HubServer, Population

from pipeline import durable
from pipeline.errors import AtlasError, Corrupt

WRITES = sorted(point for point in points() if point.startswith("archive."))
STAGES = ("before", "torn", "written")


def test_the_archive_has_five_writes() -> None:
    """A new write of the archive must be added to what these tests kill."""
    assert WRITES == ["archive.batch", "archive.begin", "archive.create", "archive.finish", "archive.listing"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("write", WRITES)
def test_a_kill_at_any_write_is_made_good_by_running_again(tmp_path: Path, write: str, stage: str) -> None:
    """Killed at each point of each write, the crawl's rerun ends with the records of an uninterrupted one."""
    with HubServer(Population(12)) as hub:
        clean, _ = crawled(tmp_path / "clean", hub)
        process = start_crawl(tmp_path / "killed", hub, f"{write}.{stage}:kill")
        process.join()
        assert process.exitcode == -signal.SIGKILL
        records, _ = crawled(tmp_path / "killed", hub)
        done = (write, stage) == ("archive.finish", "written")
        assert [row[2:] for row in facts(records)] == [row[2:] for row in facts(clean)]
        assert {record.outcome.value for record in records.values()} == {"unchanged" if done else "ok"}


@pytest.mark.parametrize(("action", "words"), [("enospc", "No space left"), ("eio", "Input/output error")])
@pytest.mark.parametrize("stage", ["before", "torn"])
@pytest.mark.parametrize("write", WRITES)
def test_a_failing_disk_is_a_sentence_and_running_again_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str, stage: str, action: str, words: str
) -> None:
    """A full or failing disk at each write ends the crawl with the cause; the rerun is complete."""
    with HubServer(Population(12)) as hub:
        monkeypatch.setattr(durable, "_passages", Counter())
        monkeypatch.setenv("ATLAS_FAILPOINT", f"{write}.{stage}:{action}")
        with pytest.raises(AtlasError, match=words):
            crawled(tmp_path, hub)
        monkeypatch.delenv("ATLAS_FAILPOINT")
        _, summary = crawled(tmp_path, hub)
        assert summary.outcomes == {"ok": 12}


def test_a_disk_that_is_really_full_is_a_sentence_too(tmp_path: Path) -> None:
    """With the system itself refusing to let the file grow, the crawl names the file, and the rerun is complete."""
    with HubServer(Population(30, config=lambda index: b'"' + b"%06d" % index * 1000 + b'"')) as hub:
        process = CHILDREN.Process(
            target=crawl_on_a_small_disk, args=(tmp_path, hub.endpoint, "cannot write .*hub.sqlite")
        )
        process.start()
        process.join()
        assert process.exitcode == 77
        assert crawled(tmp_path, hub)[1].outcomes == {"ok": 30}


def test_a_home_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    """Where the archive's folder cannot be made, the error names it."""
    (tmp_path / "archive").write_text("a file stands in the way")
    with HubServer(Population(1)) as hub, pytest.raises(AtlasError, match=r"cannot write .*archive"):
        crawled(tmp_path, hub)


def test_a_damaged_archive_is_noticed(tmp_path: Path) -> None:
    """A changed byte in a stored config, or a file that is no database, is exit 6 with advice, before it is used."""
    with HubServer(Population(3, config=lambda index: b'{"model_type": "marker-%d"}' % index)) as hub:
        crawled(tmp_path, hub)
        path = tmp_path / "archive/hub.sqlite"
        blob = stored(tmp_path, "SELECT raw FROM blobs")[0][0]
        path.write_bytes(path.read_bytes().replace(blob, blob.replace(b"marker", b"narker")))
        with pytest.raises(Corrupt, match="does not match its digest") as raised:
            crawled(tmp_path, hub)
        assert raised.value.exit_code == 6
        path.write_bytes(b"no database" * 1000)
        with pytest.raises(Corrupt, match="move it away"):
            crawled(tmp_path, hub)


@pytest.mark.parametrize("page", range(1, 12))
def test_a_damaged_page_is_never_taken_for_the_truth(tmp_path: Path, page: int) -> None:
    """With any one page of the file overwritten, the next crawl either says exit 6 or brings the same records."""
    with HubServer(Population(20)) as hub:
        crawled(tmp_path, hub)
        clean, _ = crawled(tmp_path, hub)
        path = tmp_path / "archive/hub.sqlite"
        content = bytearray(path.read_bytes())
        content[page * 4096 : (page + 1) * 4096] = b"\xa5" * len(content[page * 4096 : (page + 1) * 4096])
        path.write_bytes(content)
        try:
            records, _ = crawled(tmp_path, hub)
        except Corrupt:
            return
        assert facts(records) == facts(clean)


def test_an_archive_of_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    """A file that a later version wrote is refused and not touched."""
    with HubServer(Population(1)) as hub:
        crawled(tmp_path, hub)
        stored(tmp_path, "PRAGMA user_version = 99")
        before = (tmp_path / "archive/hub.sqlite").read_bytes()
        with pytest.raises(Corrupt, match="of format 99"):
            crawled(tmp_path, hub)
        assert (tmp_path / "archive/hub.sqlite").read_bytes() == before
