"""Costs of one step against operations counted in the library's own forward."""

from __future__ import annotations

from pathlib import Path

import costs
import pytest
import steps

DIFFERENCES = (
    costs.weight_differences,
    costs.attention_differences,
    costs.cross_differences,
    costs.prompt_differences,
    steps.state_differences,
    steps.limit_differences,
)
MEASURED = {"published": 200, "defaults": 252}
"""Records of the reference whose costs were counted."""


@pytest.mark.parametrize("which", ["published", "defaults"])
def test_every_cost_is_what_the_library_computes(shared: Path, which: str) -> None:
    """Products with weights, reads of every layer at three contexts, and reads of a source, of every measured file."""
    found = {r["name"]: (r, costs.config(shared, which, r["name"])) for r in costs.records(shared, which)}
    assert len(found) == MEASURED[which]
    assert {n for n, (_, d) in found.items() if d.fingerprint.verdict == "refused"} == costs.REFUSED[which]
    ours = {name: pair for name, pair in found.items() if name not in costs.REFUSED[which]}
    wrong = {name: [d for differ in DIFFERENCES for d in differ(*pair)] for name, pair in ours.items()}
    assert not {name: differences for name, differences in wrong.items() if differences}
