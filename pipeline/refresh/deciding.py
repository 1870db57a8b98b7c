"""Configs that can be read in two ways, where a total of the Hub says which: their rows are made again by that reading.

A text is one row whoever has it: where repositories with one text have totals that speak for different readings, it
stays as it was read, and the checks say which totals are off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from atlas import proof
from atlas.derived import Derived
from atlas.interpret import derive

Tables = dict[str, pl.DataFrame]


def decided(made: Tables, again: Callable[[Mapping[bytes, Derived]], Tables]) -> Tables:
    """The tables, with the rows of such configs by the reading that a total proves; unchanged where there are none.

    `again` makes tables of texts and of what was derived of them.
    """
    chosen = dict(_chosen(made))
    if not chosen:
        return made
    new = again(chosen)
    ids = new["configs"]["config_id"].to_list()
    keys = {"configs": "config_id", "constants": "config_id", "features": "config_id", "stored": "subject"}
    fresh = {t: pl.concat([made[t].filter(~pl.col(key).is_in(ids)), new[t]]) for t, key in keys.items()}
    have = made["designs"]["design_id"].to_list()
    of_designs = ("designs", "layers", "parameters", "states")
    fresh |= {t: pl.concat([made[t], new[t].filter(~pl.col("design_id").is_in(have))]) for t in of_designs}
    return made | fresh


def _chosen(made: Tables) -> Iterator[tuple[bytes, Derived]]:
    stated = made["models"].select("config_id", "hub_params_total").drop_nulls().unique()
    once = stated.filter(pl.col("config_id").is_unique())
    rows = _twofold(made["configs"]).join(once, on="config_id", how="inner")
    for raw, total in rows.select("raw", "hub_params_total").iter_rows():
        before = derive(raw.encode())
        after = proof.decided(before, total)
        if after is not before:
            yield raw.encode(), after


def _twofold(configs: pl.DataFrame) -> pl.DataFrame:
    """Configs that may have another reading: the tie's evidence names two levels, or one wide layer is doubted."""
    source = pl.element().struct.field("source")
    two = source.str.contains("the wrapper states none") | source.str.contains("own class takes")
    tie = pl.col("evidence").list.eval(two).list.any()
    return configs.filter(pl.col("raw").is_not_null() & (tie | pl.col("doubt").str.contains("EAGLE")))
