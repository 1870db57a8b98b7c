"""A Python session on the catalogue's snapshot: frames, models, SQL, and the errors of the command line."""

from __future__ import annotations

import doctest
import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import homes
import polars as pl
import pytest
from places import ROOT

import atlas
from pipeline import errors
from pipeline.export.parquet import parquet
from pipeline.session import snapshot as session

LLAMA = "meta-llama/Llama-3.1-8B"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the catalogue's snapshot, without its guide."""
    return homes.catalogue(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def snap(home: Path) -> session.Snapshot:
    """The snapshot, open."""
    return atlas.open(home, offline=True)


def test_every_table_is_a_lazy_frame_and_its_model_holds(snap: session.Snapshot) -> None:
    """Every name gives a LazyFrame, and the pandera model handed out for a table has its columns, in order."""
    for name in snap.tables:
        frame = snap.table(name)
        assert isinstance(frame, pl.LazyFrame)
        if name not in session.VIEWS:
            assert list(snap.schema(name).columns) == frame.collect_schema().names()


def test_cache_of_one_model_and_of_all(snap: session.Snapshot) -> None:
    """Llama-3.1-8B keeps 2 x 32 x 8 x 128 elements a token: 131,072 tokens at 2 bytes are 16 GiB, at 1 byte 8 GiB."""
    model = snap.model("llama 3.1 8b")
    assert (model.name, model.cache(), model.cache(dtype="fp8", sequences=2)) == (LLAMA, 16 * 2**30, 16 * 2**30)
    rows = snap.cache(at="128k", dtype="fp8", sequences=2).filter(pl.col("repo_id") == LLAMA)
    assert rows["cache_bytes"].to_list() == [16 * 2**30]
    assert model.layers.height == 32
    assert "explicit" in model.evidence["origin"].to_list()
    assert model.fingerprint.params_total == model.params_total == 8_030_261_248


def test_a_comparison_has_a_row_a_fact(snap: session.Snapshot) -> None:
    """Layers differ between the two models, the width does not: 32 and 36, both 4,096."""
    frame = snap.compare("llama 3.1 8b", "Qwen/Qwen3-8B").frame
    rows = {r["fact"]: list(r.values())[2:] for r in frame.to_dicts()}
    assert rows["layers"] == ["32", "36", True]
    assert rows["width"] == ["4,096", "4,096", False]


def test_sql_gives_polars_and_says_what_is_missing(snap: session.Snapshot) -> None:
    """A frame of the rows; another library is handed one where installed, and named where it is not."""
    query = "SELECT params_total FROM fingerprints WHERE repo_id = $name"
    assert snap.sql(query, {"name": LLAMA}).rows() == [(8_030_261_248,)]
    if find_spec("pyarrow") is None:
        with pytest.raises(errors.Usage, match="pip install"):
            snap.sql(query, {"name": LLAMA}, to="arrow")


@pytest.mark.parametrize(
    ("error", "ask"),
    [
        (errors.NotFound, lambda s: s.model("no such model at all")),
        (errors.NotFound, lambda s: s.model("nobody/nothing")),
        (errors.NotFound, lambda s: s.table("fingerprint")),
        (errors.Usage, lambda s: s.compare("llama 3.1 8b")),
        (errors.Usage, lambda s: s.cache(at="lots")),
        (errors.QueryRefused, lambda s: s.sql("SELECT nothing FROM models")),
        (errors.QueryRefused, lambda s: s.sql("CREATE TABLE a AS SELECT 1")),
    ],
)
def test_errors_are_those_of_the_command_line(snap: session.Snapshot, error: type[Exception], ask: object) -> None:
    """Each raises the error whose exit code the command ends with."""
    assert callable(ask)
    with pytest.raises(error):
        ask(snap)


def test_a_file_opens_and_nothing_else_does(home: Path, snap: session.Snapshot, tmp_path: Path) -> None:
    """The file of a snapshot opens by its path and differs in nothing from itself; an empty home is not found."""
    with atlas.open(snap.path) as same:
        assert len(same) == len(snap)
        assert same.model(LLAMA).params_total == 8_030_261_248
        assert snap.diff(same) == snap.diff(snap)
    with pytest.raises(errors.NotFound):
        atlas.open(tmp_path)


def test_html_escapes_what_strangers_wrote(tmp_path: Path, snap: session.Snapshot) -> None:
    """A model whose class is markup is shown as text; snapshot, model and comparison have a chart or a table."""
    assert "<svg" in snap._repr_html_()
    assert "<svg" in snap.model(LLAMA)._repr_html_()
    assert "<table>" in snap.compare(LLAMA, "qwen3 8b")._repr_html_()
    bad = tmp_path / "<script>alert(1)<" / "config.json"
    bad.parent.mkdir()
    bad.write_text('{"model_type": "<script>"}')
    assert "<script>" not in snap.model(str(bad))._repr_html_()


def test_exported_parquet_reads_under_the_same_names(home: Path, snap: session.Snapshot, tmp_path: Path) -> None:
    """`pl.scan_parquet` of every exported table has the columns of the session's."""
    shutil.copytree(home / "snapshots", tmp_path / "snapshots")  # one process opens one file in one way
    folder = parquet(tmp_path, None, tmp_path / "out").folder
    for file in folder.glob("*.parquet"):
        assert pl.scan_parquet(file).collect_schema().names() == snap.table(file.stem).collect_schema().names()


def test_examples_in_docstrings_and_pages_hold(home: Path) -> None:
    """Every `>>>` of the session's modules and of the pages gives what stands below it."""
    names = {"home": home, "pl": pl, "open_snapshot": session.open_snapshot}
    assert doctest.testmod(session, extraglobs=names).failed == 0
    page = str(ROOT / "docs" / "python-and-sql.md")
    assert doctest.testfile(page, module_relative=False, globs={"home": home}) == (0, 9)


def test_the_notebook_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of the notebook runs in order on a home."""
    monkeypatch.setenv("ATLAS_HOME", str(home))
    cells = json.loads((ROOT / "notebooks" / "session.ipynb").read_text("utf-8"))["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    assert len(code) >= 5
    space: dict[str, object] = {}
    for cell in code:
        exec(compile(cell, "session.ipynb", "exec"), space)
