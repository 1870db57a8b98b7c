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
_TYPE = pl.col("model_type").fill_null(NOT_STATED)
_NAMED: Mapping[Sighting, pl.Expr] = {
    Sighting.MODEL_TYPE: pl.col("model_type"),
    Sighting.CLASS: pl.col("architecture_class"),
    Sighting.KEY: pl.col("unread"),
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


def seen(content: Mapping[str, pl.DataFrame], day: dt.date, before: pl.DataFrame | None = None) -> pl.DataFrame:
    """The table `sightings` of these models and configs; `before` is the table of the snapshot before."""
    now = _counted(content)
    known = tables.empty(SIGHTINGS) if before is None else before
    met = now.join(known.select(*NAME, "first_seen"), on=NAME, how="left").with_columns(
        pl.col("first_seen").fill_null(pl.lit(day, dtype=pl.Date))
    )
    gone = known.join(now, on=NAME, how="anti").with_columns(configs=0, models=0, downloads=None)
    shape = tables.polars_schema(SIGHTINGS)
    return pl.concat(f.select(SIGHTINGS.columns).cast(pl.Schema(shape)) for f in (met, gone)).sort(NAME)


def _counted(content: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Every name that stands in a config of a repository, with how many have it."""
    facts = content[CONFIGS.name].select("config_id", "model_type", "architecture_class", "unread")
    both = content[MODELS.name].select("config_id", "downloads").join(facts, on="config_id")
    rows = pl.concat(_rows(both, kind, name) for kind, name in _NAMED.items())
    total = pl.when(pl.col("downloads").is_not_null().any()).then(pl.col("downloads").sum())
    return rows.group_by(NAME).agg(configs=pl.col("config_id").n_unique(), models=pl.len(), downloads=total)


def _rows(both: pl.DataFrame, kind: Sighting, name: pl.Expr) -> pl.DataFrame:
    of = both.explode("unread") if kind is Sighting.KEY else both
    named = of.select(
        "config_id", "downloads", kind=pl.lit(kind.value), model_type=_TYPE.cast(pl.String), name=name.cast(pl.String)
    )
    return named.filter(pl.col("name").is_not_null())


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
        models = pl.DataFrame(con.sql("SELECT config_id, downloads FROM models"))
        configs = pl.DataFrame(con.sql("SELECT config_id, model_type, architecture_class, unread FROM configs"))
    except duckdb.Error:
        return None
    return seen({MODELS.name: models, CONFIGS.name: configs}, day)


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
