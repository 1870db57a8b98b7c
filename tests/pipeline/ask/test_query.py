"""SQL over a snapshot in its child process: one SELECT, within limits, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import hand_made
import polars as pl
import pytest

from pipeline.ask import query
from pipeline.errors import QueryRefused
from pipeline.store import snapshot

LIMIT = 2.0


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-made snapshot, with hostile names in its listing."""
    content = hand_made.content()
    hostile = pl.Series("author", ["=1+1", "a|b", "\x1b[31mred", "x\u202ey", None], dtype=pl.String)
    content["models"] = content["models"].with_columns(hostile)
    home = tmp_path_factory.mktemp("home")
    return snapshot.publish(
        home, content, snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0")
    ).path


@pytest.fixture
def ask(database: Path) -> Callable[..., str]:
    """Run a query and return what it printed."""

    def run(sql: str, form: query.Format = "table", timeout: float = 30) -> str:
        printed = bytearray()
        query.run(database, sql, printed.extend, form=form, timeout=timeout)
        return printed.decode()

    return run


def test_a_table_is_aligned(ask: Callable[..., str]) -> None:
    """Numbers stand right, text stands left, null is empty."""
    printed = ask("SELECT repo_id, params_total FROM fingerprints ORDER BY repo_id LIMIT 2")
    assert printed.splitlines() == [
        "repo_id            params_total",
        "-----------------  ------------",
        "org/A-8B                    308",
        "org/A-8B-Instruct           308",
    ]


def test_json_is_one_array_of_objects(ask: Callable[..., str]) -> None:
    """JSON keeps types and exact integers, gives null for NaN, and tells equal names apart."""
    rows = json.loads(
        ask("SELECT 1 AS a, 2 AS a, 'nan'::DOUBLE AS n, 12345678901234567890123::HUGEINT AS big, [1, 2] AS l", "json")
    )
    assert rows == [{"a": 1, "a_2": 2, "n": None, "big": 12345678901234567890123, "l": [1, 2]}]
    assert json.loads(ask("SELECT 1 AS a WHERE false", "json")) == []


def test_json_keeps_maps_dates_and_lists_of_structs(ask: Callable[..., str]) -> None:
    """Maps are objects, dates ISO text, evidence a list of objects."""
    (row,) = json.loads(
        ask(
            "SELECT hub_params_by_dtype, as_of, evidence FROM models JOIN configs USING (config_id)"
            " WHERE repo_id = 'org/Bamba'",
            "json",
        )
    )
    assert row["hub_params_by_dtype"] == {"BF16": 56}
    assert row["as_of"] == "2026-11-29"
    assert row["evidence"][0]["field"] == "n_layers"


def test_names_are_harmless_in_every_format(ask: Callable[..., str]) -> None:
    """Formulas, table bars, terminal escapes and direction marks of others reach nobody."""
    sql = "SELECT author FROM models WHERE author IS NOT NULL ORDER BY repo_id"
    assert [row[0] for row in csv.reader(io.StringIO(ask(sql, "csv")))][1:] == [
        "'=1+1",
        "a|b",
        "\\x1b[31mred",
        "x\\u202ey",
    ]
    assert "a\\|b" in ask(sql, "md")
    for form in ("table", "csv", "md", "json"):
        printed = ask(sql, form)
        assert "\x1b" not in printed
        assert "\u202e" not in printed
    assert json.loads(ask(sql, "json"))[3]["author"] == "x\u202ey"


def test_many_rows_stream_through(ask: Callable[..., str]) -> None:
    """A result larger than one chunk comes whole and in order."""
    assert ask("SELECT range AS n FROM range(20000)", "csv").splitlines()[1:] == [str(n) for n in range(20_000)]


@pytest.mark.parametrize("sql", ["SELECT 1", "WITH x AS (SELECT 1) FROM x", "FROM models", "VALUES (1)",
    "DESCRIBE models", "SHOW TABLES", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1",
    "-- c\n EXPLAIN SELECT 1", "SELECT 1;",
    "SELECT kv_bytes('org/A-8B', 10, 1)"])  # fmt: skip
def test_questions_are_answered(ask: Callable[..., str], sql: str) -> None:
    """Every form of one SELECT and of EXPLAIN SELECT runs."""
    assert ask(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "", "-- nothing", "SELECT 1; SELECT 2", "SELECT nope", "SELEC 1", "SELECT '",
        "DELETE FROM models", "UPDATE models SET likes = 1", "CREATE TABLE t AS SELECT 1",
        "CREATE TEMP TABLE t AS SELECT 1",
        "DROP VIEW fingerprints", "WITH x AS (DELETE FROM models RETURNING *) SELECT * FROM x",
        "INSERT INTO models SELECT * FROM models",
        "COPY (SELECT 1) TO '/tmp/atlas-test-out'", "COPY models FROM '/etc/passwd'",
        "EXPORT DATABASE '/tmp/atlas-test-out'",
        "ATTACH '/tmp/atlas-test-other'", "DETACH x", "USE memory", "INSTALL httpfs", "LOAD httpfs", "SET threads = 1",
        "SET enable_external_access = true", "RESET ALL", "PRAGMA database_list", "PRAGMA enable_profiling",
        "CALL pragma_version()",
        "CHECKPOINT", "BEGIN", "PREPARE p AS SELECT 1", "EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/atlas-test-out'",
        "EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1", "EXPLAIN DELETE FROM models",
        "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')", "FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')", "SELECT * FROM read_parquet('http://127.0.0.1/x')", "SELECT getenv('HOME')",
        "SELECT * FROM read_blob('/proc/self/environ')", "SELECT * FROM database",
    ],
)  # fmt: skip
def test_everything_else_is_refused(ask: Callable[..., str], sql: str) -> None:
    """Writes, files, extensions, settings, several statements and nonsense end with exit code 7 and a sentence."""
    with pytest.raises(QueryRefused) as caught:
        ask(sql)
    assert caught.value.exit_code == 7
    assert "Traceback" not in str(caught.value)
    assert str(caught.value)
    assert not list(Path("/tmp").glob("atlas-test-o*"))


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT max(x) FROM t",
        "SELECT count(*) FROM range(10000000000) a, range(1000) b",
        "SELECT repeat('x', 1000000000) FROM range(100)",
        "SELECT sum(length(repeat('x', 1000000000))) FROM range(1000)",
        "SELECT repeat('x', 4000000000)",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT range FROM range(100000000000)",
    ],
)
def test_what_never_ends_is_stopped(ask: Callable[..., str], sql: str) -> None:
    """Endless recursion, huge products, huge strings and endless output end within the time limit plus a second."""
    started = time.monotonic()
    with pytest.raises(QueryRefused, match=r"stopped after 2 s|needed more than"):
        ask(sql, timeout=LIMIT)
    assert time.monotonic() - started < LIMIT + 1


def test_what_does_not_fit_in_memory_goes_to_a_folder_that_goes(
    ask: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A million texts of 200 characters are told apart in 128 MiB; with 16 MiB of disk they are not."""
    monkeypatch.setattr(query, "MEMORY_MIB", 256)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    heavy = "SELECT count(DISTINCT printf('%0200d', range)) AS n FROM range(1000000)"
    assert json.loads(ask(heavy, "json")) == [{"n": 1_000_000}]
    monkeypatch.setattr(query, "SPILL_MIB", 16)
    with pytest.raises(QueryRefused, match="256 MiB and 16 MiB of disk"):
        ask(heavy)
    assert not list(tmp_path.glob("atlas-*"))


def test_the_child_has_no_environment(ask: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the environment is in no setting a query can read."""
    monkeypatch.setenv("HF_TOKEN", "hf_canary")
    assert "hf_canary" not in ask("SELECT * FROM duckdb_settings()", "json")


def test_a_reader_that_goes_away_ends_the_query(database: Path) -> None:
    """Where the output is no longer wanted, the child is ended at once."""

    def closed(_: bytes) -> None:
        raise BrokenPipeError

    started = time.monotonic()
    with pytest.raises(BrokenPipeError):
        query.run(database, "SELECT range FROM range(100000000000)", closed)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("sql", "here"),
    [
        ("SELECT nope FROM models", "line 1, here: nope FROM models"),
        ("SELECT 1\nFROM models m\nWHERE m.zzz = 1", "line 3, here: m.zzz = 1"),
        ("SELEC 1", "line 1, here: SELEC 1"),
    ],
)
def test_an_error_in_the_query_takes_two_lines(ask: Callable[..., str], sql: str, here: str) -> None:
    """First what is wrong, then the query from the place on where it is."""
    with pytest.raises(QueryRefused) as refused:
        ask(sql)
    said = str(refused.value).split("\n")
    assert len(said) == 2
    assert said[1] == here


def test_a_pivot_without_its_values_says_what_helps(ask: Callable[..., str]) -> None:
    """DuckDB makes several statements of it; with its values listed it is one, and runs."""
    with pytest.raises(QueryRefused, match="ON x IN"):
        ask("PIVOT features ON feature")
    assert ask("PIVOT features ON feature IN ('gqa') USING count(*)")
