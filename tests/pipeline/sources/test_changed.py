"""The summary of what changed since the catalogue published before."""

from __future__ import annotations

from pipeline.sources import catalogue, changed
from schemas.registry import MEASUREMENTS


def test_the_summary_ends_at_this_catalogue() -> None:
    """It goes from an earlier day to the catalogue's own, and its last count of models is the catalogue's."""
    t = changed.table()
    assert t.before < t.after == catalogue.dated()
    models = next(c for c in t.counts if c.quantity == "models")
    new, gone = (next(c.after for c in t.counts if c.quantity == f"models {word}") for word in ("new", "gone"))
    assert models.before + new - gone == models.after == len(catalogue.load())


def test_rows_have_the_columns_and_keys_of_their_table() -> None:
    """Two rows a quantity, before and after, each key once."""
    rows = changed.measurements()
    keys = [tuple(r[k] for k in MEASUREMENTS.key) for r in rows]
    assert len(keys) == len(set(keys)) == 2 * len(changed.table().counts)
    assert all(r.keys() == set(MEASUREMENTS.columns) for r in rows)
