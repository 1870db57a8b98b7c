"""Quantized tensors unpacked to the weights they stand for, each packing by hand with its arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
from shrunk import Tensors, checkpoints, held

from atlas.checkpoint.packing import Stored, unpack
from schemas.vocabulary import Check

Q = "model.layers.0.self_attn.q_proj"
LLAMA = checkpoints()["llama"]


def packed(
    parts: dict[str, tuple[str, tuple[int, ...]]], settings: dict[str, Any] | None = None, stem: str = "a.x"
) -> dict[str, Stored]:
    """What the parts of one stem become."""
    return unpack({stem + k: Stored(s, d) for k, (d, s) in parts.items()}, settings).listing


# One matrix of 48 outputs and 128 inputs (6,144 weights) in every packing; groups of 64 inputs where it has groups.
PACKINGS: dict[str, tuple[dict[str, tuple[str, tuple[int, ...]]], dict[str, Any]]] = {
    # 4 bits: 8 weights to an int32 along the inputs, 128 / 8 = 16 rows; zeros along the outputs, 48 / 8 = 6
    "gptq 4": (
        {
            ".qweight": ("I32", (16, 48)),
            ".qzeros": ("I32", (2, 6)),
            ".scales": ("F16", (2, 48)),
            ".g_idx": ("I32", (128,)),
        },
        {},
    ),
    # 3 bits: 128 x 3 / 32 = 12 rows; 48 x 3 / 32 is 4.5 words for the zeros, so they are padded to 5 and the order
    # gives the width
    "gptq 3": (
        {
            ".qweight": ("I32", (12, 48)),
            ".qzeros": ("I32", (2, 5)),
            ".scales": ("F16", (2, 48)),
            ".g_idx": ("I32", (128,)),
        },
        {},
    ),
    # 8 bits without an order: 128 x 8 / 32 = 32 rows, zeros 48 x 8 / 32 = 12
    "gptq 8": ({".qweight": ("I32", (32, 48)), ".qzeros": ("I32", (2, 12)), ".scales": ("F16", (2, 48))}, {}),
    # AWQ packs the outputs: 48 / 8 = 6 columns
    "awq": ({".qweight": ("I32", (128, 6)), ".qzeros": ("I32", (2, 6)), ".scales": ("F16", (2, 48))}, {}),
    "int8": ({".weight": ("I8", (48, 128)), ".SCB": ("F32", (48,)), ".weight_format": ("U8", ())}, {}),
    "fp8": ({".weight": ("F8_E4M3", (48, 128)), ".weight_scale_inv": ("F32", (1, 1)), ".input_scale": ("F32", ())}, {}),
    # NVFP4: two weights a byte, a scale per 16 inputs
    "nvfp4": (
        {
            ".weight": ("U8", (48, 64)),
            ".weight_scale": ("F8_E4M3", (48, 8)),
            ".weight_scale_2": ("F32", ()),
            ".input_scale": ("F32", ()),
        },
        {},
    ),
    "nvfp4 packed": (
        {
            ".weight_packed": ("U8", (48, 64)),
            ".weight_scale": ("F8_E4M3", (48, 8)),
            ".weight_global_scale": ("F32", (1,)),
        },
        {},
    ),
    # compressed-tensors: 8 weights of 4 bits to an int32 along the inputs
    "pack-quantized": (
        {".weight_packed": ("I32", (48, 16)), ".weight_scale": ("BF16", (48, 2)), ".weight_shape": ("I64", (2,))},
        {"config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 64}}}},
    ),
    # MLX: 4 bits, 128 x 4 / 32 = 16 words; 6 bits: 128 x 6 / 32 = 24 words
    "mlx 4": (
        {".weight": ("U32", (48, 16)), ".scales": ("F16", (48, 2)), ".biases": ("F16", (48, 2))},
        {"group_size": 64, "bits": 4},
    ),
    "mlx 6": (
        {".weight": ("U32", (48, 24)), ".scales": ("F16", (48, 2)), ".biases": ("F16", (48, 2))},
        {"group_size": 64, "bits": 4},
    ),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_packed_matrix_is_its_logical_shape(packing: str) -> None:
    """A matrix of 48 outputs and 128 inputs is that matrix, whatever it is packed as, and nothing else is left."""
    parts, settings = PACKINGS[packing]
    found = packed(parts, settings)
    assert {k: v.shape for k, v in found.items()} == {"a.x.weight": (48, 128)}


def test_bitsandbytes_keeps_a_count_and_no_shape() -> None:
    """4-bit bitsandbytes stores 6,144 weights as 3,072 bytes in one column.

    The shape is data, so only the count is compared.
    """
    parts = {
        ".weight": ("U8", (3072, 1)), ".weight.absmax": ("U8", (96,)), ".weight.quant_map": ("F32", (16,)),
        ".weight.nested_absmax": ("F32", (1,)), ".weight.nested_quant_map": ("F32", (256,)),
        ".weight.quant_state.bitsandbytes__nf4": ("U8", (80,)),
    }  # fmt: skip
    found = packed(parts)
    assert list(found) == ["a.x.weight"]
    assert (found["a.x.weight"].shape, found["a.x.weight"].elements) == (None, 6144)


def test_mxfp4_blocks_are_thirty_two_weights_each() -> None:
    """Gpt-oss: 4 experts, 96 rows, 2 blocks of 16 bytes are [4, 96, 64]."""
    found = unpack(
        {"e.gate_up_proj_blocks": Stored((4, 96, 2, 16), "U8"), "e.gate_up_proj_scales": Stored((4, 96, 2), "U8")}
    )
    assert found.listing["e.gate_up_proj"].shape == (4, 96, 64)
    assert found.packings == {"mxfp4": 1}


def test_a_packing_that_does_not_add_up_is_left_as_it_stands() -> None:
    """Zeros of the wrong width, a missing scale, or an MLX matrix whose group size nobody states.

    Nothing is unpacked.
    """
    torn = {".qweight": ("I32", (16, 48)), ".qzeros": ("I32", (2, 7)), ".scales": ("F16", (2, 48))}
    assert set(packed(torn)) == {"a.x" + k for k in torn}
    assert set(packed({".qweight": ("I32", (16, 48))})) == {"a.x.qweight"}
    unstated = PACKINGS["mlx 4"][0]
    assert packed(unstated)["a.x.weight"].shape == (48, 16)


def test_a_tensor_that_is_merely_called_scale_stays() -> None:
    """A weight of the model named scale, with no packed weight beside it, is no quantization scale."""
    assert set(packed({".scale": ("F32", (32,))})) == {"a.x.scale"}


def quantized(bits: int) -> Tensors:
    """The shrunk llama with every projection in GPTQ's form: inputs x bits / 32 rows, groups of 16 inputs."""
    made: Tensors = {}
    for name, (dtype, shape) in LLAMA.tensors.items():
        if not name.endswith("_proj.weight"):
            made[name] = (dtype, shape)
            continue
        out, width = shape
        stem = name.removesuffix(".weight")
        made |= {
            f"{stem}.qweight": ("I32", (width * bits // 32, out)),
            f"{stem}.qzeros": ("I32", (width // 16, out * bits // 32)),
            f"{stem}.scales": ("F16", (width // 16, out)), f"{stem}.g_idx": ("I32", (width,)),
        }  # fmt: skip
    return made


def test_a_quantized_checkpoint_is_exact_and_its_scales_stand_apart() -> None:
    """A whole checkpoint in GPTQ: 14 matrices unpacked, the model exact, scales apart."""
    found = held(LLAMA.config, quantized(4))
    assert (found.check, dict(found.packings)) == (Check.EXACT, {"gptq": 14})
    # scales, zeros and order of one layer, groups of 16. q and o: 2x32 + 2x4 + 32 = 104 each; k and v: 2x16 + 2x2 +
    # 32 = 68 each; gate and up: 2x48 + 2x6 + 32 = 140 each; down: 3x32 + 3x4 + 48 = 156. Together 208 + 136 + 280 +
    # 156 = 780, twice.
    assert found.apart == {"scales": 1560}


def test_a_wrong_config_of_a_quantized_checkpoint_is_noticed() -> None:
    """With intermediate_size 40 the unpacked matrices of 48 are misshaped: three in each layer."""
    assert len(held(LLAMA.config | {"intermediate_size": 40}, quantized(4)).differences) == 6


def test_fused_experts_in_mxfp4_agree_although_their_blocks_run_the_other_way() -> None:
    """Gpt-oss stores experts as [in, out] in bf16 and as [out, in / 32 blocks] in MXFP4: both are the same weights."""
    one = checkpoints()["gpt_oss"]
    config = one.config | {"hidden_size": 32, "intermediate_size": 64}
    tensors: Tensors = {}
    for name, (dtype, shape) in one.tensors.items():
        if name.endswith("experts.gate_up_proj"):  # 2 x 64 rows of 32 inputs: one block
            tensors |= {f"{name}_blocks": ("U8", (4, 128, 1, 16)), f"{name}_scales": ("U8", (4, 128, 1))}
        elif name.endswith("experts.down_proj"):  # 32 rows of 64 inputs: two blocks
            tensors |= {f"{name}_blocks": ("U8", (4, 32, 2, 16)), f"{name}_scales": ("U8", (4, 32, 2))}
        elif name.endswith("gate_up_proj_bias"):
            tensors[name] = (dtype, (4, 128))
        else:
            tensors[name] = (dtype, shape)
    found = held(config, tensors)
    assert (found.differences, found.check, dict(found.packings)) == ((), Check.EXACT, {"mxfp4": 4})
