"""A value of another type is refused, wherever a class declares the key."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive
from atlas.reading.types import ALLOWED, NEVER_NULL, vocabulary

LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "head_dim": 16,
    "hidden_act": "silu", "max_position_embeddings": 512, "tie_word_embeddings": False, "attention_bias": False,
    "mlp_bias": False, "rms_norm_eps": 1e-6, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}  # fmt: skip
NESTED: dict[str, Any] = {
    "model_type": "dbrx", "d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 100, "max_seq_len": 512,
    "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 500000.0},
    "ffn_config": {"ffn_hidden_size": 128, "moe_num_experts": 4, "moe_top_k": 2},
}  # fmt: skip
WRONG: dict[str, list[Any]] = {
    "bool": ["false", 0, 1, [], {}],
    "int": ["4", True, [4], {"a": 4}, 4.5],
    "num": ["4", True, [4], {"a": 4}],
    "str": [1, True, ["silu"], {"a": "silu"}],
    "list": ["full_attention", 1, True, {"a": 1}],
    "obj": ["yarn", 1, True, [1]],
}
"""Values of another type, by the type that a class declares."""


def substitutions(config: dict[str, Any], prefix: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Every key of a config, in objects too, with every value of another type."""
    made: list[tuple[tuple[str, ...], Any]] = []
    for key, value in config.items():
        types = vocabulary().get(key, frozenset())
        kinds = [k for k, allowed in ALLOWED.items() if allowed <= types and not (k == "int" and float in types)]
        made += [((*prefix, key), v) for k in kinds if len(kinds) == 1 for v in WRONG[k]]
        made += substitutions(value, (*prefix, key)) if isinstance(value, dict) else []
    return made


def put(config: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A copy with one value changed."""
    head, *rest = path
    return {**config, head: put(config[head], tuple(rest), value) if rest else value}


@pytest.mark.parametrize("config", [LLAMA, NESTED], ids=["flat", "nested"])
def test_a_value_of_another_type_is_refused(config: dict[str, Any]) -> None:
    """Every substitution, in sub-objects too, is a bad value: none becomes another number."""
    assert derive(config).fingerprint.verdict == "known"
    kept = [(path, value) for path, value in substitutions(config) if path[-1] != "model_type"]
    kinds = {(p, repr(v)): derive(put(config, p, v)).fingerprint.refusal_kind for p, v in kept}
    assert len(kinds) > 40
    assert {key: kind for key, kind in kinds.items() if kind != "bad_value"} == {}


def test_a_tie_is_true_or_false() -> None:
    """Texts, numbers, lists and null under tie_word_embeddings are refused, as the library refuses them."""
    for value in ("false", 0, 1, None, []):
        row = derive(LLAMA | {"tie_word_embeddings": value}).fingerprint
        assert (row.refusal_kind, "tie_word_embeddings" in (row.refusal_reason or "")) == ("bad_value", True)
    assert {"tie_word_embeddings", "is_causal"} == NEVER_NULL


def test_null_under_a_key_that_the_class_never_takes_as_such_is_refused() -> None:
    """GLM-4.5's class declares num_key_value_heads without null; Llama's takes null for one per query head."""
    glm = derive({"model_type": "glm4_moe", "num_key_value_heads": None}).fingerprint
    assert glm.refusal_kind == "bad_value"
    assert derive(LLAMA | {"num_key_value_heads": None}).fingerprint.n_kv_heads == 4


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """4096.0 is 4,096."""
    assert derive(LLAMA | {"hidden_size": 64.0}).fingerprint.d_model == 64


def test_what_published_files_write_as_a_text_is_no_refusal() -> None:
    """nvidia/MiniMax-M3-NVFP4 and LLaVA files write their tilings as a text, "[(336, 336), ...]": no tensor's shape."""
    for tiling in ("[(336, 336), (336, 672)]", [[336, 336], [336, 672]]):
        assert derive(LLAMA | {"image_grid_pinpoints": tiling}).fingerprint.refusal_kind is None
    assert derive(LLAMA | {"image_grid_pinpoints": 336}).fingerprint.refusal_kind == "bad_value"
