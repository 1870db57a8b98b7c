"""Every family against the reference made from transformers' own modules: exact, or refused; never wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracle import hold, records
from places import FIXTURES

EXACT: dict[str, list[str]] = json.loads((FIXTURES / "exact.json").read_text("utf-8"))
"""The files that equal their records, by name; what leaves the list fails by name."""


@pytest.mark.parametrize("which", ["published", "defaults"])
def test_no_number_differs_from_the_reference(shared: Path, which: str) -> None:
    """Every derived file equals its record in the total, every component and the cache.

    The rest is refused with a reason.
    """
    found = [hold(shared, which, record) for record in records(shared, which)]
    wrong = {o.name: o.differences for o in found if o.status == "wrong"}
    assert not wrong
    assert all(o.fingerprint.refusal_reason for o in found if o.status == "refused")
    exact = {o.name for o in found if o.status == "exact"}
    assert sorted(set(EXACT[which]) - exact) == [], "no longer exact"
    assert sorted(exact - set(EXACT[which])) == [], "exact by now: name them in fixtures/exact.json"


def test_falcon_40b_keeps_eight_kv_heads(shared: Path) -> None:
    """Falcon-40b's cache is what its weights make: 60 layers x 2 x 8 heads x 64 x 2 bytes = 122,880 bytes per token."""
    record = next(r for r in records(shared, "published") if r["name"] == "tiiuae--falcon-40b")
    assert hold(shared, "published", record).fingerprint.kv_bytes_per_token == 60 * 2 * 8 * 64 * 2
