"""Keys and values that files keep of layers that read another's cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas.checkpoint.idle import idle_elements, is_idle, readers
from atlas.checkpoint.totals import check_total
from atlas.interpret import derive
from pipeline.sources import catalogue

if TYPE_CHECKING:
    from atlas.derived import Derived


def held(repo: str) -> Derived:
    """A model of the catalogue, derived."""
    return derive(next(e.raw for e in catalogue.load() if e.repo == repo))


def test_gemma_4_e4b_keeps_unused_keys_and_values() -> None:
    """The Hub counts 7,996,156,490 for Gemma 4 E4B: text, towers, 42 layer scalars, and idle keys and values.

    18 of 42 layers read another's cache: 15 windowed with 2 heads of 256, 3 full with 2 heads of 512, at width 2,560.
    15 x (2 x 2,560 x 512 + 256) + 3 x (2 x 2,560 x 1,024 + 512) = 39,325,440 + 15,730,176 = 55,055,616.
    """
    found = held("google/gemma-4-E4B-it")
    assert found.model is not None
    assert len(readers(found.model)) == 18
    assert idle_elements(found.model) == 55_055_616
    total = check_total(found, 7_996_156_490)
    assert (total.result, total.derived) == ("explained", 7_463_013_376)
    assert "keys and values of layers that share a cache included: +55,055,616" in str(total.note)


def test_gemma_3n_e4b_keeps_them_too() -> None:
    """The Hub counts 7,849,978,192 for Gemma 3n E4B; 15 of 35 layers share, all of 2 heads of 256 at width 2,048.

    15 x (2 x 2,048 x 512 + 256) = 31,461,120; towers of 983,281,504 and a text model of 6,835,235,568 are the rest.
    """
    found = held("google/gemma-3n-E4B-it")
    assert found.model is not None
    assert idle_elements(found.model) == 31_461_120
    assert check_total(found, 7_849_978_192).result == "explained"


def test_a_model_whose_layers_share_nothing_has_none() -> None:
    """Llama-3.1-8B makes every cache it reads."""
    found = held("meta-llama/Llama-3.1-8B")
    assert found.model is not None
    assert (dict(readers(found.model)), idle_elements(found.model)) == ({}, 0)


def test_only_keys_values_and_their_norms_are_idle() -> None:
    """Queries, outputs and what stands in other parts of a layer are used."""
    idle = ["k_proj", "v_proj", "k_norm", "v_norm"]
    assert all(is_idle(f"model.layers.30.self_attn.{n}.weight") for n in idle)
    assert not any(is_idle(f"model.layers.30.self_attn.{n}.weight") for n in ("q_proj", "q_norm", "o_proj"))
