"""Switches that a class builds otherwise by stay refused, by name: none of them is lost while rows are rewritten."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import FIXTURES

from atlas.families import loader
from atlas.interpret import derive

REFUSED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "refused_switches.json").read_text("utf-8"))
"""By family and key a value for which the class builds what no part describes; read in the sources that a row names."""


@pytest.mark.parametrize("family", REFUSED)
def test_the_other_position_of_a_switch_is_refused(family: str) -> None:
    """The reason names the key."""
    for key, value in REFUSED[family].items():
        *path, last = key.split(".")
        config: dict[str, Any] = {"model_type": family}
        inner = config
        for step in path:
            inner = inner.setdefault(step, {})
        inner[last] = value
        found = derive(config).fingerprint
        assert found.verdict == "refused", key
        assert last in str(found.refusal_reason)


def test_every_switch_of_a_row_is_listed() -> None:
    """A new switch gets its line."""
    written = {(name, key) for name in loader.available() for key in loader.row(name).get("only", {})}
    assert written <= {(family, key) for family, keys in REFUSED.items() for key in keys}


@pytest.mark.parametrize(
    ("model_type", "key"),
    [
        ("hf_olmo", "weight_tying"),
        ("llada", "weight_tying"),
        ("molmo", "weight_tying"),
        ("molmo", "attention_layer_norm"),
        ("openelm", "share_input_output_layers"),
        ("lfm2", "tie_embedding"),
        ("vits", "use_stochastic_duration_prediction"),
    ],
)
def test_a_switch_under_a_name_of_its_own_is_true_or_false(model_type: str, key: str) -> None:
    """Python takes "false" for true and 0 for false: a head or norms would be counted by what nobody wrote."""
    for value in ("false", "true", 0, 1, -1, 0.5, []):
        row = derive({"model_type": model_type, key: value}).fingerprint
        assert (row.verdict, row.refusal_kind) == ("refused", "bad_value")
        assert f"{key} is {value!r}" in (row.refusal_reason or "") or value == []
