"""How each packing of quantized weights is read from the shapes of its parts, and the config's bits where those fail.

Every reader takes the weight (where it has a tensor of its own), the parts beside it without their joint, and the
settings; it gives the weight that they stand for with its logical shape, or nothing where they do not add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

from atlas.checkpoint.listing import Shape, Stored

BITS = (2, 3, 4, 5, 6, 8)
Companions = Mapping[str, Stored]
Reader = Callable[[Stored | None, Companions, Mapping[str, Any]], Stored | None]
_NARROW = (16, 32)


def _shape(parts: Companions, name: str) -> Shape:
    """The shape of a part, empty where there is none."""
    found = parts.get(name)
    return found.shape or () if found is not None else ()


def _gptq(_: Stored | None, parts: Companions, __: Mapping[str, Any]) -> Stored | None:
    """GPTQ: [in x bits / 32, out] in int32; `g_idx` has one entry per input, else the zeros' width gives the bits."""
    packed, scales, zeros = _shape(parts, "qweight"), _shape(parts, "scales"), _shape(parts, "qzeros")
    if len(packed) < 2 or len(scales) < 2 or packed[-1] != scales[-1]:
        return None
    out, order = packed[-1], _shape(parts, "g_idx")
    bits = whole(32 * packed[-2], order[-1]) if order else whole(32 * zeros[-1], out) if zeros else None
    return None if bits not in BITS else Stored((*packed[:-2], out, 32 * packed[-2] // bits), "I32")


def _awq(_: Stored | None, parts: Companions, __: Mapping[str, Any]) -> Stored | None:
    """AWQ: [in, out x bits / 32] in int32."""
    packed, scales = _shape(parts, "qweight"), _shape(parts, "scales")
    if len(packed) < 2 or len(scales) < 2 or whole(32 * packed[-1], scales[-1]) not in BITS:
        return None
    return Stored((*packed[:-2], scales[-1], packed[-2]), "I32")


def _bnb4(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """Four bits of bitsandbytes, in one column of any type; the shape is data, so only the count is known."""
    if weight is None or weight.shape is None or "absmax" not in parts or "quant_map" not in parts:
        return None
    each = _HALVES.get(weight.dtype or "")
    return None if each is None else Stored(None, weight.dtype, each * prod(weight.shape))


_HALVES = {"U8": 2, "I8": 2, "BF16": 4, "F16": 4, "F32": 8}
"""How many four-bit weights an element of each type holds."""


def _bnb8(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """Eight bits of bitsandbytes: the weight as it is, one scale per row."""
    ok = weight is not None and weight.dtype == "I8" and weight.shape and _shape(parts, "SCB") == weight.shape[:1]
    return weight if ok else None


def _mxfp4_blocks(_: Stored | None, parts: Companions, __: Mapping[str, Any]) -> Stored | None:
    """MXFP4 as gpt-oss keeps it: blocks of 16 bytes hold 32 weights and have one scale."""
    blocks, scales = _shape(parts, "blocks"), _shape(parts, "scales")
    if len(blocks) < 3 or blocks[:-1] != scales:
        return None
    return Stored((*blocks[:-2], 2 * blocks[-2] * blocks[-1]), "U8")


def _fp8(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """FP8 weights with scales: one each, per row, or per block."""
    kept = any(p in parts for p in ("weight_scale", "weight_scale_inv", "scale", "scale_inv"))
    return weight if weight is not None and (weight.dtype or "").startswith("F8") and kept else None


def _unquantized(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """A width that is no multiple of the block: transformers keeps the weight as it was, and writes its scales."""
    wide = weight is not None and weight.dtype in ("BF16", "F16", "F32")
    return weight if wide and set(parts) == {"weight_scale_inv"} else None


def _two_a_byte(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """NVFP4 and MXFP4: two weights a byte along the inputs, a scale per 16 or 32 of them; experts may lie [in, out]."""
    values = parts.get("weight_packed", weight)
    scales = _shape(parts, "weight_scale") or _shape(parts, "scale") or _shape(parts, "scales")
    if values is None or not values.shape or not scales or values.dtype not in ("U8", "I8"):
        return None
    width = 2 * values.shape[-1]
    if scales[:-1] == values.shape[:-1] and whole(width, scales[-1]) in _NARROW:
        return Stored((*values.shape[:-1], width), values.dtype)
    across = (
        len(values.shape) == 3 and len(scales) == 3 and (scales[0], scales[2]) == (values.shape[0], values.shape[2])
    )
    if across and whole(2 * values.shape[1], scales[1]) in _NARROW:
        return Stored((values.shape[0], 2 * values.shape[1], values.shape[2]), values.dtype)
    return None


def _awq_bytes(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """ModelOpt's AWQ: two weights a byte along the outputs, a scale per output and group of inputs."""
    scales = _shape(parts, "weight_scale")
    if weight is None or weight.dtype != "U8" or weight.shape is None or len(weight.shape) != 2 or len(scales) != 2:
        return None
    rows, columns = 2 * weight.shape[0], weight.shape[1]
    return Stored((rows, columns), "U8") if scales[0] == rows and whole(columns, scales[1]) is not None else None


def _int8(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """Plain 8-bit integers with scales."""
    scaled = "weight_scale" in parts or "weight_scales" in parts
    return weight if weight is not None and weight.dtype == "I8" and scaled else None


def _packed_int32(_: Stored | None, parts: Companions, settings: Mapping[str, Any]) -> Stored | None:
    """compressed-tensors' pack-quantized: densely into int32 along the inputs.

    Bits and group stand in the config; of several groups, the one that the shapes fit.
    """
    packed, scales = _shape(parts, "weight_packed"), _shape(parts, "weight_scale")
    if len(packed) < 2 or not scales or parts["weight_packed"].dtype != "I32":
        return None
    fits = {w for bits, group in _stated(settings) if (w := _width(packed[-1], scales[-1], bits, group)) is not None}
    return Stored((*packed[:-1], fits.pop()), "I32") if len(fits) == 1 else None


def _width(packed: int, scales: int, bits: int, group: int | None) -> int | None:
    """The inputs that so many int32 and scales stand for, with these bits and this group; None where none do."""
    most = 32 * packed // bits
    if group is None:
        return most if scales == 1 else None
    width = min(most, scales * group)
    agree = -(-width * bits // 32) == packed and -(-width // group) == scales
    return width if agree else None


def _stated(settings: Mapping[str, Any]) -> Iterator[tuple[int, int | None]]:
    """Bits and group (None: one scale an output) of every group of a compressed-tensors config that packs numbers."""
    groups = settings.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        weights = _of(group, "weights")
        bits, size = _of(weights, "num_bits"), _of(weights, "group_size")
        if bits in BITS and _of(weights, "type") != "float":
            yield bits, size if type(size) is int and size > 0 else None


def _of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _mlx(weight: Stored | None, parts: Companions, settings: Mapping[str, Any]) -> Stored | None:
    """MLX: 32 / bits weights to a uint32, a scale (and a bias) per group along the inputs.

    Bits may differ by module.
    """
    scales = _shape(parts, "scales")
    if weight is None or not weight.shape or weight.dtype != "U32" or not scales or scales[:-1] != weight.shape[:-1]:
        return None
    for group in _groups(settings):
        width = scales[-1] * group
        if whole(32 * weight.shape[-1], width) in BITS:
            return Stored((*weight.shape[:-1], width), "U32")
    return None


def _groups(settings: Mapping[str, Any]) -> Iterator[int]:
    """The group sizes of an MLX config: the general one, and those of single modules."""
    each: list[Any] = [settings.get("group_size"), *(_of(v, "group_size") for v in settings.values())]
    yield from dict.fromkeys(g for g in each if type(g) is int and g > 0)


def _torchao(_: Stored | None, parts: Companions, __: Mapping[str, Any]) -> Stored | None:
    """Torchao's parts of a tensor: data of one element a weight, with its scale."""
    values = parts.get("_weight_qdata")
    plain = values is not None and (values.dtype == "I8" or (values.dtype or "").startswith("F8"))
    return values if plain and "_weight_scale" in parts else None


def _hqq(_: Stored | None, parts: Companions, settings: Mapping[str, Any]) -> Stored | None:
    """hqq: a scale for every group of weights, in whatever order they lie, so only the count is known."""
    scales = _shape(parts, "scale")
    group = _of(_of(settings.get("quant_config"), "weight_quant_params"), "group_size")
    known = "W_q" in parts and scales and type(group) is int and group > 0
    return Stored(None, parts["W_q"].dtype, prod(scales) * group) if known else None


def whole(a: int, b: int) -> int | None:
    """One number over another where that is a whole number."""
    return a // b if b and a % b == 0 else None


READERS: Mapping[str, Reader] = {
    "gptq": _gptq,
    "awq": _awq,
    "bitsandbytes 4-bit": _bnb4,
    "bitsandbytes 8-bit": _bnb8,
    "mxfp4": _mxfp4_blocks,
    "fp8": _fp8,
    "unquantized": _unquantized,
    "fp4, two a byte": _two_a_byte,
    "awq, two a byte": _awq_bytes,
    "int8": _int8,
    "pack-quantized": _packed_int32,
    "mlx": _mlx,
    "torchao": _torchao,
    "hqq": _hqq,
}
"""How each packing is read, in the order they are tried: none takes what is another's."""
