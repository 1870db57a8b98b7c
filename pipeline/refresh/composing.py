"""What was put aside becomes the tables of a snapshot: by queries over parts on disk, whatever their size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from pipeline.errors import Invalid
from pipeline.refresh import deciding, holding, proving
from pipeline.store.staged import Staged
from schemas.registry import (
    CONFIGS,
    CONSTANTS,
    DESIGNS,
    FEATURES,
    LAYERS,
    MODELS,
    PARAMETERS,
    REFUSALS,
    STATES,
    STORED,
)  # fmt: skip

FOUND, BESIDE, AGAIN, USED = "found", "beside", "again", "used"
_KEPT = ("revision", "config_id", "as_of", "source")
"""What a repository whose config cannot be read now keeps of the row before."""


def composed(staged: Staged, of_texts: deciding.OfTexts) -> Staged:
    """The tables: one row per repository, nothing of replaced configs, totals held and doubts answered.

    `of_texts` makes tables of texts and of what was derived of them.

    Raises:
        Invalid: two configs have one design_id but different designs, which would be an error of ours.
    """
    if not staged.has(FOUND):
        return staged
    _models(staged)
    _beside(staged)
    has_totals = staged.ask(f"SELECT count(hub_params_total) FROM {staged.table(MODELS.name)}") != [(0,)]
    was_decided = deciding.decide(staged, of_texts, holding.deciding_totals())
    _designs(staged)
    _used(staged, always=was_decided)
    if has_totals:
        holding.hold_hub_totals(staged)
    if staged.has("checks"):
        proving.prove(staged)
    return staged


def _models(staged: Staged) -> None:
    """Of a repository found again the last row counts."""
    columns, found = ", ".join(f'"{c}"' for c in MODELS.columns), staged.given(FOUND)
    staged.run(AGAIN, f"SELECT repo_id FROM {found} GROUP BY repo_id HAVING count(*) > 1")
    again = staged.given(AGAIN)
    if staged.ask(f"SELECT count(*) FROM {again}") == [(0,)]:
        staged.decide(MODELS.name, f"SELECT {columns} FROM {found}")
        return
    with staged.open() as con:
        rows = pl.DataFrame(con.sql(f"SELECT * FROM {found} SEMI JOIN {again} USING (repo_id) ORDER BY place"))
    merged = pl.DataFrame(list(_folded(rows)), schema=rows.schema).drop("place", "failed")
    staged.add(MODELS.name, merged)
    staged.decide(
        MODELS.name,
        f"SELECT {columns} FROM {found} ANTI JOIN {again} USING (repo_id)"
        f" UNION ALL SELECT {columns} FROM {staged.given(MODELS.name)}",
    )


def _beside(staged: Staged) -> None:
    """What repositories hold beside their configs: of one found again what came with its last config."""
    if not staged.has(BESIDE):
        return
    beside, found = staged.given(BESIDE), staged.given(FOUND)
    last = (
        f"(SELECT repo_id AS subject, max(place) AS place FROM {found} WHERE config_id IS NOT NULL AND NOT failed"
        " GROUP BY repo_id)"
    )
    held = f"SELECT * EXCLUDE (place) FROM {beside} SEMI JOIN {last} USING (subject, place)"
    staged.decide(STORED.name, f"FROM {staged.given(STORED.name)} UNION ALL {held}")


def _folded(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The last row of each; what cannot be read now keeps the config it had."""
    last: dict[str, dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        old = last.get(row["repo_id"])
        keeps = row["config_id"] is None and not row["failed"] and old is not None and old["config_id"] is not None
        last[row["repo_id"]] = row | ({k: old[k] for k in _KEPT} if keeps and old else {})
    return iter(last.values())


def _designs(staged: Staged) -> None:
    """Each design once; two of one id must be equal."""
    given = staged.table(DESIGNS.name)
    again = f"SELECT design_id FROM {given} GROUP BY design_id HAVING count(*) > 1"
    if staged.ask(f"SELECT count(*) FROM ({again})") == [(0,)]:
        return
    staged.decide(DESIGNS.name, f"SELECT DISTINCT * FROM {given}")
    two = f"SELECT design_id FROM {staged.table(DESIGNS.name)} GROUP BY design_id HAVING count(*) > 1"
    found = staged.ask(f"{two} ORDER BY design_id LIMIT 1")
    if found:
        raise Invalid(_differing(staged, str(found[0][0])))


def _differing(staged: Staged, design_id: str) -> str:
    one, other, *_ = staged.frame(
        f"SELECT * FROM {staged.table(DESIGNS.name)} WHERE design_id = '{design_id}'", DESIGNS.name
    ).rows()
    differing = [f"{n} ({a} and {b})" for n, a, b in zip(DESIGNS.columns, one, other, strict=True) if a != b]
    return f"design {design_id} would have two values of {', '.join(differing)}: the digest misses something"


def _used(staged: Staged, *, always: bool) -> None:
    """Drop what belonged only to configs that a later one of the same repository replaced, and designs of no config."""
    models, configs = staged.table(MODELS.name), staged.table(CONFIGS.name)
    used = f"SELECT DISTINCT config_id FROM {models} WHERE config_id IS NOT NULL"
    if not always and staged.ask(f"SELECT count(*) FROM ({used})") == staged.ask(f"SELECT count(*) FROM {configs}"):
        return
    staged.run(USED, used)
    for table in (CONFIGS, CONSTANTS, REFUSALS, FEATURES):
        _only(staged, table.name, "config_id", f"{staged.given(USED)}")
    subjects = f"SELECT config_id AS subject FROM {staged.given(USED)} UNION ALL SELECT repo_id FROM {models}"
    _only(staged, STORED.name, "subject", f"({subjects})")
    designs = f"(SELECT DISTINCT design_id FROM {staged.table(CONFIGS.name)} WHERE design_id IS NOT NULL)"
    for table in (DESIGNS, LAYERS, PARAMETERS, STATES):
        _only(staged, table.name, "design_id", designs)


def _only(staged: Staged, name: str, key: str, kept: str) -> None:
    """Leave the rows of a table out whose key is not kept.

    Those that go are few and asked for first: joined with all that stay, DuckDB may hold the table itself, and rows
    with texts and lists do not spill.
    """
    table, gone = staged.table(name), f"gone_{name}"
    staged.run(gone, f"SELECT DISTINCT {key} FROM {table} ANTI JOIN {kept} USING ({key})")
    if staged.ask(f"SELECT count(*) FROM {staged.given(gone)}") != [(0,)]:
        staged.decide(name, f"SELECT * FROM {table} ANTI JOIN {staged.given(gone)} USING ({key})")
