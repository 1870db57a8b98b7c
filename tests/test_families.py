"""Every row is whole: what it names exists, it has references and expectations, and its parents are rows."""

from __future__ import annotations

import pytest

from atlas.families import available, family, row
from atlas.layouts import FFN_LAYOUTS, MIXER_LAYOUTS
from atlas.parts import FFNS, MIXERS
from atlas.parts.ends import ENDS
from atlas.parts.norms import NORMS

ROWS = sorted(t for t in available() if not t.startswith("_"))


@pytest.mark.parametrize("model_type", ROWS)
def test_what_a_row_names_exists(model_type: str) -> None:
    """Layouts, parts, norms and ends named by a row are there, so that no config can run into a missing one."""
    rules = family(model_type)
    assert rules.layout in MIXER_LAYOUTS
    assert rules.ffn_layout in FFN_LAYOUTS
    assert rules.norms in NORMS
    assert rules.ends in ENDS
    assert {s.part for specs in rules.mixers.values() for s in specs} <= MIXERS.keys()
    assert {s.part for specs in rules.ffns.values() for s in specs} <= FFNS.keys()
    assert rules.text is None or family(rules.text.family)


@pytest.mark.parametrize("model_type", ROWS)
def test_a_row_has_its_evidence(model_type: str) -> None:
    """A row says what was read for it, and every expectation says where its total comes from."""
    own = row(model_type)
    assert own.get("references"), "no references"
    for expect in own.get("expect", []):
        assert {"repo", "params_total", "source"} <= expect.keys()


def test_unset_takes_away_what_the_parent_says() -> None:
    """Mixtral extends Mistral, whose window has a class default of 4,096 that Mixtral's class does not have."""
    assert family("mistral").defaults["sliding_window"] == 4096
    assert "sliding_window" not in family("mixtral").defaults


def test_names_with_a_leading_underscore_are_no_families() -> None:
    """`_irrelevant.toml` holds reviewed keys and can never be reached as a model_type."""
    assert "_irrelevant" in available()
    assert "_irrelevant" not in ROWS
