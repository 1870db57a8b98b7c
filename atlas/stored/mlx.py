"""MLX: weights packed densely into uint32 along the inputs, scales (and biases) per group; tables and heads too.

Single modules may have bits of their own, or stay. A width that is no multiple of the group stays in 16 bits; experts
of a layer lie in one tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from atlas.stored.form import Form, Part, Unsaid, bits_of
from atlas.stored.matching import spellings
from atlas.stored.scheme import Context, Scheme, keeps
from atlas.stored.settings import Settings
from atlas.stored.units import ROUTER, Unit
from schemas.vocabulary import Component

_MODES = {"affine": None, "mxfp4": 4, "mxfp8": 8, "nvfp4": 4}
_LATENT = ".kv_b_proj"
_MOST_GROUP = 1024


class _How(NamedTuple):
    bits: int
    group: int
    mode: str


def scheme(s: Settings, c: Context) -> Scheme:
    """The form of every module. Raises `Unsaid`."""
    general = _how(s.raw, None)

    def form(u: Unit) -> Form | None:
        if u.component is Component.TOWERS:
            raise Unsaid("whether the towers are quantized is not said by MLX's settings")
        own = next((s.raw[n] for n in spellings(u.module.replace("{e}", "0")) if n in s.raw), None)
        if own is False or (u.kind == ROUTER and u.own_class):
            return None
        how = general if own is None or own is True else _how(own, general)
        return None if u.into % how.group else _form(u, how, c)

    return Scheme(form, keeps(c.dtype), stacks_experts=True)


def _how(stated: object, general: _How | None) -> _How:
    """Bits, group and mode of an object of settings. Raises `Unsaid`."""
    if not isinstance(stated, Mapping):
        raise Unsaid("an entry of the quantization is no object")
    return _stated(cast("Mapping[str, Any]", stated), general)


def _stated(stated: Mapping[str, Any], general: _How | None) -> _How:
    mode, group = stated.get("mode") or "affine", stated.get("group_size")
    group = general.group if group is None and general is not None else group
    if mode not in _MODES:
        raise Unsaid(f"the mode {str(mode)[:40]!r} of MLX is not described")
    if type(group) is not int or not 0 < group <= _MOST_GROUP:
        raise Unsaid("group_size is no size")
    return _How(bits_of(stated.get("bits")), group, mode)


def _form(u: Unit, how: _How, c: Context) -> Form:
    packed = Part("weight", "U32", (u.out, u.into * how.bits // 32))
    times = _times(u, how, c)
    if how.mode == "affine":
        scale = Part("scale", c.dtype, (u.out, u.into // how.group))
        parts = (packed, scale, scale._replace(what="zero_point"))
        return Form(f"mlx_int{how.bits}", how.bits, how.group, "uint32 along in", parts, times=times)
    parts = (packed, Part("scale", "U8", (u.out, u.into // how.group)))
    return Form(f"mlx_{how.mode}", how.bits, how.group, "uint32 along in", parts, times=times)


def _times(u: Unit, how: _How, c: Context) -> int:
    """The projection out of the latent is kept as two, one for keys and one for values; as many weights in all."""
    if not u.module.endswith(_LATENT) or c.heads is None or c.value_dim is None:
        return 1
    keys = u.out // c.heads - c.value_dim
    if keys % how.group:
        raise Unsaid("the keys' half of kv_b_proj is no multiple of the group")
    return 2
