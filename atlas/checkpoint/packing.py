"""Quantized tensors of a checkpoint, unpacked to the parameters they stand for.

Several tensors that share a stem (`qweight`, `scales`, `qzeros`, ...) become the one weight they encode, with its
logical shape; what is left of them is counted apart as scales. Only shapes are used, and the config's bits or group
size where shapes leave them open. A packing that does not add up is left as it stands, so that it is reported and not
believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

Shape = tuple[int, ...]
BITS = (2, 3, 4, 5, 6, 8)


class Stored(NamedTuple):
    """A tensor as a header lists it. An index of files knows names alone; a packing may know a count and no shape."""

    shape: Shape | None = None
    dtype: str | None = None
    counted: int | None = None
    packing: str | None = None

    @property
    def elements(self) -> int | None:
        """How many parameters it holds, where that is known."""
        return self.counted if self.shape is None else prod(self.shape)


Listing = Mapping[str, Stored]


class Unpacked(NamedTuple):
    """A listing of logical tensors, what was set apart as scales, and how many weights each packing held."""

    listing: dict[str, Stored]
    scales: dict[str, Stored]
    packings: dict[str, int]


_BESIDE = (
    "qweight",
    "qzeros",
    "scales",
    "g_idx",
    "biases",
    "weight_packed",
    "weight_shape",
    "weight_zero_point",
    "weight_g_idx",
    "weight_scale",
    "weight_scale_inv",
    "weight_scale_2",
    "weight_scales",
    "weight_global_scale",
    "input_global_scale",
    "input_scale",
    "input_zero_point",
    "output_scale",
    "activation_scale",
    "k_scale",
    "v_scale",
    "q_scale",
    "kv_scale",
    "prob_scale",
    "scale",
    "SCB",
    "weight_format",
)
_ALWAYS = frozenset(
    ("input_scale", "output_scale", "activation_scale", "k_scale", "v_scale", "q_scale", "kv_scale", "prob_scale")
)
"""Scales of activations and caches: they may stand without a weight beside them."""
_PARTS = re.compile(
    rf"^(?P<stem>.+?)(?P<joint>\.weight\.|\.|_)(?P<part>absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+|blocks|{'|'.join(_BESIDE)})$"
)

Companions = dict[str, Stored]


def unpack(listing: Listing, quantization: Mapping[str, Any] | None = None) -> Unpacked:
    """The listing with every packing understood replaced by the weight it stands for.

    `quantization` is the config's own object.
    """
    found, rest = _gathered(listing)
    out, scales, packings = dict(rest), dict[str, Stored](), dict[str, int]()
    settings = quantization or {}
    for stem, parts in found.items():
        made = _unpacked(stem, parts, rest, settings)
        for name, full in _names(stem, parts).items():
            if made is not None or name in _ALWAYS:
                scales |= {} if name in _VALUES else {full: listing[full]}
            else:
                out[full] = listing[full]
        if made is not None:
            name, weight = made
            out[name] = weight
            packings[str(weight.packing)] = packings.get(str(weight.packing), 0) + 1
    return Unpacked(out, scales, packings)


_VALUES = frozenset(("qweight", "weight_packed", "blocks"))
"""Parts that hold the weights themselves; all others are scales."""


def _gathered(listing: Listing) -> tuple[dict[str, Companions], dict[str, Stored]]:
    """The companions by stem, and what is none."""
    found: dict[str, Companions] = {}
    rest: dict[str, Stored] = {}
    for name, entry in listing.items():
        match = _PARTS.match(name)
        if match is None or (match["joint"] == "_" and match["part"] not in ("blocks", "scales")):
            rest[name] = entry
        else:
            found.setdefault(match["stem"], {})[match["joint"] + match["part"]] = entry
    return found, rest


def _names(stem: str, parts: Companions) -> dict[str, str]:
    """The parts of a stem without their joint, and their full names."""
    return {p.removeprefix(".weight.").removeprefix(".").removeprefix("_"): stem + p for p in parts}


def _unpacked(
    stem: str, parts: Companions, rest: Mapping[str, Stored], settings: Mapping[str, Any]
) -> tuple[str, Stored] | None:
    """The weight that a stem's parts stand for, under its name; None where they do not add up."""
    plain = {p.removeprefix(".weight.").removeprefix(".").removeprefix("_"): s for p, s in parts.items()}
    name = stem if "blocks" in plain else f"{stem}.weight"
    weight = rest.get(name)
    if all(s.shape is None and s.dtype is None for s in parts.values()):
        return (name, Stored(packing="unread")) if weight is not None or _VALUES & plain.keys() else None
    for packing, read in _READERS.items():
        made = read(weight, plain, settings)
        if made is not None:
            return name, made._replace(packing=packing)
    return None


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
    bits = _whole(32 * packed[-2], order[-1]) if order else _whole(32 * zeros[-1], out) if zeros else None
    return None if bits not in BITS else Stored((*packed[:-2], out, 32 * packed[-2] // bits), "I32")


def _awq(_: Stored | None, parts: Companions, __: Mapping[str, Any]) -> Stored | None:
    """AWQ: [in, out x bits / 32] in int32."""
    packed, scales = _shape(parts, "qweight"), _shape(parts, "scales")
    if len(packed) < 2 or len(scales) < 2 or _whole(32 * packed[-1], scales[-1]) not in BITS:
        return None
    return Stored((*packed[:-2], scales[-1], packed[-2]), "I32")


def _bnb4(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """Four bits of bitsandbytes: two weights a byte in one column; the shape is data, so only the count is known."""
    if weight is None or weight.shape is None or "absmax" not in parts or "quant_map" not in parts:
        return None
    return Stored(None, weight.dtype, 2 * prod(weight.shape))


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
    kept = any(p in parts for p in ("weight_scale", "weight_scale_inv", "scale"))
    return weight if weight is not None and (weight.dtype or "").startswith("F8") and kept else None


def _two_a_byte(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """NVFP4 and MXFP4: two weights a byte, a scale per 16 or 32 of them."""
    values = parts.get("weight_packed", weight)
    if values is None or not values.shape or values.dtype not in ("U8", "I8"):
        return None
    width = 2 * values.shape[-1]
    scales = _shape(parts, "weight_scale") or _shape(parts, "scale") or _shape(parts, "scales")
    known = scales[:-1] == values.shape[:-1] and _whole(width, scales[-1]) in (16, 32) if scales else False
    return Stored((*values.shape[:-1], width), values.dtype) if known else None


def _int8(weight: Stored | None, parts: Companions, _: Mapping[str, Any]) -> Stored | None:
    """Plain 8-bit integers with scales."""
    return (
        weight
        if weight is not None and weight.dtype == "I8" and ("weight_scale" in parts or "weight_scales" in parts)
        else None
    )


def _packed_int32(_: Stored | None, parts: Companions, settings: Mapping[str, Any]) -> Stored | None:
    """compressed-tensors' pack-quantized: 32 / bits weights to an int32 along the inputs.

    The bits stand in the config.
    """
    packed, scales = _shape(parts, "weight_packed"), _shape(parts, "weight_scale")
    if len(packed) < 2 or not scales or parts["weight_packed"].dtype != "I32":
        return None
    fits = [b for b in _stated_bits(settings) if scales[-1] == 1 or packed[-1] * (32 // b) % scales[-1] == 0]
    return Stored((*packed[:-1], packed[-1] * (32 // fits[0])), "I32") if len(fits) == 1 else None


def _stated_bits(settings: Mapping[str, Any]) -> list[int]:
    """The weight widths of a compressed-tensors config."""
    groups = settings.get("config_groups")
    each = list(groups.values()) if isinstance(groups, dict) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    found = [_of(_of(group, "weights"), "num_bits") for group in each]  # pyright: ignore[reportUnknownVariableType]
    return sorted({b for b in found if b in BITS})


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
        if _whole(32 * weight.shape[-1], width) in BITS:
            return Stored((*weight.shape[:-1], width), "U32")
    return None


def _groups(settings: Mapping[str, Any]) -> Iterator[int]:
    """The group sizes of an MLX config: the general one, and those of single modules."""
    each: list[Any] = [settings.get("group_size"), *(_of(v, "group_size") for v in settings.values())]
    yield from dict.fromkeys(g for g in each if type(g) is int and g > 0)


def _whole(a: int, b: int) -> int | None:
    """One number over another where that is a whole number."""
    return a // b if b and a % b == 0 else None


_READERS = {
    "gptq": _gptq,
    "awq": _awq,
    "bitsandbytes 4-bit": _bnb4,
    "bitsandbytes 8-bit": _bnb8,
    "mxfp4": _mxfp4_blocks,
    "fp8": _fp8,
    "fp4, two a byte": _two_a_byte,
    "int8": _int8,
    "pack-quantized": _packed_int32,
    "mlx": _mlx,
}
"""How each packing is read, in the order they are tried: none takes what is another's."""
