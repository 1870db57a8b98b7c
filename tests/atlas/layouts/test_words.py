"""Layouts say of a layer its kind alone, or in a record what differs among layers of one kind."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import reader
from atlas.layouts import words
from atlas.layouts.words import Cached, Differing, Grouped, Stored, Wide, kind_of


def said(model_type: str, **keys: Any) -> list[Any]:
    """What the layouts say of each layer: a pair of words, mixer and feed-forward network."""
    return list(words(reader({"model_type": model_type, "hidden_size": 64, **keys})))


def test_layers_alike_are_their_kind_alone() -> None:
    """Llama's layers differ in nothing."""
    assert said("llama", num_hidden_layers=2) == [("full_attention", "mlp")] * 2


def test_a_cache_is_named_by_the_layer_that_makes_it() -> None:
    """Of four Gemma 3n layers the last two read the last of their kind before them: layers 0 and 1."""
    types = ["sliding_attention", "full_attention"] * 2
    found = said("gemma3n_text", num_hidden_layers=4, layer_types=types, num_kv_shared_layers=2, intermediate_size=9)
    assert [m for m, _ in found] == [Cached(t, s) for t, s in zip(types, (None, None, 0, 1), strict=True)]
    assert {f for _, f in found} == {Wide("mlp", 9)}


def test_a_block_states_its_group_and_its_ratio() -> None:
    """nemotron-nas: 8 query heads a KV head; 2/3 x 3.0 x 64 = 128 wide, rounded up to a multiple of 256."""
    half = {"no_op": False, "replace_with_linear": False}
    block = {"attention": {**half, "n_heads_in_group": 8}, "ffn": {**half, "ffn_mult": 3.0}}
    assert said("nemotron-nas", num_hidden_layers=1, block_configs=[block]) == [
        (Grouped("attention", 8), Wide("mlp", 256))
    ]


def test_a_shared_block_is_stored_where_it_is_used_first() -> None:
    """Zamba2 with one block used twice: its weights stand in the first use."""
    types = ["mamba", "hybrid", "mamba", "hybrid"]
    found = [m for m, _ in said("zamba2", num_hidden_layers=4, layers_block_type=types, num_mem_blocks=1)]
    assert found[1::2] == [Stored("hybrid", stored=True), Stored("hybrid", stored=False)]
    assert found[::2] == ["linear_attention"] * 2


@pytest.mark.parametrize("word", ["full_attention", Differing("full_attention"), Wide("full_attention", 3)])
def test_every_word_has_a_kind(word: Any) -> None:
    """A row's tables are keyed by the kind."""
    assert kind_of(word) == "full_attention"
