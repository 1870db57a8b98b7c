"""Wrappers, and the kinds of layers that no weight shows, held against what the library's configuration classes hold.

The answers are data (`fixtures/library_configs.json`, by tests/tables/library_configs.py with transformers 5.24).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import FIXTURES

from atlas.families import family
from atlas.interpret import derive
from atlas.numbers.tabulate import layers_expanded

SAID: dict[str, Any] = json.loads((FIXTURES / "library_configs.json").read_text("utf-8"))
WRAPPERS: dict[str, dict[str, Any]] = SAID["wrappers"]
TEXTS: dict[str, dict[str, Any]] = SAID["texts"]

UNSTATED_TIE = {
    "blip-2", "inkling2", "inkling2_loop", "inkling_mm_model", "instructblip", "instructblipvideo", "muse_glimmer",
    "muse_spark", "nemo_speechlm", "qwen2_5_omni", "qwen3_omni_moe", "step3p7", "vibevoice_asr",
}  # fmt: skip
"""Wrappers whose class has no such key: nothing ties their head."""
OTHER_TIE = {"perception_lm": None, "shieldgemma2": False}
"""The language model's own word counts: the class of the wrapper only passes it on."""
OWN = {
    "florence2": "florence2_bart", "gemma4_unified_assistant": "gemma4_unified_assistant_text",
    "hunyuan_vl": "hunyuan_v1_dense", "voxtral_realtime": "voxtral_realtime_language",
}  # fmt: skip
"""Language models that have a row of another name, as their wrapper changes them."""
THINKERS = {"qwen2_5_omni", "qwen3_omni_moe"}
"""Models in parts, of which the thinker holds the language model."""
WITHOUT_CONFIG = {"fuyu", "gemma4", "gemma4_unified"}
"""Towers that a bare configuration has no config of: Fuyu's matrix, and Gemma 4's where none is stated."""
NO_TOWERS = {"t5gemma"}
"""A pair of stacks: the encoder is no tower."""


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_is_what_its_class_holds(name: str) -> None:
    """Its own word on the tie, where the language model stands and of which type, and whether towers stand beside."""
    said, rules = WRAPPERS[name], family(name)
    assert rules.text is not None
    tie = False if name in UNSTATED_TIE else OTHER_TIE.get(name, said["tie"])
    assert rules.outer.get("tie_word_embeddings") is tie
    if name in THINKERS:
        assert (rules.text.key, "thinker_config" in said["inner"]) == ("thinker_config.text_config", True)
        return
    assert (rules.text.key, rules.text.family) == (said["text"], OWN.get(name, said["inner"].get(said["text"])))
    beside = any(k != said["text"] and not k.startswith("text") for k in said["inner"])
    assert bool(rules.outer.get("has_towers")) is (name in WITHOUT_CONFIG or (beside and name not in NO_TOWERS))
    assert {k: rules.text_defaults.get(k) for k in said.get("values", {})} == said.get("values", {})


MIXERS = {
    "indexed_attention": "sparse_attention", "compressed_sparse_attention": "compressed_attention",
    "heavily_compressed_attention": "compressed_attention", "hybrid": "full_attention",
    "hybrid_sliding": "sliding_attention", "reference_sliding_attention": "full_attention",
}  # fmt: skip
"""Words of the library that are not those of the columns."""
FFNS = {"dense": "dense", "sparse": "moe", "moe": "moe", "hash_moe": "moe"}
REFUSED = {
    "diffusion_gemma_text", "dots1", "gemma3n_text", "inkling2_loop_text", "qwen4_exp_text", "t5_gemma_module",
    "t5gemma2_decoder",
}  # fmt: skip
"""Whose 13 layers are no whole model."""


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - REFUSED - {"zamba"}))
def test_thirteen_layers_are_of_the_kinds_that_the_class_lists(name: str) -> None:
    """Full, windowed, linear or sparse; dense or with experts. Zamba's blocks stand before layers, and are no kind."""
    said = TEXTS[name]
    found = derive({"model_type": name, said["depth"]: 13}).model
    assert found is not None
    rows = layers_expanded(found)
    linear = {"linear_attention": "ssm"} if name == "granitemoehybrid" else {}
    if "layer_types" in said:
        assert [r.mixer for r in rows] == [linear.get(k, MIXERS.get(k, k)) for k in said["layer_types"]]
    if "mlp_layer_types" in said:
        assert [r.ffn for r in rows] == [FFNS[k] for k in said["mlp_layer_types"]]
