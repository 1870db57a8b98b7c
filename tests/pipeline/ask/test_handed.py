"""A reader's own files and values beside a snapshot, in the same closed process."""

from __future__ import annotations

import json
from pathlib import Path

import hand_made
import polars as pl
import pytest

from pipeline.cli import main
from pipeline.store import snapshot


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small snapshot made by hand."""
    place = tmp_path_factory.mktemp("home")
    snapshot.publish(
        place,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
    )
    return place


def asked(capsys: pytest.CaptureFixture[str], home: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    """What `atlas sql` prints, and says on stderr."""
    assert main(["sql", *arguments, "--home", str(home)]) == code
    out, err = capsys.readouterr()
    return out, err


def test_csv_and_parquet_join_the_models(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--with` makes a table of either kind of file, and a join gives its rows."""
    first = json.loads(asked(capsys, home, "SELECT repo_id FROM fingerprints LIMIT 1", "--json")[0])[0]["repo_id"]
    mine = pl.DataFrame({"repo_id": [first], "price": [7]})
    mine.write_csv(tmp_path / "mine.csv")
    mine.write_parquet(tmp_path / "mine.parquet")
    for file in ("mine.csv", "mine.parquet"):
        query = "SELECT repo_id, price FROM mine JOIN fingerprints USING (repo_id)"
        out, _ = asked(capsys, home, query, "--json", "--with", f"mine={tmp_path / file}")
        assert json.loads(out) == [{"repo_id": first, "price": 7}]


def test_a_table_handed_in_opens_no_door(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a file handed in, the query still reads no other file, and a taken name is refused."""
    (tmp_path / "a.csv").write_text("x\n1\n")
    given = ("--with", f"mine={tmp_path / 'a.csv'}")
    for query in (f"SELECT * FROM read_csv('{tmp_path / 'a.csv'}')", "SELECT * FROM read_text('/etc/hostname')"):
        assert "disabled" in asked(capsys, home, query, *given, code=7)[1]
    assert "choose another" in asked(capsys, home, "SELECT 1", "--with", f"models={tmp_path / 'a.csv'}", code=2)[1]
    assert "no such file" in asked(capsys, home, "SELECT 1", "--with", "mine=nowhere.csv", code=8)[1]


def test_values_and_files_of_queries(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`$name` takes the value of --param with its type, and -f reads the query; both at once are two queries."""
    (tmp_path / "q.sql").write_text("SELECT $n + 1 AS n, $t AS t")
    out, _ = asked(capsys, home, "-f", str(tmp_path / "q.sql"), "--param", "n=4", "--param", "t=x", "--json")
    assert json.loads(out) == [{"n": 5, "t": "x"}]
    asked(capsys, home, "SELECT 1", "-f", str(tmp_path / "q.sql"), code=2)


def test_a_misspelled_model_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No row, and a text that looks like a repository and is none: the nearest names are said, on stderr."""
    out, err = asked(capsys, home, "SELECT 1 FROM models WHERE repo_id = $m", "--param", "m=org/no-such", "--json")
    assert json.loads(out) == []
    assert "no model here is named 'org/no-such'" in err
