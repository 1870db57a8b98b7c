"""Every row is whole: what it names exists, it has references and expectations, and its parents are rows."""

from __future__ import annotations

import pytest

from atlas.families import available, family, row
from atlas.layouts import FFN_LAYOUTS, FOLLOWING, MIXER_LAYOUTS
from atlas.readers import ENDS, FFNS, MIXERS
from atlas.readers.norms import NORMS
from atlas.reading.derivations import DERIVATIONS
from schemas.vocabulary import Mixer, NormClass, NormPlacement

ROWS = sorted(t for t in available() if not t.startswith("_"))


@pytest.mark.parametrize("model_type", ROWS)
def test_what_a_row_names_exists(model_type: str) -> None:
    """Layouts, parts, norms, ends and rules named by a row are there, so that no config can run into a missing one."""
    rules = family(model_type)
    assert rules.layout in MIXER_LAYOUTS
    assert rules.ffn_layout in FFN_LAYOUTS.keys() | FOLLOWING.keys()
    assert rules.norms in NORMS
    assert rules.ends in ENDS
    assert {s.part for specs in rules.mixers.values() for s in specs} <= MIXERS.keys()
    assert {s.part for specs in rules.ffns.values() for s in specs} <= FFNS.keys()
    assert set(rules.derive.values()) <= DERIVATIONS.keys()
    assert rules.text is None or family(rules.text.family)


@pytest.mark.parametrize("model_type", ROWS)
def test_a_row_has_its_evidence(model_type: str) -> None:
    """A row says what was read for it, and every expectation says where its total comes from."""
    own = row(model_type)
    assert own.get("references"), "no references"
    assert own.get("expect"), "no expected total: measure the library's default, or cite a published one"
    for expect in own["expect"]:
        assert {"repo", "params_total", "source"} <= expect.keys() <= {"repo", "params_total", "source", "through"}


@pytest.mark.parametrize("model_type", ROWS)
def test_words_of_a_row_are_words_of_the_vocabulary(model_type: str) -> None:
    """Norm classes, placements and mixers are spelled as the vocabulary has them."""
    rules = family(model_type)
    specs = [s for table in (rules.mixers, rules.ffns) for each in table.values() for s in each]
    for field, words in (("norm_class", NormClass), ("norm_placement", NormPlacement), ("mixer", Mixer)):
        said = {rules.facts.get(field), *(s.facts.get(field) for s in specs)} - {None}
        assert said <= {w.value for w in words}


def test_unset_takes_away_what_the_parent_says() -> None:
    """Mixtral extends Mistral, whose window has a class default of 4,096 that Mixtral's class does not have."""
    assert family("mistral").defaults["sliding_window"] == 4096
    assert "sliding_window" not in family("mixtral").defaults


def test_names_with_a_leading_underscore_are_no_families() -> None:
    """`_irrelevant.toml` holds reviewed keys and can never be reached as a model_type."""
    assert "_irrelevant" in available()
    assert "_irrelevant" not in ROWS


def test_a_stated_scaling_goes_before_the_class_default() -> None:
    """gpt-oss has a default YaRN table; a file that states `rope_scaling` is read by what it states."""
    from atlas.interpret import derive

    stated = {"rope_type": "linear", "factor": 2.0}
    assert derive({"model_type": "gpt_oss", "rope_scaling": stated}).fingerprint.rope_scaling == "linear"
    assert derive({"model_type": "gpt_oss"}).fingerprint.rope_factor == 32


def test_the_context_before_a_scaling_is_known_only_where_something_says_it() -> None:
    """YaRN scales from the stated context where no other is given; linear scaling says nothing of where it starts."""
    from atlas.interpret import derive

    def native(kind: str) -> int | None:
        scaling = {"rope_type": kind, "factor": 4.0}
        return derive({"model_type": "llama", "rope_scaling": scaling}).fingerprint.native_context

    assert (native("yarn"), native("linear")) == (2048, None)


def test_a_second_spelling_of_the_same_value_is_read_too() -> None:
    """gpt-oss files state the experts per token twice; where both agree neither is unread."""
    from atlas.interpret import derive

    both = {"model_type": "gpt_oss", "num_experts_per_tok": 4}
    assert derive({**both, "experts_per_token": 4}).unread == ()
    assert derive({**both, "experts_per_token": 8}).unread == ("experts_per_token",)
