"""The text of a row to start from."""

from __future__ import annotations

import tomllib

from strangers import PLAIN

from atlas.drafting import draft
from atlas.families import family


def test_it_is_toml_and_extends_the_nearest_row() -> None:
    """What it proposes can be parsed: the parent, the class, and an expectation with the parent's total."""
    found = draft({"model_type": "olmo4", "architectures": ["Olmo4ForCausalLM"], **PLAIN})
    made = tomllib.loads(found.row)
    assert (made["extends"], made["class_names"]) == ("olmo2", ["Olmo4ForCausalLM"])
    assert made["expect"][0]["params_total"] == found.near[0].params_total


def test_what_comes_of_the_parent_without_a_word_is_shown() -> None:
    """Its facts, the values it takes, and its lists: a row that states such a list takes the place of the parent's."""
    lines = draft({"model_type": "olmo4", **PLAIN}).row.splitlines()
    (facts,) = [line for line in lines if line.startswith("# olmo2's: ")]
    assert 'norm_placement = "post_sublayer"' in facts
    assert 'qk_norm = "full"' in facts
    assert '# reads = ["head_dim", "num_key_value_heads"]' in lines
    assert family("olmo2").reads == {"head_dim", "num_key_value_heads"}
    assert "# tie_word_embeddings = false  # olmo2's, taken here" in lines
