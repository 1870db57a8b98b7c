"""Lines of predictions: what cannot be read or used is said on the line, and nothing stops."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_caches import geometry, kv
from msgspec.structs import replace

from pipeline.engines.named import MODULES
from pipeline.engines.predicting import lines
from pipeline.engines.record import Unknown, version_of


def line(**changes: Any) -> dict[str, Any]:
    """The answer to one line about a model of one layer."""
    asked = {"id": "a", "engine": "vllm", "version": "0.11.0", "geometry": "made", "inputs": {"available_gib": 1}}
    (made,) = lines(json.dumps(asked | changes).encode(), lambda _: geometry(kv(0)))
    return made


def test_an_input_without_a_part_is_named() -> None:
    """The prediction stands, and the line says that the input was not used; a null is an input not given."""
    made = line(inputs={"available_gib": 1, "colour": "red", "kv": None})
    assert made["predicted"]["tokens"] == 2**30 // 65_536 * 16
    assert made["assumed"] == ["colour is no input of these rules for vllm: not used"]


@pytest.mark.parametrize(
    "changes", [{"version": 0.1}, {"version": None}, {"inputs": [1]}, {"inputs": "x"}, {"engine": "gears"}]
)
def test_what_cannot_be_used_gives_no_number(changes: dict[str, Any]) -> None:
    """A version that is a number (0.1 or 0.10?), none at all, inputs that are no object, an engine that is none."""
    made = line(**changes)
    assert made["predicted"] == {}
    assert made["missing"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0.11.1rc2.dev3+gabc", (0, 11, 1)), ("v0.6.post1", (0, 6)), ("2025-2026", (2025,)), ("0.19.x", (0, 19)),
     ("0.19 or 0.20", None), ("nightly", None), ("", None)],
)  # fmt: skip
def test_a_version_is_one_number_or_none(text: str, numbers: tuple[int, ...] | None) -> None:
    """What follows a release is left off; two versions or none are no version."""
    if numbers is not None:
        assert version_of(text) == numbers
        return
    with pytest.raises(Unknown):
        version_of(text)


@pytest.mark.parametrize(("engine", "dp", "refused"), [
    ("vllm", None, True), ("tensorrt-llm", None, True), ("sglang", None, True), ("sglang", 2, False),
    ("llama.cpp", None, False),
])  # fmt: skip
def test_heads_that_do_not_divide_give_no_number(engine: str, dp: int | None, *, refused: bool) -> None:
    """Six query heads on four ranks (two in each of two groups): only llama.cpp shares rows, the others refuse."""
    made = replace(geometry(kv(0)), query_heads=(6,))
    asked = {"id": "a", "engine": engine, "version": "0.11.0", "geometry": "made", "inputs": {"tp": 4, "dp": dp}}
    (found,) = lines(json.dumps(asked).encode(), lambda _: made)
    assert any(m.startswith("6 query heads do not divide among 4 ranks") for m in found["missing"]) is refused


@pytest.mark.parametrize("engine", MODULES)
def test_a_model_without_a_cache_gives_no_number(engine: str) -> None:
    """An encoder keeps nothing between steps: every engine's line says so."""
    asked = {"id": "a", "engine": engine, "version": "0.11.0", "geometry": "made", "inputs": {"N": 1, "cells": 1}}
    (made,) = lines(json.dumps(asked).encode(), lambda _: geometry())
    assert made["predicted"] == {}
    assert "no cache" in made["missing"][0]
