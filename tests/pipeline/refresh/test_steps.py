"""The main job end to end: a source becomes a snapshot, and the snapshot answers."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import homes
import msgspec
import pytest

from atlas.interpret import derive
from pipeline.ask import query
from pipeline.cli import main
from pipeline.refresh.records import Options
from pipeline.refresh.steps import gather, publish, tabulate
from pipeline.sources import disk
from pipeline.store import shelf
from pipeline.store.snapshot import Published

KIB, GIB = 1024, 1024**3


def without_guide(options: Options) -> Published:
    """The steps of a refresh up to the snapshot."""
    gathered = gather(options)
    return publish(options, gathered, tabulate(gathered))


@pytest.fixture(scope="session")
def catalogue_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the catalogue's snapshot."""
    return homes.catalogue(tmp_path_factory.mktemp("home"))


def ask(home: Path, sql: str) -> list[dict[str, object]]:
    """The rows of one query, through the real engine."""
    _, path = shelf.locate(home)
    found: list[bytes] = []
    query.run(path, sql, found.append, form="json", timeout=60)
    return json.loads(b"".join(found))


def test_sql_says_what_llama_3_1_8b_is(catalogue_home: Path) -> None:
    """Seed 000: 8,030,261,248 parameters, 131,072 bytes a token, shares 70.2 / 16.7 / 13.1 %, 16 GiB at 128K."""
    (row,) = ask(
        catalogue_home,
        "SELECT params_total, kv_bytes_per_token, round(100 * share_ffn_dense, 1) AS ffn, "
        "round(100 * share_attention, 1) AS attention, "
        "round(100 * (share_embedding + share_unembedding), 1) AS vocabulary, kv_bytes_128k "
        "FROM fingerprints WHERE repo_id = 'meta-llama/Llama-3.1-8B'",
    )
    assert row == {
        "params_total": 8_030_261_248,
        "kv_bytes_per_token": 131_072,
        "ffn": 70.2,
        "attention": 16.7,
        "vocabulary": 13.1,
        "kv_bytes_128k": 16 * GIB,
    }


SEED_001 = {
    "meta-llama/Llama-3.1-405B": (504, 63.0, 3.8e25),
    "deepseek-ai/DeepSeek-V3": (68.6, 8.6, 3.3e24),
    "Qwen/Qwen3-235B-A22B": (188, 23.5, 4.8e24),
    "openai/gpt-oss-120b": (36, 4.5, None),
    "moonshotai/Kimi-K2-Instruct": (68.6, 8.6, 3.0e24),
    "google/gemma-3-27b-it": (80, 10.4, 2.3e24),
}


@pytest.mark.parametrize("repo", SEED_001)
def test_sql_reproduces_seed_001(catalogue_home: Path, repo: str) -> None:
    """Seed 001's worked table: KiB a token, GiB at 128K, and 6 x reported N x reported tokens."""
    kib, gib, flops = SEED_001[repo]
    (row,) = ask(
        catalogue_home,
        "SELECT kv_bytes_per_token / 1024 AS kib, kv_bytes_128k / 1024 ** 3 AS gib FROM fingerprints "
        f"WHERE repo_id = '{repo}'",
    )
    assert (round(float(str(row["kib"])), 1), round(float(str(row["gib"])), 1)) == (kib, gib)
    facts = ask(
        catalogue_home,
        f"SELECT fact, value FROM reported WHERE repo_id = '{repo}' AND unit IN ('parameters', 'tokens')",
    )
    said = {str(f["fact"]): float(str(f["value"])) for f in facts if f["fact"] != "release_date"}
    n = said.get("params_active", said.get("params_total"))
    if flops is None:
        assert "training_tokens" not in said
    else:
        assert n is not None
        assert f"{6 * n * said['training_tokens']:.1e}" == f"{flops:.1e}"


def test_a_second_refresh_publishes_nothing(catalogue_home: Path) -> None:
    """The same source again: equal digests, no new snapshot, exit code 0."""
    before = sorted(p.name for p in (catalogue_home / "snapshots").iterdir())
    again = without_guide(Options(catalogue_home))
    assert not again.is_new
    assert sorted(p.name for p in (catalogue_home / "snapshots").iterdir()) == before


def test_the_catalogue_dates_its_snapshot(catalogue_home: Path) -> None:
    """A catalogue snapshot has the catalogue's date, not the clock's."""
    from pipeline.sources import catalogue

    assert shelf.locate(catalogue_home)[0].id == catalogue.dated().isoformat()


def test_a_folder_of_configs_equals_inspect_row_for_row(shared: Path, tmp_path: Path) -> None:
    """One outcome per file, and every column of every model is what inspect says."""
    folder = shared / "hub" / "configs"
    without_guide(Options(tmp_path, str(folder), dt.date(2026, 11, 29)))
    files = dict(disk.configs(folder))
    rows = {
        str(r["repo_id"]): r
        for r in ask(tmp_path, "SELECT f.* FROM fingerprints f JOIN models USING (repo_id) WHERE source = 'configs'")
    }
    outcomes = ask(tmp_path, "SELECT count(*) AS n FROM models WHERE source = 'configs'")
    assert outcomes[0]["n"] == len(files)
    for name, raw in files.items():
        assert isinstance(raw, bytes)
        wanted = msgspec.to_builtins(derive(raw, name=name).fingerprint)
        got = rows[name]
        apart = {
            "revision",
            "check",
        }  # a snapshot knows these from elsewhere: a listing, and totals held against its own
        assert {k: got[k] for k in wanted.keys() - apart} == {k: wanted[k] for k in wanted.keys() - apart}, name


def test_show_finds_a_loose_name(catalogue_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`atlas show "llama 3.1 8b"` prints Llama-3.1-8B's sheet; a name that means several lists them and exits 8."""
    assert main(["show", "llama 3.1 8b", "--home", str(catalogue_home)]) == 0
    sheet = capsys.readouterr().out
    assert "8,030,261,248 parameters" in sheet
    assert "131,072 B" in sheet
    assert max(map(len, sheet.splitlines())) <= 80
    assert main(["show", "llama", "--home", str(catalogue_home)]) == 8
    assert "may be any of" in capsys.readouterr().err


def test_show_weighs_the_cache_in_another_type(catalogue_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At fp8 Llama-3.1-8B keeps half of 16 GiB at 128K."""
    assert main(["show", "llama 3.1 8b", "--dtype", "fp8", "--json", "--home", str(catalogue_home)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["state_bytes_at_dtype"]["128k"] == 8 * GIB


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["refresh", "--source", "nowhere-at-all"], 8),
        (["refresh", "--date", "tomorrow"], 2),
        (["show", "a model that nobody made"], 8),
        (["sql", "SELECT 1"], 8),
        (["show", "x", "--dtype", "fp99"], 2),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In an empty home: a sentence on stderr, nothing on stdout, and the exit code of the contract."""
    assert main([*arguments, "--home", str(tmp_path)]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert said.err
