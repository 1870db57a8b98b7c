"""The run itself: what it says without its libraries, and the run where they are installed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.errors import Invalid
from pipeline.measure import decoder, depth, machine, published, running, vocabularies
from pipeline.measure.shapes import VOCABULARY, Shape
from pipeline.sources import measured


@pytest.fixture
def torch() -> Any:
    """The library, where it is installed; the default and the test installation have none."""
    return pytest.importorskip("torch", reason="torch is not installed: the experiments were not run")


@pytest.fixture
def tokenizers() -> Any:
    """The library, where it is installed."""
    return pytest.importorskip("tokenizers", reason="tokenizers is not installed: no vocabulary was trained")


@pytest.mark.parametrize("name", ["torch", "tokenizers"])
def test_without_its_libraries_it_says_what_to_install(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, the extra's name, and nothing written."""
    for other in ("torch", "tokenizers"):
        monkeypatch.setitem(sys.modules, other, None if other == name else importlib.import_module("json"))
    assert main(["measure", "--home", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"need {name}, which is not installed" in said
    assert "pip install 'llm-architecture-atlas[measure]'" in said
    assert list(tmp_path.iterdir()) == []


def test_options_of_an_import_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    """--gpu without --import is a usage error, not an ignored word."""
    assert main(["measure", "--gpu", "h100"]) == 2
    assert "--import FILE" in capsys.readouterr().err


def test_the_text_is_split_by_files(tmp_path: Path) -> None:
    """Of ten files in the order of their paths the tenth is held out; tests and strangers' packages are left out."""
    for i in range(10):
        (tmp_path / f"m{i}.py").write_text(f"x = {i}\n")
    for folder in ("test", "site-packages"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("left out")
    (tmp_path / "latin.py").write_bytes(b"# \xe9")
    text = vocabularies.corpus(tmp_path)
    assert text.held == ("x = 9\n",)
    assert text.train == tuple(f"x = {i}\n" for i in range(9))
    assert "54 characters of 9 files" in text.says


def test_the_machine_is_named() -> None:
    """Hardware, its load and its system are words, not blanks."""
    assert all((machine.hardware(), machine.load(), machine.system()))
    assert machine.hardware().endswith(f", {machine.cores()} cores")


def test_a_kept_run_is_what_the_next_refresh_finds(tmp_path: Path) -> None:
    """What `keep` writes is read back as rows, and stands in place of the shipped run of that experiment."""
    one = measured.Run(
        experiment=depth.EXPERIMENT, measured_on=measured.shipped()[0].measured_on, hardware="h", engine="torch",
        engine_version="1", conditions="c", numbers=(measured.Number("balanced", "q", 1.5, "ms", 1.0, 2.0, 9),),
    )  # fmt: skip
    running.keep(tmp_path, [one])
    rows = [r for r in measured.rows(tmp_path) if r["experiment"] == depth.EXPERIMENT]
    assert [(r["subject"], r["value"], r["low"], r["high"], r["samples"]) for r in rows] == [
        ("balanced", 1.5, 1.0, 2.0, 9)
    ]
    assert "balanced" in "\n".join("".join(t for t, _ in line) for line in running.lines([one]))


def test_the_cached_path_gives_what_the_full_one_gives(torch: Any) -> None:
    """Nine tokens at once, or eight and then one through the cache: the same scores, to float32."""
    made = decoder.built(torch, Shape("probe", 128, 2, 1, 128, 3), seed=1)
    with torch.inference_mode():
        ids = torch.arange(9).reshape(1, 9) * 7 % VOCABULARY
        assert decoder.difference(made, ids) < 1e-5
        shifted = made.cache(9)
        made.prefill(ids[:, :-1], shifted)
        off_by_one = made.decode(ids[:, -1:], shifted, 7)
        full = made.prefill(ids, made.cache(9))
        assert float((off_by_one - full).abs().max() / full.abs().max()) > 1e-3


def test_a_wrong_cache_is_not_timed(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the paths differ the run ends before any time is taken."""
    monkeypatch.setattr(decoder, "difference", lambda *_: 0.5)
    monkeypatch.setattr(depth, "shapes", lambda: (Shape("probe", 128, 2, 1, 128, 2),))
    with pytest.raises(Invalid, match="the cached path of 'probe'"):
        depth.measured(torch)


def test_a_short_run_gives_both_times_for_each_shape(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt and steps of one round: times by wall and processor, medians between their quartiles."""
    monkeypatch.setattr(depth, "shapes", lambda: (Shape("probe", 128, 2, 1, 128, 2),))
    found = {n.quantity: n for n in depth.measured(torch, rounds=1)}
    for what in (depth.PREFILL, depth.DECODE):
        for n in (found[what], found[f"{what}, processor time"]):
            assert (n.low or 0) <= n.value <= (n.high or 0)
    assert found[depth.DECODE].samples == depth.STEPS


def test_a_vocabulary_stops_where_no_pair_occurs_twice(tokenizers: Any) -> None:
    """256 bytes and the merges of 'abab': asked for 8,192, far fewer are reached, and the text is one token a word."""
    text = vocabularies.Corpus(("abab " * 10,), ("abab",), "")
    found = {n.quantity: n.value for n in vocabularies.measured(tokenizers, text, (8_192,)) if "BPE" in n.subject}
    assert found[vocabularies.ASKED] == 8_192
    assert found[vocabularies.REACHED] < 300
    assert found[vocabularies.HELD] == 4.0


@pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
def test_shipped_tokenizers_are_measured_where_installed() -> None:
    """Each found one has a size and more than one character a token; where none is installed there is no row."""
    numbers = published.measured(("for each in range: print(each)\n",))
    assert len(numbers) == 2 * len(list(published.found()))
    assert all(n.value > 1 for n in numbers)
