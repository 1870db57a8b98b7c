"""Settings that cannot tell equal layers apart, and what files hold when those layers are folded."""

from __future__ import annotations

import pytest

from atlas.interpret import derive
from atlas.stored import rule
from atlas.stored.numbered import tells_layers_apart
from atlas.stored.settings import Settings
from pipeline.sources import catalogue

ALIKE = ("lm_head", "*mlp.gate*", "experts.w1", "re:.*mlp.gate$", r"re:.*\.(q_proj|k_proj)", "-:.*down_proj", "e4m3")
APART = (
    "model.layers.1*", "model.layers.0.mlp", "*.1?.mlp", "re:model.layers.[0-4].mlp", r"re:.*layers\.\d+\.mlp",
    "re:layers...mlp", "0", "layers.[12].*", "re:.*layers.+mlp", "a b",
)  # fmt: skip


@pytest.mark.parametrize("text", ALIKE)
def test_names_without_a_layers_number_take_all_layers_alike(text: str) -> None:
    """Neither a name, a star nor an expression of words can be true of one layer and not of the next."""
    assert not tells_layers_apart(Settings("m", {"ignore": [text], "version": "0.8.1"}, "quantization_config"))


@pytest.mark.parametrize("text", APART)
def test_whatever_a_number_could_be_taken_by_tells_layers_apart(text: str) -> None:
    """Digits, signs for one character, classes and repetitions may: such settings are read layer by layer."""
    assert tells_layers_apart(Settings("m", {"rules": {text: {"bits": 8}}}, "quantization_config"))


def test_folded_layers_hold_what_they_hold_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of every quantized model of the catalogue are those of its layers taken one by one."""
    found = [derive(e.raw) for e in catalogue.load()]
    quantized = {d.fingerprint.design_id: e.raw for d, e in zip(found, catalogue.load(), strict=True) if d.stored.rows}
    assert quantized
    folded = {k: derive(raw).stored for k, raw in quantized.items()}
    monkeypatch.setattr(rule, "tells_layers_apart", lambda _: True)
    monkeypatch.setattr("atlas.stored.answer._KNOWN", {})
    assert {k: derive(raw).stored for k, raw in quantized.items()} == folded
