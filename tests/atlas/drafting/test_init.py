"""A row proposed for a config whose family has none."""

from __future__ import annotations

from strangers import STRANGER

from atlas.drafting import draft


def test_the_nearest_rows_read_the_most_of_its_keys() -> None:
    """A config of DeepSeek's keys leads to rows of latent attention, which give DeepSeek-V2-Lite's 15.7 billion."""
    found = draft(STRANGER)
    assert {n.family: n.params_total for n in found.near}["deepseek_v2"] == 15_706_484_224
    assert (found.model_type, found.cls) == ("nobody_moe", "NobodyMoeForCausalLM")


def test_what_no_total_can_find_is_asked_first() -> None:
    """A loop leaves no trace in names, shapes or totals: the key that may say so is the first thing to read about."""
    found = draft(STRANGER)
    assert "num_loops" in found.strange
    assert found.questions[0].startswith("num_loops = 2")


def test_the_proposed_row_names_the_class_and_asks_for_an_expectation() -> None:
    """The text is a row to start from: it extends the nearest one, lists the class, and has an expectation to fill."""
    found = draft(STRANGER)
    assert f'extends = "{found.near[0].family}"' in found.row
    assert 'class_names = ["NobodyMoeForCausalLM"]' in found.row
    assert "[[expect]]" in found.row


def test_a_wrapper_is_looked_into() -> None:
    """Where the language model's config is nested, its keys are compared, and the row says that a wrapper is needed."""
    found = draft({"model_type": "nobody_vl", "text_config": {**STRANGER, "model_type": "nobody_text"}})
    assert {n.family: n.params_total for n in found.near}["deepseek_v2"] == 15_706_484_224
    assert 'key = "text_config"' in found.row


def test_a_wrapper_of_a_known_model_gets_a_wrappers_row() -> None:
    """Where the nested config names a model that has a row, that row is first, and the proposal is the wrapper's file.

    Two layers of 8 with vocabulary 100: 1,600 of tables, 2 x (4 x 64 + 24 + 3 x 8 x 16 + 16) and the last norm, 8.
    """
    text = {
        "model_type": "qwen2", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 100, "tie_word_embeddings": False,
    }  # fmt: skip
    found = draft({"model_type": "nobody_vl", "architectures": ["Nobody"], "llm_config": text, "merge_size": 3})
    assert found.near[0].family == "qwen2"
    assert found.near[0].params_total == 1_600 + 2 * (4 * 64 + 24 + 3 * 8 * 16 + 16) + 8
    assert 'text = { key = "llm_config", family = "qwen2" }' in found.row
    assert "merge_size" in found.row
    assert "extends" not in found.row
