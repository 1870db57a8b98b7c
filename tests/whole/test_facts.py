"""Facts that no shape shows, against tensors followed through the library's own forward."""

from __future__ import annotations

from pathlib import Path

import costs
import facts
import pytest

NOTED = {"published": 200, "defaults": 255}
"""Records of the reference whose facts were followed."""


@pytest.mark.parametrize("which", ["published", "defaults"])
def test_every_fact_is_what_the_class_builds(shared: Path, which: str) -> None:
    """Activation, norms and their places, sinks, norms of queries and keys, positions by layer, mask."""
    noted = facts.records(shared, which)
    assert len(noted) == NOTED[which]
    noted = [r for r in noted if r["name"] not in costs.REFUSED[which]]
    found = {r["name"]: facts.differences(r, costs.config(shared, which, r["name"])) for r in noted}
    wrong = {name: differences for name, differences in found.items() if differences}
    assert wrong == {}
