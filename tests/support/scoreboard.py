"""The table of README: what the atlas was held against, counted from the repository's own data."""

from __future__ import annotations

import json
import tomllib

import duckdb
import guide
from places import FIXTURES, ROOT


def lines() -> list[str]:
    """The table's rows: what the atlas is held against, how many, how many agree, and what the others are."""
    exact = json.loads((FIXTURES / "exact.json").read_text("utf-8"))
    modules = sum(len(names) for names in exact.values())
    saved = len((FIXTURES / "checkpoints.jsonl").read_text("utf-8").splitlines())
    totals, equal, packed = _checks()
    engines = tomllib.loads((ROOT / "pipeline/engines/agreement.toml").read_text("utf-8"))["engines"].values()
    logs, inside = sum(e["logs"] for e in engines), sum(e["inside"] for e in engines)
    missed = f"{logs - inside}, each in its test with the reason"
    return [
        f"| transformers' own modules: weights by component, cache, tying | {modules} configs | {modules} | |",
        f"| totals that publishers and the Hub state | {totals} | {equal} | {packed} count packed words, no weights |",
        f"| checkpoints as transformers saves them, tensor by tensor | {saved} | {saved} | |",
        f"| start-up logs of vLLM, llama.cpp, SGLang, TensorRT-LLM | {logs} | {inside} | {missed} |",
    ]


def _checks() -> tuple[int, int, int]:
    """Totals held against, those equal to the weight (after named parts), and those that are no count of weights."""
    with duckdb.connect(str(guide.snapshot_file()), read_only=True) as con:
        found = con.execute(
            "SELECT count(*), count(*) FILTER (result = 'exact'), count(*) FILTER (result = 'unchecked') FROM checks"
        ).fetchone()
    assert found is not None
    assert found[0] == found[1] + found[2]
    return found


def beside() -> str:
    """The sentence about other tools."""
    rows = json.loads((ROOT / "pipeline/sources/peers.json").read_text("utf-8"))
    both = [(theirs, ours, why) for *_, theirs, ours, why in rows["rows"] if theirs is not None and ours is not None]
    same = sum(theirs == ours for theirs, ours, _ in both)
    assert all(theirs == ours or why is not None for theirs, ours, why in both)
    configs = len({row[0] for row in rows["rows"]})
    return (
        f"Of {len(both)} figures that six public tools give for {configs} real configs, {same} are these; each"
        " other one is explained in a sentence"
    )
