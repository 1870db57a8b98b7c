"""Every family against the reference made from transformers' own modules: exact, or refused; never wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracle import hold, records, stored_buffers
from places import FIXTURES

from atlas.families import family
from atlas.interpret import derive

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


BUFFERS_APART = {
    # 44 batch norms of an encoder of timm, 35,756 in all, where the reference built the language model alone
    "fast_vlm": -35_756,
    # the biases are parameters there: 31 layers of 64 experts, 27 of 64, and of 64 for text and for pictures
    "afmoe": -31 * 64, "ernie4_5_moe": -27 * 64, "ernie4_5_vl_moe": -27 * (64 + 64),
}  # fmt: skip
"""Elements of buffers that the whole class stores and its language model does not, or the other way round."""


@pytest.mark.parametrize("which", ["published", "defaults"])
def test_buffers_are_those_that_the_library_stores(shared: Path, which: str) -> None:
    """MiniMax, 16 lightning layers of 32 heads in blocks of 256: 16 x 32 x (1 + 2 x 256 + 65,536) = 33,817,088.

    The biases that move tokens between experts are buffers there, and the router's in the contract.
    """
    exact = set(EXACT[which])
    known = [r for r in records(shared, which) if r["name"] in exact]
    more = {r["name"]: r["params"]["persistent_buffers"] - stored_buffers(shared, which, r) for r in known}
    assert {name: n for name, n in more.items() if n} == {n: v for n, v in BUFFERS_APART.items() if n in exact}


NO_TOWER = {
    "fsmt",  # modeling_fsmt.py: `output_projection` is the head
    "gemma4_unified_assistant",  # `pre_projection` and `post_projection` stand around the drafting model
}
"""Files with a part that the reference books as a projector by its name."""

LANGUAGE_ALONE = {"aya_vision", "fast_vlm", "gemma3n", "mllama", "perception_lm"}
"""Wrappers of whose library default the reference built the language model alone."""


@pytest.mark.parametrize("which", ["published", "defaults"])
def test_what_has_towers_is_what_the_library_builds_with_some(shared: Path, which: str) -> None:
    """A whole class has weights of a tower or of its projector exactly where the row says so."""
    known = [r for r in records(shared, which) if r["name"] in EXACT[which]]
    outcomes = {r["name"]: (hold(shared, which, r).fingerprint, r["params"]["by"]) for r in known}
    said = {name for name, (found, _) in outcomes.items() if found.has_towers}
    built = {name for name, (_, by) in outcomes.items() if any(c.endswith(("_tower", "projector")) for c in by)}
    assert built - said == NO_TOWER & outcomes.keys()
    assert said - built == LANGUAGE_ALONE & outcomes.keys()


def test_a_wrapper_has_the_towers_that_its_class_builds(shared: Path) -> None:
    """A file that states its language model alone leaves the towers to the class, which builds them all the same."""
    known = [r for r in records(shared, "defaults") if r["name"] in EXACT["defaults"]]
    built = {r["name"] for r in known if any(c.endswith(("_tower", "projector")) for c in r["params"]["by"])}
    rules = {name: family(name).text for name in built - NO_TOWER}
    plain = {name: text for name, text in rules.items() if text is not None and "." not in text.key}
    files = {n: {"model_type": n, text.key: {"model_type": text.family}} for n, text in plain.items()}
    found = {name: derive(file).fingerprint for name, file in files.items()}
    assert {name for name, row in found.items() if row.verdict != "refused" and not row.has_towers} == set()
    assert sum(row.verdict != "refused" for row in found.values()) >= 50


def test_falcon_40b_keeps_eight_kv_heads(shared: Path) -> None:
    """Falcon-40b's cache is what its weights make: 60 layers x 2 x 8 heads x 64 x 2 bytes = 122,880 bytes per token."""
    record = next(r for r in records(shared, "published") if r["name"] == "tiiuae--falcon-40b")
    assert hold(shared, "published", record).fingerprint.kv_bytes_per_token == 60 * 2 * 8 * 64 * 2
