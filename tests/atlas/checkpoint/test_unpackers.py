"""Every packing of quantized weights by its reader alone: one that fits, and neighbours that do not add up.

Sizes are counted by hand as the readers' docstrings say: 32 / bits weights to an int32, two to a byte, a scale a group.
"""

from __future__ import annotations

from typing import Any

import pytest

from atlas.checkpoint.listing import Stored
from atlas.checkpoint.unpackers import READERS

S = Stored
Parts = dict[str, Any]


def group(bits: int, size: int | None, kind: str = "int") -> dict[str, Any]:
    """A group of a compressed-tensors config."""
    return {"weights": {"num_bits": bits, "group_size": size, "type": kind}}


def groups(*each: dict[str, Any]) -> dict[str, Any]:
    """A config of several."""
    return {"config_groups": {f"group_{i}": g for i, g in enumerate(each)}}


HQQ = {"quant_config": {"weight_quant_params": {"group_size": 64}}}

# packing, weight, parts, settings, and what they stand for
CASES: list[tuple[str, Stored | None, Parts, dict[str, Any], Stored | None]] = [
    # 4 bits: 16 rows of 8 inputs; the order has one entry an input
    ("gptq", None, {"qweight": S((16, 48)), "scales": S((2, 48)), "g_idx": S((128,))}, {}, S((48, 128), "I32")),
    ("gptq", None, {"qweight": S((12, 48)), "scales": S((2, 48)), "g_idx": S((128,))}, {}, S((48, 128), "I32")),
    # two experts, and zeros of 6 words for 48 outputs: 4 bits
    ("gptq", None, {"qweight": S((2, 16, 48)), "scales": S((2, 2, 48)), "qzeros": S((2, 2, 6))}, {},
     S((2, 48, 128), "I32")),
    ("gptq", None, {"qweight": S((16, 48)), "scales": S((2, 48))}, {}, None),
    ("gptq", None, {"qweight": S((16, 48)), "scales": S((2, 47)), "g_idx": S((128,))}, {}, None),
    ("gptq", None, {"qweight": S((48,)), "scales": S((2, 48)), "g_idx": S((128,))}, {}, None),
    ("gptq", None, {"qweight": S((16, 48)), "scales": S((48,)), "g_idx": S((128,))}, {}, None),
    ("gptq", None, {"qweight": S((28, 48)), "scales": S((2, 48)), "g_idx": S((128,))}, {}, None),  # 7 bits
    ("gptq", None, {"qweight": S((16, 48)), "scales": S((2, 48)), "g_idx": S((100,))}, {}, None),
    ("gptq", None, {"scales": S((2, 48)), "g_idx": S((128,))}, {}, None),
    ("awq", None, {"qweight": S((128, 6)), "scales": S((2, 48))}, {}, S((48, 128), "I32")),
    ("awq", None, {"qweight": S((3, 128, 12)), "scales": S((3, 2, 48))}, {}, S((3, 48, 128), "I32")),
    ("awq", None, {"qweight": S((128, 6)), "scales": S((48,))}, {}, None),
    ("awq", None, {"qweight": S((6,)), "scales": S((2, 48))}, {}, None),
    ("awq", None, {"qweight": S((128, 6)), "scales": S((2, 50))}, {}, None),
    ("bitsandbytes 4-bit", S((50, 1), "U8"), {"absmax": S((2,)), "quant_map": S((16,))}, {}, S(None, "U8", 100)),
    ("bitsandbytes 4-bit", S((50, 1), "I8"), {"absmax": S((2,)), "quant_map": S((16,))}, {}, S(None, "I8", 100)),
    ("bitsandbytes 4-bit", S((50, 1), "BF16"), {"absmax": S((2,)), "quant_map": S((16,))}, {}, S(None, "BF16", 200)),
    ("bitsandbytes 4-bit", S((50, 1), "F16"), {"absmax": S((2,)), "quant_map": S((16,))}, {}, S(None, "F16", 200)),
    ("bitsandbytes 4-bit", S((50, 1), "F32"), {"absmax": S((2,)), "quant_map": S((16,))}, {}, S(None, "F32", 400)),
    ("bitsandbytes 4-bit", S((50, 1), "F64"), {"absmax": S((2,)), "quant_map": S((16,))}, {}, None),
    ("bitsandbytes 4-bit", S((50, 1)), {"absmax": S((2,)), "quant_map": S((16,))}, {}, None),
    ("bitsandbytes 4-bit", S((50, 1), "U8"), {"absmax": S((2,))}, {}, None),
    ("bitsandbytes 4-bit", S((50, 1), "U8"), {"quant_map": S((16,))}, {}, None),
    ("bitsandbytes 4-bit", S(None, "U8"), {"absmax": S((2,)), "quant_map": S((16,))}, {}, None),
    ("bitsandbytes 4-bit", None, {"absmax": S((2,)), "quant_map": S((16,))}, {}, None),
    ("bitsandbytes 8-bit", S((48, 128), "I8"), {"SCB": S((48,))}, {}, S((48, 128), "I8")),
    ("bitsandbytes 8-bit", S((48, 128), "I8"), {"SCB": S((128,))}, {}, None),
    ("bitsandbytes 8-bit", S((48, 128), "U8"), {"SCB": S((48,))}, {}, None),
    ("bitsandbytes 8-bit", S((), "I8"), {"SCB": S(())}, {}, None),
    ("bitsandbytes 8-bit", None, {"SCB": S((48,))}, {}, None),
    # 4 blocks of 16 bytes: 128 weights
    ("mxfp4", None, {"blocks": S((3, 48, 4, 16)), "scales": S((3, 48, 4))}, {}, S((3, 48, 128), "U8")),
    ("mxfp4", None, {"blocks": S((48, 4, 16)), "scales": S((48, 4))}, {}, S((48, 128), "U8")),
    ("mxfp4", None, {"blocks": S((48, 4, 16)), "scales": S((48, 3))}, {}, None),
    ("mxfp4", None, {"blocks": S((4, 16)), "scales": S((4,))}, {}, None),
    ("mxfp4", None, {"scales": S((48, 4))}, {}, None),
    *(("fp8", S((48, 128), "F8_E4M3"), {x: S((1,))}, {}, S((48, 128), "F8_E4M3"))
      for x in ("weight_scale", "weight_scale_inv", "scale", "scale_inv")),
    ("fp8", S((48, 128), "F8_E5M2"), {"input_scale": S((1,))}, {}, None),
    ("fp8", S((48, 128), "BF16"), {"weight_scale": S((1,))}, {}, None),
    ("fp8", S((48, 128)), {"weight_scale": S((1,))}, {}, None),
    ("fp8", None, {"weight_scale": S((1,))}, {}, None),
    *(("unquantized", S((48, 100), x), {"weight_scale_inv": S((1, 1))}, {}, S((48, 100), x))
      for x in ("BF16", "F16", "F32")),
    ("unquantized", S((48, 100), "U8"), {"weight_scale_inv": S((1, 1))}, {}, None),
    ("unquantized", S((48, 100), "BF16"), {"weight_scale_inv": S((1, 1)), "scale": S((1,))}, {}, None),
    ("unquantized", None, {"weight_scale_inv": S((1, 1))}, {}, None),
    # 64 bytes are 128 weights: 8 scales of 16 each, or 4 of 32
    ("fp4, two a byte", S((48, 64), "U8"), {"weight_scale": S((48, 8))}, {}, S((48, 128), "U8")),
    ("fp4, two a byte", S((48, 64), "I8"), {"scale": S((48, 4))}, {}, S((48, 128), "I8")),
    ("fp4, two a byte", None, {"weight_packed": S((48, 64), "U8"), "scales": S((48, 4))}, {}, S((48, 128), "U8")),
    ("fp4, two a byte", S((48, 64), "U8"), {"weight_scale": S((48, 2))}, {}, None),
    ("fp4, two a byte", S((48, 64), "U8"), {"weight_scale": S((47, 8))}, {}, None),
    ("fp4, two a byte", S((48, 64), "U8"), {}, {}, None),
    ("fp4, two a byte", S((48, 64), "BF16"), {"weight_scale": S((48, 8))}, {}, None),
    ("fp4, two a byte", S((), "U8"), {"weight_scale": S((48, 8))}, {}, None),
    ("fp4, two a byte", None, {"weight_scale": S((48, 8))}, {}, None),
    # experts as [experts, in, out]: 64 bytes along the inputs
    ("fp4, two a byte", S((3, 64, 50), "U8"), {"weight_scale": S((3, 8, 50))}, {}, S((3, 128, 50), "U8")),
    ("fp4, two a byte", S((3, 64, 50), "U8"), {"weight_scale": S((3, 4, 50))}, {}, S((3, 128, 50), "U8")),
    ("fp4, two a byte", S((3, 64, 50), "U8"), {"weight_scale": S((3, 2, 50))}, {}, None),
    ("fp4, two a byte", S((3, 64, 50), "U8"), {"weight_scale": S((4, 8, 50))}, {}, None),
    ("fp4, two a byte", S((3, 64, 50), "U8"), {"weight_scale": S((3, 8, 51))}, {}, None),
    ("fp4, two a byte", S((64, 50), "U8"), {"weight_scale": S((8, 50))}, {}, None),
    ("fp4, two a byte", S((3, 64, 50), "U8"), {"weight_scale": S((8, 50))}, {}, None),
    # 24 bytes are 48 outputs; 128 inputs in groups of 64
    ("awq, two a byte", S((24, 128), "U8"), {"weight_scale": S((48, 2))}, {}, S((48, 128), "U8")),
    ("awq, two a byte", S((24, 128), "U8"), {"weight_scale": S((24, 2))}, {}, None),
    ("awq, two a byte", S((24, 128), "U8"), {"weight_scale": S((48, 3))}, {}, None),
    ("awq, two a byte", S((24, 128), "I8"), {"weight_scale": S((48, 2))}, {}, None),
    ("awq, two a byte", S((2, 24, 128), "U8"), {"weight_scale": S((48, 2))}, {}, None),
    ("awq, two a byte", S((24, 128), "U8"), {"weight_scale": S((48,))}, {}, None),
    ("awq, two a byte", S(None, "U8"), {"weight_scale": S((48, 2))}, {}, None),
    ("awq, two a byte", None, {"weight_scale": S((48, 2))}, {}, None),
    ("int8", S((48, 128), "I8"), {"weight_scale": S((48, 1))}, {}, S((48, 128), "I8")),
    ("int8", S((48, 128), "I8"), {"weight_scales": S((48, 1))}, {}, S((48, 128), "I8")),
    ("int8", S((48, 128), "I8"), {"scale": S((48, 1))}, {}, None),
    ("int8", S((48, 128), "U8"), {"weight_scale": S((48, 1))}, {}, None),
    ("int8", None, {"weight_scale": S((48, 1))}, {}, None),
    # 16 int32 of 4 bits are 128 inputs
    *(("pack-quantized", None, {"weight_packed": S((48, 16), "I32"), "weight_scale": S(s)}, settings, found)
      for s, settings, found in (
          ((48, 2), groups(group(4, 64)), S((48, 128), "I32")),
          ((48, 1), groups(group(4, None)), S((48, 128), "I32")),
          ((48, 1), groups(group(4, -1)), S((48, 128), "I32")),
          ((48, 1), groups(group(4, 0)), S((48, 128), "I32")),
          ((48, 128), groups(group(4, 1)), S((48, 128), "I32")),
          ((48, 2), groups(group(4, None)), None),
          ((48, 3), groups(group(4, 64)), None),
          ((48, 2), groups(group(8, 64), group(4, 64)), S((48, 128), "I32")),  # 8 bits are 64 inputs: one group
          ((48, 1), groups(group(8, None), group(4, None)), None),  # both fit
          ((48, 2), groups(group(4, 64, "float")), None),
          ((48, 2), groups(group(7, 64)), None),
          ((48, 2), {}, None),
          ((48, 2), {"config_groups": {"group_0": None}}, None),
          ((), groups(group(4, 64)), None),
      )),
    # 13 int32 of 4 bits hold up to 104 inputs; two groups of 50 are 100, which take 12.5
    ("pack-quantized", None, {"weight_packed": S((48, 13), "I32"), "weight_scale": S((48, 2))}, groups(group(4, 50)),
     S((48, 100), "I32")),
    ("pack-quantized", None, {"weight_packed": S((2, 48, 16), "I32"), "weight_scale": S((2, 48, 2))},
     groups(group(4, 64)), S((2, 48, 128), "I32")),
    ("pack-quantized", None, {"weight_packed": S((16,), "I32"), "weight_scale": S((2,))}, groups(group(4, 64)), None),
    ("pack-quantized", None, {"weight_packed": S((48, 16), "U8"), "weight_scale": S((48, 2))}, groups(group(4, 64)),
     None),
    ("mlx", S((48, 16), "U32"), {"scales": S((48, 2))}, {"group_size": 64}, S((48, 128), "U32")),
    ("mlx", S((48, 24), "U32"), {"scales": S((48, 2))}, {"group_size": 64}, S((48, 128), "U32")),
    ("mlx", S((48, 12), "U32"), {"scales": S((48, 3))}, {"group_size": 100, "x": {"group_size": 32}},
     S((48, 96), "U32")),
    ("mlx", S((48, 16), "U32"), {"scales": S((48, 128))}, {"group_size": 1}, S((48, 128), "U32")),
    ("mlx", S((48, 16), "U32"), {"scales": S((48, 2))}, {"group_size": 32}, S((48, 64), "U32")),  # 8 bits
    ("mlx", S((48, 16), "U32"), {"scales": S((48, 2))}, {"group_size": 100}, None),
    ("mlx", S((48, 16), "U32"), {"scales": S((48, 2))}, {"group_size": 0}, None),
    ("mlx", S((48, 16), "U32"), {"scales": S((48, 2))}, {"group_size": "64"}, None),
    ("mlx", S((48, 16), "U32"), {"scales": S((47, 2))}, {"group_size": 64}, None),
    ("mlx", S((48, 16), "U8"), {"scales": S((48, 2))}, {"group_size": 64}, None),
    ("mlx", S((), "U32"), {"scales": S((2,))}, {"group_size": 64}, None),
    ("mlx", S((48, 16), "U32"), {}, {"group_size": 64}, None),
    ("mlx", None, {"scales": S((48, 2))}, {"group_size": 64}, None),
    ("torchao", None, {"_weight_qdata": S((48, 128), "I8"), "_weight_scale": S((48,))}, {}, S((48, 128), "I8")),
    ("torchao", None, {"_weight_qdata": S((48, 128), "F8_E4M3"), "_weight_scale": S((48,))}, {},
     S((48, 128), "F8_E4M3")),
    ("torchao", None, {"_weight_qdata": S((48, 128), "U8"), "_weight_scale": S((48,))}, {}, None),
    ("torchao", None, {"_weight_qdata": S((48, 128)), "_weight_scale": S((48,))}, {}, None),
    ("torchao", None, {"_weight_qdata": S((48, 128), "I8")}, {}, None),
    ("torchao", None, {"_weight_scale": S((48,))}, {}, None),
    # 96 scales of groups of 64: 6,144 weights
    ("hqq", None, {"W_q": S((3072, 1), "U8"), "scale": S((1, 96))}, HQQ, S(None, "U8", 6144)),
    ("hqq", None, {"W_q": S((3072, 1), "U8"), "scale": S((1, 96))},
     {"quant_config": {"weight_quant_params": {"group_size": 1}}}, S(None, "U8", 96)),
    *(("hqq", None, {"W_q": S((3072, 1), "U8"), "scale": S((1, 96))},
       {"quant_config": {"weight_quant_params": {"group_size": x}}}, None) for x in (0, None, "64")),
    ("hqq", None, {"W_q": S((3072, 1), "U8")}, HQQ, None),
    ("hqq", None, {"scale": S((1, 96))}, HQQ, None),
    ("hqq", None, {"W_q": S((3072, 1), "U8"), "scale": S((1, 96))}, {}, None),
]  # fmt: skip


@pytest.mark.parametrize("packing", READERS)
def test_a_packing_is_read_or_not_at_all(packing: str) -> None:
    """The weight that the parts stand for, or nothing where one of them has another shape or type."""
    mine = [case for case in CASES if case[0] == packing]
    assert len(mine) > 4
    for number, (_, weight, parts, settings, expected) in enumerate(mine):
        found = READERS[packing](weight, parts, settings)
        assert (number, found) == (number, expected)


def test_the_packings_are_tried_in_this_order() -> None:
    """None takes what is another's, and every one has its cases."""
    assert [*dict.fromkeys(case[0] for case in CASES)] == [*READERS]
