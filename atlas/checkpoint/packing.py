"""Quantized tensors of a checkpoint, unpacked to the parameters they stand for.

Several tensors that share a stem (`qweight`, `scales`, `qzeros`, ...) become the one weight they encode, with its
logical shape; what is left of them is counted apart as scales. Only shapes are used, and the config's bits or group
size where shapes leave them open. A packing that does not add up is left as it stands, so that it is reported and not
believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from atlas.checkpoint.listing import Listing, Shape, Stored
from atlas.checkpoint.unpackers import READERS, Companions

__all__ = ["Listing", "Shape", "Stored", "Unpacked", "unpack"]


class Unpacked(NamedTuple):
    """A listing of logical tensors, what was set apart as scales, and how many weights each packing held.

    `schemes` has the packing of every tensor that belongs to one, by its own name; `unknown` the stems whose parts
    add up to no packing that is known here.
    """

    listing: dict[str, Stored]
    scales: dict[str, Stored]
    packings: dict[str, int]
    schemes: dict[str, str]
    unknown: frozenset[str] = frozenset()


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
    "pre_quant_scale",
    "output_scale",
    "activation_scale",
    "k_scale",
    "v_scale",
    "q_scale",
    "kv_scale",
    "prob_scale",
    "scale_inv",
    "scale",
    "SCB",
    "weight_format",
    "_weight_qdata",
    "_weight_scale",
    "_weight_zero_point",
    "W_q",
)
_ALWAYS = frozenset((
    "input_scale", "output_scale", "activation_scale", "k_scale", "v_scale", "q_scale", "kv_scale", "prob_scale",
    "pre_quant_scale", "scale_inv",
))  # fmt: skip
"""Scales of activations, caches and experts held apart: they may stand without a weight beside them."""
_PARTS = re.compile(
    rf"^(?P<stem>.+?)(?P<joint>\.weight\.|\.|_)(?P<part>absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+|blocks|{'|'.join(_BESIDE)})$"
)
_OF_STACKS = ("blocks", "scales", "weight_scale", "weight_scale_2", "input_scale", "scale_inv", "weight_scale_inv")
"""Parts of a stack of experts, joined to its name by an underscore."""
_OF_HQQ = frozenset((
    "zero", "scale", "shape", "axis", "group_size", "nbits", "channel_wise", "compute_dtype", "encoded_state_dict",
    "offload_meta", "optimize", "packing", "quant_scale", "quant_zero", "round_zero", "stores_quant_config",
    "unpack_view_dtype", "view_as_float",
))  # fmt: skip
_VALUES = frozenset(("qweight", "weight_packed", "blocks", "_weight_qdata", "W_q"))
"""Parts that hold the weights themselves; all others are scales."""
Parts = dict[str, tuple[str, Stored]]
"""The parts of a stem by what they are, each with its full name."""


def unpack(listing: Listing, quantization: Mapping[str, Any] | None = None) -> Unpacked:
    """The listing with every packing understood replaced by the weight it stands for.

    `quantization` is the config's own object.
    """
    found, rest = _gathered(listing)
    made = Unpacked(dict(rest), {}, {}, {})
    unknown: set[str] = set()
    for stem, parts in found.items():
        weight = _unpacked(stem, parts, rest, quantization or {})
        _sort(made, parts, understood=weight is not None)
        if weight is None:
            unknown |= {stem} if parts.keys() - _ALWAYS else set()
        else:
            _enter(made, parts, *weight)
    return made._replace(unknown=frozenset(unknown))


def _sort(made: Unpacked, parts: Parts, *, understood: bool) -> None:
    """Set scales apart; what is not understood stays as it stands."""
    for what, (full, entry) in parts.items():
        if not understood and what not in _ALWAYS:
            made.listing[full] = entry
        elif what not in _VALUES:
            made.scales[full] = entry


def _enter(made: Unpacked, parts: Parts, name: str, weight: Stored) -> None:
    """Put the weight in the place of its parts."""
    packing = str(weight.packing)
    made.listing[name] = weight
    made.schemes.update(dict.fromkeys([name, *(full for full, _ in parts.values())], packing))
    if packing != "unquantized":
        made.packings[packing] = made.packings.get(packing, 0) + 1


def _gathered(listing: Listing) -> tuple[dict[str, Parts], dict[str, Stored]]:
    """The companions by stem, and what is none."""
    of_hqq = {n.removesuffix(".W_q") for n in listing if n.endswith(".W_q")}
    found: dict[str, Parts] = {}
    rest: dict[str, Stored] = {}
    for name, entry in listing.items():
        split = next(_split(name, of_hqq), None)
        if split is None:
            rest[name] = entry
        else:
            stem, part = split
            found.setdefault(stem, {})[part] = (name, entry)
    return found, rest


def _split(name: str, of_hqq: set[str]) -> Iterator[tuple[str, str]]:
    """A companion's stem and what it is."""
    before, _, last = name.rpartition(".")
    if last in _OF_HQQ and before in of_hqq:
        yield before, last
    match = _PARTS.match(name)
    if match is not None and (match["joint"] != "_" or _is_of_stack(match["stem"], match["part"])):
        yield match["stem"], match["part"]


def _is_of_stack(stem: str, part: str) -> bool:
    return part in ("blocks", "scales") or (part in _OF_STACKS and ".experts." in stem)


def _unpacked(
    stem: str, parts: Parts, rest: Mapping[str, Stored], settings: Mapping[str, Any]
) -> tuple[str, Stored] | None:
    """The weight that a stem's parts stand for, under its name; None where they do not add up."""
    plain: Companions = {what: entry for what, (_, entry) in parts.items()}
    name = stem if "blocks" in plain or stem in rest else f"{stem}.weight"
    weight = rest.get(name)
    if all(s.shape is None and s.dtype is None for s in plain.values()):
        return (name, Stored(packing="unread")) if weight is not None or _VALUES & plain.keys() else None
    for packing, read in READERS.items():
        made = read(weight, plain, settings)
        if made is not None:
            return name, made._replace(packing=packing)
    return None
