"""Every row tried on a config of a family that has none."""

from __future__ import annotations

from typing import Any

from shrunk import checkpoints
from strangers import PLAIN

from atlas.checkpoint.packing import Stored
from atlas.drafting.near import Near, likely


def ranked(kind: str, **more: Any) -> list[Near]:
    """All rows on a small config of this model_type."""
    return likely({"model_type": kind, **PLAIN, **more}, kind, None, None)


def test_the_nearest_generation_goes_first() -> None:
    """OLMo 2's row stands before OLMo's for a fourth generation that states the keys both read."""
    families = [n.family for n in ranked("olmo4")]
    assert families[0] == "olmo2"
    assert families.index("olmo2") < families.index("olmo")


def test_names_that_begin_alike_are_kin() -> None:
    """A shared network's width is read by GraniteMoeShared: its row stands before GraniteMoe's for a sister's name."""
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 8}
    families = [n.family for n in ranked("granitemoenew", **experts)]
    assert families[0] == "granitemoeshared"


def test_a_dense_row_of_a_like_name_stands_behind_rows_with_experts() -> None:
    """OLMo's row builds no experts: it says so, and OLMoE's leads where the config counts four."""
    found = ranked("olmo_sparse", num_experts=4, num_experts_per_tok=2)
    unlike = {n.family: n.unlike for n in found}
    assert (found[0].family, unlike["olmoe"], unlike["olmo"]) == ("olmoe", False, True)


def test_a_row_that_invents_experts_stands_behind_too() -> None:
    """OLMoE's row takes 64 experts of its own where a config counts none."""
    assert {n.family: n.unlike for n in ranked("olmo4")}["olmoe"]


def test_what_a_row_takes_of_its_own_is_kept() -> None:
    """Qwen3's class has heads 128 wide and a head of its own where nothing is stated."""
    taken = {n.family: n.taken for n in ranked("qwen9", use_sliding_window=False, max_window_layers=2)}["qwen3"]
    assert taken == {"head_dim": 128, "tie_word_embeddings": False}


def test_a_header_that_fits_goes_first() -> None:
    """OLMo 2's own tensors under a name nobody knows: a row that derives each of them leads, with no difference."""
    one = checkpoints()["olmo2"]
    text = {k: v for k, v in one.config.items() if k not in ("model_type", "architectures")}
    listing = {name: Stored(shape, dtype) for name, (dtype, shape) in one.tensors.items()}
    first = likely(text, "nobody", None, listing)[0]
    assert (first.header, first.differences) == ("exact", 0)
    assert likely(text, "nobody", None, None)[0].family != first.family
