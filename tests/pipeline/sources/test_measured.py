"""The shipped run of `atlas measure`, and what a home holds of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import Invalid
from pipeline.sources import measured
from schemas.registry import MEASUREMENTS


def test_rows_have_the_columns_and_keys_of_the_table() -> None:
    """Every row fits the snapshot's table, each key once."""
    found = measured.rows()
    keys = [tuple(r[k] for k in MEASUREMENTS.key) for r in found]
    assert len(keys) == len(set(keys))
    assert all(r.keys() == set(MEASUREMENTS.columns) for r in found)


def test_the_shipped_runs_say_where_and_how() -> None:
    """Both experiments are there, with a machine, a library with its version, threads or text, and a day."""
    runs = {r.experiment: r for r in measured.shipped()}
    assert set(runs) == {"equal-budget shapes", "vocabularies"}
    assert all(all((r.hardware, r.engine, r.engine_version, r.conditions)) for r in runs.values())
    assert "threads" in runs["equal-budget shapes"].conditions
    assert "characters of" in runs["vocabularies"].conditions


def test_the_shipped_numbers_add_up() -> None:
    """Medians lie between their quartiles, the cached path agreed with the full one, no vocabulary outgrew its size.

    Held-out files are fewer characters per token than those that a vocabulary was trained on, and a larger vocabulary
    of one trainer never gives fewer than a smaller one.
    """
    numbers = {(n.subject, n.quantity): n for r in measured.shipped() for n in r.numbers}
    for n in numbers.values():
        assert n.samples is None or (n.low or 0) <= n.value <= (n.high or 0)
        assert "largest difference" not in n.quantity or n.value < 1e-4
    sizes = sorted((s for s, q in numbers if q == "vocabulary asked for"), key=lambda s: numbers[s, "vocabulary"].value)
    gained = [numbers[s, "text per token, held out"].value for s in sizes]
    assert gained == sorted(gained)
    assert len(sizes) == 4
    for s in sizes:
        assert numbers[s, "vocabulary"].value <= numbers[s, "vocabulary asked for"].value
        assert numbers[s, "text per token, held out"].value < numbers[s, "text per token, trained on"].value


def test_the_weights_and_the_cache_check_are_the_shapes_own() -> None:
    """Seed 004's four totals, 45.2, 46.2, 44.1 and 45.3 million, and a time of each kind for each."""
    numbers = {(n.subject, n.quantity): n for r in measured.shipped() for n in r.numbers}
    shapes = {"wide, shallow": 45.2, "balanced": 46.2, "thin, deep": 44.1, "very thin, deep": 45.3}
    for name, millions in shapes.items():
        assert round(numbers[name, "weights of the matrices"].value / 1e6, 1) == millions
        prefill, step = (numbers[name, q] for q in ("prefill of the prompt", "cached decode of one token"))
        assert prefill.unit == step.unit == "ms"
        assert prefill.value > step.value
        assert (prefill.samples or 0) >= 3
        assert (step.samples or 0) >= 3


def test_files_of_a_home_that_are_none_are_named(tmp_path: Path) -> None:
    """A broken file ends a refresh with a sentence that says which and what to do; an unmeasured home has no digest."""
    assert measured.digest(tmp_path) == ""
    (tmp_path / measured.FOLDER).mkdir()
    (tmp_path / measured.FOLDER / "x.json").write_text('[{"experiment": "half')
    assert measured.digest(tmp_path) != ""
    with pytest.raises(Invalid, match=r"x\.json holds no measurements"):
        measured.rows(tmp_path)
