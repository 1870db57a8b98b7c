"""Doubts that an independent total answers: configs that a check of a refresh lifts from `assumed` to `known`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from atlas import proof
from atlas.derived import Derived
from atlas.interpret import derive
from schemas.vocabulary import Check, Verdict


def proved(made: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The table `configs`, with those lifted whose doubt was of weights alone and whose checks all agree."""
    configs = made["configs"]
    rows = [lifted for row in _agreeing(made) if (lifted := _lifted(row)) is not None]
    if not rows:
        return configs
    fresh = pl.DataFrame(rows, schema=configs.schema)
    return pl.concat([configs.filter(~pl.col("config_id").is_in(fresh["config_id"].to_list())), fresh])


def _agreeing(made: Mapping[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """The assumed configs of repositories whose total was found equal, and of none whose total is another."""
    results = made["checks"].join(made["models"].select("repo_id", "config_id"), on="repo_id").drop_nulls("config_id")
    stated = results.select("config_id", "expected", result=pl.col("result").cast(pl.String))
    off = stated.filter(pl.col("result") == Check.OFF.value)["config_id"].to_list()
    exact = stated.filter((pl.col("result") == Check.EXACT.value) & ~pl.col("config_id").is_in(off))
    assumed = made["configs"].filter(pl.col("verdict").cast(pl.String) == Verdict.ASSUMED.value)
    totals = exact.group_by("config_id").agg(pl.col("expected").first())
    return assumed.join(totals, on="config_id", how="inner").to_dicts()


def _lifted(row: dict[str, Any]) -> dict[str, Any] | None:
    total, raw = row.pop("expected"), row["raw"]
    derived = None if raw is None else derive(raw.encode())
    if derived is None or not derived.proved_by_total:
        return None
    return row | _told(proof.lifted(derived, total))


def _told(derived: Derived) -> dict[str, Any]:
    f = derived.fingerprint
    evidence = [
        {"field": e.field, "value": msgspec.json.encode(e.value).decode(), "origin": str(e.origin), "source": e.source}
        for e in derived.evidence
    ]
    return {"verdict": f.verdict, "doubt": f.doubt, "evidence": evidence}
