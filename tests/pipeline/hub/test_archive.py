"""The archive under crashes, failing disks and damage."""

from __future__ import annotations

import random
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from crawling import CHILDREN, crawl_on_a_small_disk, crawled, facts, start_crawl, stored
from failpoints import points
from hub_server import HubServer, Population, Repo, plain_config

from pipeline.errors import AtlasError, Corrupt
from pipeline.hub import sealed
from pipeline.hub.archive import Archive

EVERY = sorted(point for point in points() if point.startswith("archive."))
RARE = {"archive.refuse", "archive.upgrade"}
WRITES = [point for point in EVERY if point not in RARE]
STAGES = ("before", "torn", "written")


def test_the_archive_has_five_writes() -> None:
    """A new write of the archive must be added to what these tests kill."""
    assert {*EVERY} - {*WRITES} == RARE
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


def test_a_flipped_bit_is_said_or_changes_nothing(tmp_path: Path) -> None:
    """Of 150 single bits flipped, each is exit 6, or the next crawl has the records of the intact file."""
    with HubServer(Population(8)) as hub:
        crawled(tmp_path, hub)
        clean, _ = crawled(tmp_path, hub, finish=False)
        path = tmp_path / "archive/hub.sqlite"
        whole, draw, noticed = path.read_bytes(), random.Random(14), 0
        used = [i for i, byte in enumerate(whole) if byte]
        for place in draw.sample(used, 150):
            content = bytearray(whole)
            content[place] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
            try:
                records, _ = crawled(tmp_path, hub, finish=False)
            except (Corrupt, AtlasError):
                noticed += 1
                continue
            assert facts(records) == facts(clean), place
    assert noticed > 75


def test_verify_proves_the_whole_archive(tmp_path: Path) -> None:
    """An intact archive is whole with its number of configs; one changed letter of a listing's facts is exit 6."""
    with HubServer(Population(8)) as hub:
        crawled(tmp_path, hub)
    with Archive(tmp_path) as archive:
        assert archive.verify() == 8
    with closing(sqlite3.connect(tmp_path / "archive/hub.sqlite")) as database, database:
        database.execute("UPDATE listing SET facts = replace(facts, 'transformers', 'transformerz')")
    with Archive(tmp_path) as archive, pytest.raises(Corrupt, match="8 rows of listing"):
        archive.verify()


def test_an_archive_without_seals_is_taken_over(tmp_path: Path) -> None:
    """A file of the first format opens, is sealed, and nothing in it is asked for again."""
    with HubServer(Population(5)) as hub:
        crawled(tmp_path, hub)
        with closing(sqlite3.connect(tmp_path / "archive/hub.sqlite")) as database, database:
            for table in sealed.TABLES:
                if table not in ("refused", "beside"):
                    database.execute(f"ALTER TABLE {table} DROP COLUMN seal")
            database.execute("ALTER TABLE state DROP COLUMN tries")
            database.execute("ALTER TABLE state DROP COLUMN due")
            database.execute("DROP TABLE refused")
            database.execute("DROP TABLE beside")
            database.execute("PRAGMA user_version = 1")
        _, summary = crawled(tmp_path, hub)
        assert (summary.outcomes, summary.requests) == ({"unchanged": 5}, 1)
        with Archive(tmp_path) as archive:
            assert archive.verify() == 5


def test_an_archive_without_settings_files_fetches_them_once(tmp_path: Path) -> None:
    """A file of the second format opens; a config whose listing names settings is asked for again, with them."""
    settings = (("quantize_config.json", b'{"bits": 4}'),)
    repo = Repo("org/Packed", plain_config(3), files=settings)
    with HubServer(Population(3, extra=(repo,))) as hub:
        crawled(tmp_path, hub)
        with closing(sqlite3.connect(tmp_path / "archive/hub.sqlite")) as database, database:
            database.execute("DROP TABLE beside")
            database.execute("PRAGMA user_version = 2")
        records, summary = crawled(tmp_path, hub)
        assert records["org/Packed"].settings == settings
        assert summary.requests == 3  # the listing, the config, the settings
        _, again = crawled(tmp_path, hub)
        assert (again.outcomes, again.requests) == ({"unchanged": 4}, 1)


def test_an_archive_of_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    """A file that a later version wrote is refused and not touched."""
    with HubServer(Population(1)) as hub:
        crawled(tmp_path, hub)
        stored(tmp_path, "PRAGMA user_version = 99")
        before = (tmp_path / "archive/hub.sqlite").read_bytes()
        with pytest.raises(Corrupt, match="of format 99") as refused:
            crawled(tmp_path, hub)
        assert refused.tb is not None  # its frames are alive, and yet nothing holds the file open
        assert [f.path for f in psutil.Process().open_files() if f.path.endswith("hub.sqlite")] == []
        assert (tmp_path / "archive/hub.sqlite").read_bytes() == before
