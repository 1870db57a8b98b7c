"""Snapshots: whole or absent, proven or refused, never overwritten."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import hand_made
import polars as pl
import pytest
from places import ROOT, SUPPORT

from pipeline import durable
from pipeline.errors import AtlasError, Busy, Corrupt, Invalid, NotFound, Usage
from pipeline.store import build, shelf, snapshot

pytestmark = pytest.mark.slow

DAY = hand_made.DAY
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]


def second() -> dict[str, pl.DataFrame]:
    """The hand-made atlas a day later: one model was downloaded more."""
    content = hand_made.content()
    return content | {"models": content["models"].with_columns(pl.col("downloads") + 1)}


def publish(
    home: Path, content: dict[str, pl.DataFrame] | None = None, day: dt.date = DAY, **more: bool
) -> snapshot.Published:
    """Publish the hand-made atlas, or other tables."""
    tables = hand_made.content() if content is None else content
    return snapshot.publish(
        home, tables, snapshot.Publication(day=day, source="hand", listed=hand_made.LISTED, code_version="0", **more)
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one snapshot; tests copy it."""
    home = tmp_path_factory.mktemp("first")
    publish(home)
    return home


@pytest.fixture
def home(first: Path, tmp_path: Path) -> Path:
    """A home of its own with one snapshot."""
    shutil.copytree(first, tmp_path / "home")
    return tmp_path / "home"


def names(home: Path) -> list[str]:
    """What lies in the folder of snapshots."""
    return sorted(p.name for p in (home / "snapshots").iterdir() if p.name != ".lock")


# what a publication makes


def test_a_snapshot_is_published_and_proven(home: Path) -> None:
    """The file is read-only, in the index, named latest, and proves itself."""
    entry, path = shelf.locate(home)
    assert (entry.id, entry.models, entry.configs, entry.designs) == ("2026-11-29", 5, 4, 2)
    assert path.stat().st_mode & 0o222 == 0
    assert [e.id for e in snapshot.verify(home)] == ["2026-11-29"]


def test_equal_content_publishes_nothing(home: Path) -> None:
    """The same tables on a later day make no new snapshot; rows in another order are the same tables."""
    shuffled = {name: frame.sample(fraction=1, shuffle=True, seed=1) for name, frame in hand_made.content().items()}
    again = publish(home, shuffled, DAY + dt.timedelta(days=1))
    assert not again.is_new
    assert again.entry.id == "2026-11-29"
    assert names(home) == ["2026-11-29.duckdb", "index.json"]


def test_two_builds_of_equal_input_have_equal_digests(home: Path, tmp_path: Path) -> None:
    """Digests and manifest are those of the content, not of the file or the day's clock."""
    other = publish(tmp_path / "other")
    entry, path = shelf.locate(home)
    assert other.entry.manifest == entry.manifest
    assert dict(other.digests) == snapshot.validate.digests(duckdb.connect(str(path), read_only=True))


def test_ids_increase_and_nothing_is_overwritten(home: Path) -> None:
    """A second snapshot of a day is .2; when the clock goes back, the last day is used again."""
    made = [publish(home, second()), publish(home, None, DAY - dt.timedelta(days=1))]
    made.append(publish(home, second(), DAY + dt.timedelta(days=1)))
    assert [m.entry.id for m in made] == ["2026-11-29.2", "2026-11-29.3", "2026-11-30"]
    assert [m.entry.previous for m in made] == ["2026-11-29", "2026-11-29.2", "2026-11-29.3"]
    assert [e.id for e in snapshot.verify(home)] == ["2026-11-29", "2026-11-29.2", "2026-11-29.3", "2026-11-30"]
    assert shelf.read(home / "snapshots").latest == "2026-11-30"


def test_a_day_asked_for_cannot_be_before_the_latest(home: Path) -> None:
    """A date on the command line before the latest snapshot's is a usage error; the same day is not."""
    with pytest.raises(Usage, match="before the latest"):
        publish(home, second(), DAY - dt.timedelta(days=1), day_was_asked_for=True)
    assert publish(home, second(), DAY, day_was_asked_for=True).entry.id == "2026-11-29.2"


def test_an_unlisted_drop_is_not_published(home: Path) -> None:
    """A repository that was listed and is no row stops the publication, and latest stays."""
    content = second()
    content["models"] = content["models"].filter(pl.col("repo_id") != "other/gated")
    with pytest.raises(Invalid, match="5 listed, 4 in models") as caught:
        publish(home, content)
    assert caught.value.exit_code == 3
    assert names(home) == ["2026-11-29.duckdb", "index.json"]


def test_a_foreign_file_of_the_day_is_not_overwritten(home: Path) -> None:
    """A file that is in the way keeps its bytes and its name; the snapshot takes the next number."""
    (home / "snapshots" / "2026-11-29.2.duckdb").write_text("mine")
    assert publish(home, second()).entry.id == "2026-11-29.3"
    assert (home / "snapshots" / "2026-11-29.2.duckdb").read_text() == "mine"


def test_a_reader_keeps_its_file_while_another_appears(home: Path) -> None:
    """A query in the old snapshot goes on after the new one was published."""
    _, path = shelf.locate(home)
    with duckdb.connect(str(path), read_only=True) as reader:
        publish(home, second(), DAY + dt.timedelta(days=1))
        assert reader.execute("SELECT downloads FROM models WHERE repo_id = 'org/A-8B'").fetchall() == [(100,)]
    assert shelf.locate(home)[0].id == "2026-11-30"


def test_two_publications_at_once(home: Path) -> None:
    """While one holds the folder, another is told so."""
    with durable.lock(home / "snapshots"), pytest.raises(Busy):
        publish(home, second())


def test_comments_views_and_macro_travel_in_the_file(home: Path) -> None:
    """Every column of every table and view has its comment, and the macro counts windows and fixed states."""
    with duckdb.connect(str(shelf.locate(home)[1]), read_only=True) as con:
        bare = con.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
        ).fetchall()
        assert bare == []
        # 8 B/token grow; the windowed layer adds 8 B for at most 1,024 tokens; a fixed state is 6 x 4 B at any width
        asked = "SELECT kv_bytes('org/A-8B', 2000, 2), kv_bytes('org/A-8B', 2000, 0.5), kv_bytes('org/Bamba', 9, 1)"
        assert con.execute(asked).fetchall() == [(8 * 2000 + 8 * 1024, 2 * 2000 + 2 * 1024, 24)]
        assert con.execute("SELECT kv_bytes('other/bad', 10, 2), kv_bytes('other/gated', 10, 2)").fetchall() == [
            (None, None)
        ]
        expanded = con.execute(
            "SELECT index, mixer, \"window\" FROM layers_expanded WHERE design_id = 'aaaa' ORDER BY 1"
        ).fetchall()
        assert expanded == [(0, "full_attention", None), (1, "sliding_attention", 1024)]


MACROS = {
    "in a condition": "SELECT count(*) FROM {m}fingerprints WHERE {f}(repo_id, 4096, 2) = kv_bytes_4k",
    "qualified": "SELECT count(*) FROM {m}fingerprints f WHERE {f}(f.repo_id, 4096, 2) = f.kv_bytes_4k",
    "joined to itself": (
        "SELECT count(*) FROM {m}fingerprints f JOIN {m}fingerprints g ON f.repo_id = g.repo_id"
        " WHERE {f}(f.repo_id, 4096, 2) = {f}(g.repo_id, 4096, 2)"
    ),
    "grouped": (
        "SELECT sum(n) FROM (SELECT {f}(repo_id, 4096, 2) AS held, count(*) AS n FROM {m}fingerprints GROUP BY ALL"
        " HAVING held > 0)"
    ),
    "ordered": (
        "SELECT count(*) FROM (SELECT repo_id FROM {m}fingerprints WHERE kv_bytes_4k > 0"
        " ORDER BY {f}(repo_id, 4096, 2))"
    ),
    "in a condition of another table": (
        "SELECT count(*) FROM {m}models m WHERE m.config_id IS NOT NULL AND {f}(m.repo_id, 4096, 2) > 0"
    ),
    "by its states": "SELECT count(*) FROM {m}kept JOIN {m}fingerprints USING (repo_id)"
    " WHERE {m}kv_bytes_of(states, 4096, 2) = kv_bytes_4k",
}


@pytest.mark.parametrize("where", MACROS)
def test_a_macro_is_right_in_every_clause(home: Path, where: str) -> None:
    """Three models have states; each holds at 4,096 tokens what its column says. Also on a file attached and used."""
    path = shelf.locate(home)[1]
    with duckdb.connect(str(path), read_only=True) as con:
        assert con.execute(MACROS[where].format(m="", f="kv_bytes")).fetchall() == [(3,)]
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS s (READ_ONLY)")
        if where == "by its states":
            assert con.execute(MACROS[where].format(m="s.", f="")).fetchall() == [(3,)]
        con.execute("USE s")
        assert con.execute(MACROS[where].format(m="s.", f="s.kv_bytes")).fetchall() == [(3,)]


@pytest.mark.parametrize("asked", ["'org/A-8B', -5, 2", "'org/A-8B', 5, 0", "'nobody', 5, 2"])
def test_a_macro_says_what_is_no_question(home: Path, asked: str) -> None:
    """Tokens below none, elements of no bytes, and a name that is not here are errors, not numbers."""
    with (
        duckdb.connect(str(shelf.locate(home)[1]), read_only=True) as con,
        pytest.raises(duckdb.Error, match=r"\bno[t ]"),
    ):
        con.execute(f"SELECT kv_bytes({asked})").fetchall()


def test_lineage_holds_a_model_against_its_stated_base(tmp_path: Path) -> None:
    """A-8B-Instruct has the design of A-8B that it names, Bamba has not, and a base that is not here says nothing."""
    tables = hand_made.content()
    bases = {"org/A-8B-Instruct": ["org/A-8B"], "org/Bamba": ["org/A-8B", "far/away"]}
    named = [bases.get(name) for name in tables["models"]["repo_id"]]
    tables["models"] = tables["models"].with_columns(pl.Series("base_models", named, dtype=pl.List(pl.String)))
    made = publish(tmp_path, tables)
    with duckdb.connect(str(made.path), read_only=True) as con:
        found = con.execute("SELECT repo_id, base_model, is_base_here, is_same_design FROM lineage ORDER BY ALL")
        assert found.fetchall() == [
            ("org/A-8B-Instruct", "org/A-8B", True, True),
            ("org/Bamba", "far/away", False, None),
            ("org/Bamba", "org/A-8B", True, False),
        ]


def test_a_client_of_the_1_5_line_reads_it(home: Path, tmp_path: Path) -> None:
    """DuckDB 1.5 opens the file and gives tables, maps, lists of structs, comments, views and the macro."""
    installed = subprocess.run(
        [*PIP, "--target", str(tmp_path / "old"), "duckdb>=1.5,<2"], capture_output=True, text=True, check=False,
    )  # fmt: skip
    if installed.returncode:
        pytest.skip("DuckDB 1.5 cannot be installed beside this one here")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'old')!r}); import duckdb; print(duckdb.__version__)\n"
        f"con = duckdb.connect({str(shelf.locate(home)[1])!r}, read_only=True)\n"
        "ask = lambda sql: con.execute(sql).fetchall()\n"
        "print(ask('SELECT repo_id, kv_bytes(repo_id, 131072, 2), layer_mix FROM fingerprints ORDER BY 1')[0])\n"
        "print(ask('SELECT count(*) FROM evidence'), ask('SELECT count(*) FROM layers_expanded'))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].startswith("1.5.")
    assert said[1:] == ["('org/A-8B', 1056768, {})", "[(3,)] [(3,)]"]


# damage


def damaged(home: Path) -> str:
    """What `verify` and a reader say of the damage."""
    with pytest.raises(Corrupt) as caught:
        snapshot.verify(home)
    with pytest.raises(Corrupt):
        shelf.locate(home)
    assert caught.value.exit_code == 6
    return str(caught.value)


def overwrite(path: Path, data: bytes) -> None:
    """Change a published file behind everybody's back."""
    path.chmod(0o644)
    path.write_bytes(data)


def flips(home: Path, times: int, seed: int) -> None:
    """Flip one random bit of the file at a time and expect it to be noticed."""
    path = home / "snapshots" / "2026-11-29.duckdb"
    data, chance = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(times):
        place, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        data[place] ^= bit
        overwrite(path, bytes(data))
        assert "damaged" in damaged(home)
        data[place] ^= bit
    overwrite(path, bytes(data))
    snapshot.verify(home)


def test_flipped_bits_are_noticed(home: Path) -> None:
    """A single flipped bit anywhere is noticed before anything reads the file."""
    flips(home, 5, seed=1)


@pytest.mark.soak
def test_two_hundred_flipped_bits_are_noticed(home: Path) -> None:
    """So are two hundred."""
    flips(home, 200, seed=2)


@pytest.mark.parametrize("kept", [0, 1, 4096, 500_000])
def test_a_truncated_file_is_noticed(home: Path, kept: int) -> None:
    """An empty or cut file is damaged, also where it would still open."""
    path = home / "snapshots" / "2026-11-29.duckdb"
    overwrite(path, path.read_bytes()[:kept])
    assert "bytes" in damaged(home)


def test_a_missing_or_valid_but_empty_file_is_noticed(home: Path) -> None:
    """A file that is gone, or a database without tables such as a killed build can leave, is damaged."""
    path = home / "snapshots" / "2026-11-29.duckdb"
    path.unlink()
    assert "missing" in damaged(home)
    duckdb.connect(str(path)).close()
    damaged(home)
    with pytest.raises(Corrupt, match="not a readable snapshot"):
        snapshot.proven(path)


def test_a_snapshot_swapped_for_another_date_is_noticed(home: Path) -> None:
    """Another whole snapshot under this one's name is not this one, even where the index was changed to fit."""
    publish(home, second(), DAY + dt.timedelta(days=1))
    place = home / "snapshots"
    overwrite(place / "2026-11-29.duckdb", (place / "2026-11-30.duckdb").read_bytes())
    with pytest.raises(Corrupt, match="2026-11-29"):
        snapshot.verify(home)
    with pytest.raises(Corrupt, match="says it is 2026-11-30"):
        snapshot.proven(place / "2026-11-29.duckdb")


def test_changed_rows_are_noticed_without_the_index(home: Path) -> None:
    """Rows changed through DuckDB itself no longer have the digest of the manifest."""
    path = home / "snapshots" / "2026-11-29.duckdb"
    path.chmod(0o644)
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE models SET likes = 7 WHERE repo_id = 'org/A-8B'")
    with pytest.raises(Corrupt, match="rows of models do not have the digest"):
        snapshot.proven(path)


def test_a_damaged_index_is_noticed(home: Path) -> None:
    """An index that is no index is damage, not an empty folder."""
    (home / "snapshots" / "index.json").write_text("{")
    assert "index.json is damaged" in damaged(home)


def test_a_damaged_latest_is_replaced(home: Path) -> None:
    """Publishing the same content over a damaged latest makes a new snapshot instead of trusting the old one."""
    path = home / "snapshots" / "2026-11-29.duckdb"
    overwrite(path, path.read_bytes()[:-1])
    again = publish(home)
    assert (again.is_new, again.entry.id) == (True, "2026-11-29.2")
    shelf.locate(home)


def test_what_is_not_there_is_not_found(home: Path, tmp_path: Path) -> None:
    """An empty home says how to fill it; an unknown date names those there are."""
    with pytest.raises(NotFound, match="atlas refresh"):
        shelf.locate(tmp_path / "empty")
    with pytest.raises(NotFound, match="2026-11-29"):
        shelf.locate(home, "2020-01-01")


# crashes

POINTS = [
    *(f"snapshot.file.{stage}" for stage in ("before", "written", "renamed")),
    *(f"snapshot.index.{stage}" for stage in durable.STAGES),
    *re.findall(r'failpoint\("([\w.]+)"\)', Path(build.__file__).read_text()),
]

IN_TURN = [pytest.param(p, marks=pytest.mark.soak) if n % 2 else p for n, p in enumerate(POINTS)]
"""Every second point is for the long run."""

FAILING = [
    pytest.param(point, action, marks=pytest.mark.soak) if n % 3 else (point, action)
    for n, (point, action) in enumerate(
        zip((p for p in POINTS if not p.endswith("renamed")), itertools.cycle(["enospc", "eio"]), strict=False)
    )
]
"""Every third point, the others for the long run."""

CODE = """
import sys; sys.path[:0] = sys.argv[2:]
from pathlib import Path
import test_snapshot
test_snapshot.publish(Path(sys.argv[1]), test_snapshot.second())
"""


@pytest.mark.parametrize("point", IN_TURN)
def test_a_kill_leaves_latest_whole_and_a_rerun_finishes(home: Path, point: str) -> None:
    """Killed at any write, latest is the old or the new snapshot, proven; a rerun gives what it would have given."""
    ended = subprocess.run(
        [sys.executable, "-c", CODE, str(home), str(Path(__file__).parent), str(SUPPORT), str(ROOT)],
        env={**os.environ, "ATLAS_FAILPOINT": f"{point}:kill"}, capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL
    assert shelf.locate(home)[0].id in ("2026-11-29", "2026-11-29.2")
    snapshot.verify(home)
    again = publish(home, second())
    assert again.entry.id == "2026-11-29.2"
    assert again.digests["models"] == build.digests(build.ordered(second()))["models"]
    assert names(home) == ["2026-11-29.2.duckdb", "2026-11-29.duckdb", "index.json"]
    snapshot.verify(home)


@pytest.mark.parametrize(("point", "action"), FAILING)
def test_a_failing_disk_publishes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch, point: str, action: str) -> None:
    """A full or failing disk at any write ends with a sentence; latest is whole, and a rerun finishes."""
    monkeypatch.setenv("ATLAS_FAILPOINT", f"{point}:{action}")
    with pytest.raises(AtlasError, match=r"cannot write.*(No space left|Input/output)"):
        publish(home, second())
    monkeypatch.delenv("ATLAS_FAILPOINT")
    assert shelf.locate(home)[0].id == "2026-11-29"
    assert not list((home / "snapshots").glob("*.tmp*"))
    assert publish(home, second()).entry.id == "2026-11-29.2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into read-only folders")
def test_a_read_only_folder_is_a_sentence(home: Path) -> None:
    """Where the folder cannot be written, the message says so and latest stays."""
    (home / "snapshots").chmod(0o555)
    try:
        with pytest.raises(AtlasError, match="cannot write"):
            publish(home, second())
    finally:
        (home / "snapshots").chmod(0o755)
    shelf.locate(home)
