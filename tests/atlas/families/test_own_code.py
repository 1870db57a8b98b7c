"""Rows whose class is not the library's, against the signatures of the configuration classes that they cite."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from places import FIXTURES

from atlas.families import family

SIGNED: dict[str, dict[str, Any]] = tomllib.loads((FIXTURES / "own_code.toml").read_text("utf-8"))

ELSEWHERE = {
    ("k2_horizon", "sliding_window"),  # a null there, and read as none
    ("llada2_moe", "block_size"), ("llada2_moe", "router_correction_bias"),  # of the generating and the modelling code
    ("gigachat3_5", "n_mtp_layers"),
}  # fmt: skip
"""Defaults that no key of the signature holds."""


def spelled(row: str, field: str) -> tuple[str, ...]:
    """The keys that a field is read from."""
    return family(row).keys.get(field, (field,))


@pytest.mark.parametrize("row", SIGNED)
def test_defaults_are_those_of_the_signature(row: str) -> None:
    """Each default of the row stands under one of its keys, and a key that may be absent is None there."""
    said, rules = SIGNED[row], family(row)
    for field, value in rules.defaults.items():
        found = [said[k] for k in spelled(row, field) if k in said]
        if found and (row, field) not in ELSEWHERE:
            assert (field, found) == (field, [value] * len(found))
            assert {type(x) is bool for x in found} == {isinstance(value, bool)}


@pytest.mark.parametrize("row", SIGNED)
def test_keys_of_the_signature_are_read(row: str) -> None:
    """Each key of structure answers a field of the row, under its own name or as one of the field's spellings."""
    said, rules = SIGNED[row], family(row)
    by_key = {k: f for f, keys in rules.keys.items() for k in keys}
    unread = [k for k in said if k != "source" and k not in by_key and k not in rules.named | rules.only.keys()]
    assert unread == []
    absent = [k for k, v in said.items() if v != "none" and k != "source" and k not in rules.only]
    missing = [k for k in absent if by_key.get(k, k) not in rules.defaults.keys() | rules.facts.keys()]
    assert [(row, k) for k in missing if (row, k) not in UNSET] == []


UNSET = {("rwkv7", "hidden_ratio"), ("gigachat3_5", "num_nextn_predict_layers")}
"""Keys without a default in the row: a rule takes 4 for the one, and files state the other or are doubted."""


@pytest.mark.parametrize("row", SIGNED)
def test_keys_of_llama_that_the_signature_has_not_are_not_read(row: str) -> None:
    """A row that stands on Llama's or DeepSeek's reads no bias under a key that its class does not have."""
    said, rules = SIGNED[row], family(row)
    by_key = {k for keys in rules.keys.values() for k in keys}
    usual = {"attention_bias", "mlp_bias", "qkv_bias", "add_bias_linear", "n_embd", "n_head"}
    assert by_key & usual - said.keys() - READ_TOO.get(row, set()) == set()


READ_TOO = {"mimo_v2": {"attention_bias"}}
"""Keys that another copy of the class has."""
