"""The catalogue's published totals and cited facts, held against what is derived."""

from __future__ import annotations

from atlas.interpret import derive
from pipeline import catalogue, holding
from schemas.vocabulary import Check, Verdict


def test_no_published_total_is_off_where_the_family_is_known() -> None:
    """Every published total agrees, is explained to the weight, or unchecked; only an assumed family may be off."""
    entries = catalogue.load()
    found = holding.rows(entries)["checks"]
    known = {e.repo for e in entries if derive(e.raw).fingerprint.verdict == Verdict.KNOWN}
    off = {r["repo_id"]: r["note"] for r in found if r["result"] == Check.OFF and r["repo_id"] in known}
    assert off == {}
    assert all(r["note"] for r in found if r["result"] == Check.UNCHECKED)
    exact = [r for r in found if r["result"] == Check.EXACT]
    assert len(exact) >= 120


def test_gpt_oss_is_quoted_by_its_matmul_weights() -> None:
    """The card's 5.1B active parameters of gpt-oss-120b are its matmul weights: a row with that explanation."""
    found = [r for r in holding.rows(catalogue.load())["disagreements"] if r["repo_id"] == "openai/gpt-oss-120b"]
    assert any((r["explanation"] or "").startswith("counts matmul weights only") for r in found)


def test_every_row_is_unique_by_its_key() -> None:
    """One row per repository, field and source."""
    found = holding.rows(catalogue.load())
    keys = [(r["repo_id"], r["field"], r["tool"]) for r in found["disagreements"]]
    assert len(keys) == len(set(keys))
    assert len(found["checks"]) == len({r["repo_id"] for r in found["checks"]})
