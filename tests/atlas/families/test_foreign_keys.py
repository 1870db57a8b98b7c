"""Each family by each key of all the others: what its class does not read changes no number.

Which keys a class declares, and which its code reads, is kept as data, taken from transformers 5.24.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from places import FIXTURES

from atlas.families.loader import FOREIGN, available, family, known, unread_by_class
from atlas.interpret import derive

DATA: dict[str, Any] = json.loads((FIXTURES / "library_keys.json").read_text("utf-8"))
KEYS: dict[str, int | float | bool] = DATA["keys"]
READ = {model_type: frozenset(keys.split()) for model_type, keys in DATA["read"].items()}
NUMBERS = (
    "params_total", "params_active", "kv_bytes_per_token", "kv_bytes_per_token_first", "state_bytes_constant",
    "kv_bytes_128k", "flops_per_token", "n_kv_heads", "head_dim", "n_layers",
)  # fmt: skip

PUBLISHED: dict[str, frozenset[str]] = {
    "codegen": frozenset(("num_heads", "num_layers")),
    "dots3_note_text": frozenset(("swa_num_attention_heads",)),
    "falcon": frozenset(("n_head", "n_layer")),
    "gptj": frozenset(("num_heads", "num_layers")),
    "hunyuan_v1_dense": frozenset(("attention_head_dim", "mlp_bias")),
    "hunyuan_v1_moe": frozenset(("attention_head_dim", "moe_intermediate_size")),
    "hy_v3": frozenset(("n_shared_experts",)),
    "mimo_v2_flash": frozenset(("swa_head_dim", "swa_num_attention_heads", "swa_num_key_value_heads")),
    "nemotron_h": frozenset(("attention_head_dim",)),
    "opt": frozenset(("d_model",)),
}
"""Spellings of published files, and of the code that came with them, that the library's class no longer reads."""


def numbers(config: dict[str, Any]) -> tuple[Any, ...]:
    """What a config's shape, weights, cache and cost are."""
    row = derive(config).fingerprint
    return tuple(getattr(row, n) for n in NUMBERS)


def foreign(model_type: str) -> dict[str, int | float | bool]:
    """A value under every key that the class does not read, and that no published file of it states."""
    left = READ[model_type] | PUBLISHED.get(model_type, frozenset())
    return {key: value for key, value in KEYS.items() if key not in left}


def derivable() -> Iterator[str]:
    """The families of the library whose class defaults are a whole model."""
    for model_type in sorted(READ):
        if known(model_type) and family(model_type).text is None and numbers({"model_type": model_type})[0]:
            yield model_type


@pytest.fixture(scope="module")
def families() -> list[str]:
    """Their names."""
    return list(derivable())


def test_a_key_that_the_class_does_not_read_changes_nothing(families: list[str]) -> None:
    """All foreign keys at once leave every number of the class default as it is, in each family."""
    assert len(families) > 180
    wrong = [m for m in families if numbers({"model_type": m, **foreign(m)}) != numbers({"model_type": m})]
    assert wrong == []


def test_a_foreign_key_lowers_known_and_is_named(families: list[str]) -> None:
    """A number that nobody reviewed for this class leaves the answer assumed, and the sentence names the key."""
    some = [m for m in families if "loop_num_passes" in foreign(m)]
    rows = [derive({"model_type": m, "loop_num_passes": 4}).fingerprint for m in some]
    assert {row.verdict for row in rows} == {"assumed"}
    assert all("loop_num_passes" in (row.doubt or "") for row in rows)


GUARD = "embedding_size"
"""A key that BERT's kin ask for with `hasattr` alone."""


def test_only_keys_that_the_code_does_not_read_are_reviewed_as_silent(families: list[str]) -> None:
    """A key of geometry is silent under a class of the library whose code has no such key, and under no other."""
    pairs = [(m, key) for m in available() for key in FOREIGN if unread_by_class(m, key)]
    assert len(pairs) > 2_500
    left = [(m, key) for m, key in pairs if m not in READ or (key in READ[m] and key != GUARD)]
    assert [(m, key) for m, key in left if key not in family(m).named | family(m).irrelevant] == []
    talker = "qwen2_5_omni_text"
    assert talker in families
    assert not unread_by_class(talker, GUARD)


@pytest.mark.parametrize(
    ("model_type", "key"), [("gpt_neox", "num_key_value_heads"), ("llama", "v_head_dim"), ("bert", "embedding_size")]
)
def test_a_silent_key_leaves_the_answer_known_but_for_a_files_own_code(model_type: str, key: str) -> None:
    """The class reads no such key; code that came with a file may."""
    plain = {"model_type": model_type, key: 2}
    own = {"auto_map": {"AutoModelForTokenClassification": "modeling_my.MyModel"}}
    assert numbers(plain) == numbers({"model_type": model_type})
    assert [derive(plain | more).fingerprint.verdict for more in ({}, own)] == ["known", "assumed"]
