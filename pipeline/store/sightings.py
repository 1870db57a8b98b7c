"""What a snapshot knows for the first time: model_types, classes and unread keys, each with the day it was first seen.

The days travel from snapshot to snapshot: what the one before dates keeps its day, also where no config has it any
more. They tell of this shelf's history and stand in no digest.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import polars as pl

from schemas import tables
from schemas.registry import CONFIGS, MODELS, SIGHTINGS
from schemas.vocabulary import Sighting

NOT_STATED = "(none)"
"""The model_type of configs that state none."""
NAME = ("kind", "model_type", "name")
_NAMED: Mapping[Sighting, str] = {
    Sighting.MODEL_TYPE: "model_type",
    Sighting.CLASS: "architecture_class",
    Sighting.KEY: "unnest(unread)",
}


class News(msgspec.Struct, frozen=True):
    """Something that no earlier snapshot had: `models` repositories have it, listed with `downloads` in all."""

    kind: str
    model_type: str
    name: str
    models: int
    downloads: int | None

    def __str__(self) -> str:
        """The name; a class or key with the model_type it was seen in."""
        return self.name if self.kind == Sighting.MODEL_TYPE else f"{self.name} ({self.model_type})"


def seen(
    con: duckdb.DuckDBPyConnection, models: str, configs: str, day: dt.date, before: pl.DataFrame | None = None
) -> pl.DataFrame:
    """The table `sightings` of two relations of a connection; `before` is the table of the snapshot before."""
    now = pl.DataFrame(con.sql(_counted(models, configs)))
    known = tables.empty(SIGHTINGS) if before is None else before
    met = now.join(known.select(*NAME, "first_seen"), on=NAME, how="left").with_columns(
        pl.col("first_seen").fill_null(pl.lit(day, dtype=pl.Date))
    )
    gone = known.join(now, on=NAME, how="anti").with_columns(configs=0, models=0, downloads=None)
    shape = tables.polars_schema(SIGHTINGS)
    return pl.concat(f.select(SIGHTINGS.columns).cast(pl.Schema(shape)) for f in (met, gone)).sort(NAME)


def _counted(models: str, configs: str) -> str:
    """Every name that stands in a config of a repository, with how many have it."""
    both = f"(SELECT config_id, downloads FROM {models}) JOIN {configs} USING (config_id)"
    of_type = f"coalesce(model_type, '{NOT_STATED}')"
    rows = " UNION ALL ".join(
        f"SELECT config_id, downloads, '{kind.value}' AS kind, {of_type} AS of_type, {name} AS name FROM {both}"
        for kind, name in _NAMED.items()
    )
    return (
        "SELECT kind, of_type AS model_type, name, count(DISTINCT config_id) AS configs, count(*) AS models,"
        f" sum(downloads)::BIGINT AS downloads FROM ({rows}) WHERE name IS NOT NULL GROUP BY ALL"
    )


def of_snapshot(path: Path) -> pl.DataFrame | None:
    """The table of a snapshot; what its configs say, dated by its name, where it was written without one.

    None where its configs say nothing of the kind either: a version of long ago.
    """
    with duckdb.connect(str(path), read_only=True) as con:
        try:
            return pl.DataFrame(con.sql(f"SELECT * FROM {SIGHTINGS.name}"))
        except duckdb.CatalogException:
            return _from_configs(con, dt.date.fromisoformat(path.stem[:10]))


def _from_configs(con: duckdb.DuckDBPyConnection, day: dt.date) -> pl.DataFrame | None:
    try:
        return seen(con, MODELS.name, CONFIGS.name, day)
    except duckdb.Error:
        return None


def news(path: Path, before: Path | None) -> list[News]:
    """What the snapshot at `path` has and the one `before` never had, the most downloaded first.

    Nothing is news where there was none before.
    """
    known = None if before is None else of_snapshot(before)
    now = of_snapshot(path)
    if known is None or now is None:
        return []
    found = now.filter(pl.col("models") > 0).join(known.select(NAME), on=NAME, how="anti")
    ranked = found.sort("downloads", "models", *NAME, descending=[True, True, False, False, False], nulls_last=True)
    return [_news(row) for row in ranked.iter_rows(named=True)]


def _news(row: Mapping[str, Any]) -> News:
    return News(row["kind"], row["model_type"], row["name"], row["models"], row["downloads"])
