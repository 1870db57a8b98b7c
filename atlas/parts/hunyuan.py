"""Hunyuan's experts: routed ones and a shared one, all of one width; how many a token takes may differ by layer."""

from __future__ import annotations

from atlas.layouts.common import entries
from atlas.numbers.structure import Part
from atlas.parts.blocks import number_of
from atlas.parts.ffn import Moe, activation, moe
from atlas.reading.config import View
from atlas.refusal import not_derivable


def read_experts(v: View) -> Part:
    """Experts as wide as intermediate_size.

    Files that state another width, or other than one shared expert, are refused: transformers 5.24 reads neither key,
    the code published with the checkpoints reads both.
    """
    width = v.count("intermediate_size")
    _only(v, "moe_intermediate_size", width)
    _only(v, "num_shared_expert", 1)
    _only(v, "moe_layer_num_skipped", 0)
    d, experts, act = v.count("hidden_size"), v.count("num_experts"), activation(v)
    return moe(Moe(d, width, experts, number_of(v), True, act, width, 1))


def _only(v: View, field: str, wanted: int) -> None:
    stated = v.opt(field)
    if stated is None or stated == wanted:
        return
    if type(stated) is int or any(type(each) is not int or each != wanted for each in entries(field, stated)):
        raise not_derivable(f"{field} is not {wanted} throughout, and implementations differ on what it then means")
