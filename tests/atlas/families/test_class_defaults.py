"""Every class default of every row, held against what the library's configuration classes answered.

The answers are committed with the library's version (`make class-defaults` asks again); where the library can be
imported the file is held against it too.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import pytest
from class_defaults import Answers, asked_of_the_library, committed, questions

from atlas.families import family
from atlas.interpret import derive

SAID = committed()
ANSWERED: dict[str, Answers] = SAID["answers"]

RUNTIME = {"is_decoder", "add_cross_attention", "tie_word_embeddings"}
"""Fields that classes took from the library's base class, false there; text models leave the tie to a wrapper."""

ELSEWHERE = {
    # what the class's code takes without asking its configuration
    ("ctrl", "hidden_act"), ("lfm2", "hidden_act"), ("lfm3", "hidden_act"), ("xlm", "hidden_act"),
    ("switch_transformers", "feed_forward_proj"), ("deepseek_v4", "num_hash_layers"),
    ("hunyuan_v1_dense", "ffn_bias"), ("hunyuan_v1_moe", "ffn_bias"),
    *((f"inkling{x}_text", f) for x in ("", "2", "2_loop") for f in ("qkv_bias", "o_bias")),
    # a key of the wrapper's class
    ("diffusion_gemma_text", "canvas_length"),
    # nothing is rotated: no answer is asked for
    ("kimi_linear", "rope_theta"), ("glm5_next_text", "rope_theta"),
    # the base where a stated table names none; the table that the class writes has another
    ("ministral3", "rope_theta"),
    # sinusoids, or an encoder that the class has not: no table of positions is stored
    ("pegasus_x", "encoder_positions"), ("pegasus_x", "decoder_positions"), ("trocr", "encoder_positions"),
    # windowed layers of their own shape, which the class keeps in its configurations by layer
    *(("dots3_note_text", f"swa_{x}") for x in (
        "num_attention_heads", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
    )),
    # every layer holds experts; the parent's rule for which do is asked and answered
    *((x, "decoder_sparse_step") for x in ("lara_mini", "mellum", "qwen3_5_moe_text")),
    # lists of kinds that the class writes where none is stated, by these numbers
    ("kolibri1", "first_k_dense_replace"),
    *((x, f"index_{y}") for x in ("hy_v4", "hy_v4_vl_text") for y in ("topk_freq", "skip_topk_offset")),
    # a row that takes a parent's experts away: nothing asks
    *(("youtu", x) for x in (
        "moe_intermediate_size", "n_shared_experts", "num_experts", "num_experts_per_tok", "first_k_dense_replace",
    )),
    # drafting layers stand in the checkpoints, not in the library's classes
    *((x, "n_mtp_layers") for x in (
        "deepseek_v32", "glm4_moe_lite", "glm4v_moe_text", "glm_moe_dsa", "kimi_linear",
    )),
}  # fmt: skip
"""Defaults that no key of the configuration class holds, by the reason."""


def values(answers: Answers, field: str, keys: tuple[str, ...]) -> list[Any]:
    """Every value that the class holds under one of the keys; of RoPE's, those of its table too."""
    found = [x for k in keys for x in answers.get(k, [])]
    (table,) = answers.get("rope_parameters", [None])
    if field in ("rope_theta", "partial_rotary_factor") and isinstance(table, dict):
        found += [t.get(field) for t in (table, *table.values()) if isinstance(t, dict)]
    return found


def holds(value: Any, found: list[Any]) -> bool:
    """The row's value is one of those found, a truth value no number; of a table, the row may keep what it reads."""
    if isinstance(value, dict):
        return any(isinstance(f, dict) and all(f.get(k) == v for k, v in value.items()) for f in found)
    return any(value == f and isinstance(value, bool) == isinstance(f, bool) for f in found)


def found_for(model_type: str, field: str) -> list[Any]:
    """What the class of a row holds for a field."""
    return values(ANSWERED[model_type], field, family(model_type).keys.get(field, (field,)))


def test_the_file_answers_what_rows_ask() -> None:
    """Every row of a language model was asked about, each of its defaults; a row without a class is named as such."""
    asked = questions()
    assert SAID["transformers"].startswith("5.24."), "the rows cite 5.24"
    unanswered = sorted(asked.keys() - ANSWERED.keys() - set(SAID["no_class"]))
    assert unanswered == [], "rows that were never asked about: run `make class-defaults` where the library is"
    assert sorted({*ANSWERED, *SAID["no_class"]} - asked.keys()) == [], "answers of rows that are gone"


def test_every_class_default_is_that_of_the_configuration_class() -> None:
    """What a row takes for an absent key is what the library's class takes, or the exception is named above."""
    wrong = [
        f"{m}: {field} = {value}, the class has {found_for(m, field)}"
        for m in ANSWERED
        for field, value in family(m).defaults.items()
        if field not in RUNTIME and (m, field) not in ELSEWHERE and not holds(value, found_for(m, field))
    ]
    assert not wrong, "\n".join(["(new keys: `make class-defaults` where the library is)", *wrong])


def test_the_named_exceptions_are_needed() -> None:
    """An exception that the class agrees with by now is taken out of the list."""
    kept = {(m, f) for m in ANSWERED for f, v in family(m).defaults.items()
            if (m, f) in ELSEWHERE and not holds(v, found_for(m, f))}  # fmt: skip
    assert kept == {e for e in ELSEWHERE if e[0] in ANSWERED}


OTHERWISE = {("glm4_moe_lite", "head_dim"): "a head is as wide as its two parts together, whatever the one name says"}
"""Second names that a row does not read, with the reason."""


def test_a_class_s_second_names_are_read() -> None:
    """Where the library's class calls one attribute by two names (`attribute_map`), a file may state either."""
    unread = [
        f"{m}: {alias}, which is {key}"
        for m, names in SAID["aliases"].items()
        for alias, key in names.items()
        if (m, alias) not in OTHERWISE and (value := ANSWERED[m].get(key)) and isinstance(value[0], int | str)
        if sources(m, key, value[0]) and not sources(m, alias, value[0])
    ]
    assert unread == []


def sources(model_type: str, key: str, value: Any) -> bool:
    """Whether a config of this model_type that states a key is read by it."""
    found = derive({"model_type": model_type, key: value})
    return found.model is not None and key in {e.source for e in found.evidence}


def test_a_wrong_default_is_named() -> None:
    """Llama's class takes 32 layers and silu; 33, relu and a truth value for a number are none of its answers."""
    assert holds(32, found_for("llama", "num_hidden_layers"))
    assert not holds(33, found_for("llama", "num_hidden_layers"))
    assert not holds("relu", found_for("llama", "hidden_act"))
    assert not holds(True, [1])


def test_the_file_is_what_the_library_answers() -> None:
    """Asked again, the library gives the committed answers."""
    if not os.environ.get("ATLAS_REFERENCE_PYTHON") and importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is neither here nor behind ATLAS_REFERENCE_PYTHON; the committed answers are held")
    assert asked_of_the_library() == {k: SAID[k] for k in ("transformers", "answers", "aliases")}
