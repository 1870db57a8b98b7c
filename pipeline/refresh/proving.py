"""Doubts that an independent total answers: configs that a check of a refresh lifts from `assumed` to `known`."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from atlas import proof
from atlas.derived import Derived
from atlas.interpret import derive
from pipeline.store.staged import Staged
from schemas.registry import CHECKS, CONFIGS, MODELS
from schemas.tables import polars_schema
from schemas.vocabulary import Check, Verdict

LIFTED = "lifted"
MANY = 500


def prove(staged: Staged) -> None:
    """Let `configs` have those lifted whose doubt was of weights alone and whose checks all agree."""
    with staged.open() as con:
        found = con.execute(_agreeing(staged))
        names = [column[0] for column in found.description or ()]
        while rows := found.fetchmany(MANY):
            lifted = [made for row in rows if (made := _lifted(dict(zip(names, row, strict=True)))) is not None]
            if lifted:
                staged.add(LIFTED, pl.DataFrame(lifted, schema=polars_schema(CONFIGS)))
    if staged.has(LIFTED):
        configs, instead = staged.table(CONFIGS.name), staged.given(LIFTED)
        staged.decide(
            CONFIGS.name, f"SELECT * FROM {configs} ANTI JOIN {instead} USING (config_id) UNION ALL FROM {instead}"
        )


def _agreeing(staged: Staged) -> str:
    """The assumed configs of repositories whose total was found equal, and of none whose total is another."""
    models, checks = staged.table(MODELS.name), staged.table(CHECKS.name)
    held = f"FROM {checks} JOIN (SELECT repo_id, config_id FROM {models}) USING (repo_id)"
    off = f"SELECT config_id {held} WHERE result = '{Check.OFF}'"
    exact = (
        "SELECT config_id, arg_min(expected, (kind, repo_id)) AS expected, arg_min(derived, (kind, repo_id)) AS ours"
        f" {held}"
        f" WHERE result = '{Check.EXACT}' AND config_id IS NOT NULL GROUP BY config_id"
    )
    assumed = f"SELECT * FROM {staged.table(CONFIGS.name)} WHERE verdict = '{Verdict.ASSUMED}'"
    return (
        f"SELECT * FROM ({assumed}) JOIN (SELECT * FROM ({exact}) ANTI JOIN ({off}) USING (config_id))"
        " USING (config_id)"
    )


def _lifted(row: dict[str, Any]) -> dict[str, Any] | None:
    total, ours, raw = row.pop("expected"), row.pop("ours"), row["raw"]
    derived = None if raw is None else derive(raw.encode())
    if derived is None or not derived.proved_by_total or derived.fingerprint.params_total != ours:
        return None  # `ours` is of another text where the repository's config was replaced
    return row | _told(proof.lifted(derived, total))


def _told(derived: Derived) -> dict[str, Any]:
    f = derived.fingerprint
    evidence = [
        {"field": e.field, "value": msgspec.json.encode(e.value).decode(), "origin": str(e.origin), "source": e.source}
        for e in derived.evidence
    ]
    return {"verdict": f.verdict, "doubt": f.doubt, "evidence": evidence}
