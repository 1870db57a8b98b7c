"""ModelOpt's exports, by the name of the algorithm; MIXED_PRECISION names each module with its own.

The settings stand in config.json, or in hf_quant_config.json alone (before about 2026). A file that says nothing of
what stayed in 16 bits, though something did, says too little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from atlas.stored import kept
from atlas.stored.form import Form, Part, Unsaid, ceil, group_of, head_apart, whole
from atlas.stored.matching import shell, spellings, texts
from atlas.stored.scheme import Context, Scheme, caches
from atlas.stored.settings import Settings
from atlas.stored.units import GATE, ROUTER, TABLE, Unit

_SCALAR = Part("scale", "F32", ())
_TWO = (_SCALAR, _SCALAR)
_BLOCK = 128
_FUSED = ("gpt_oss", "llama4_text")
"""Classes whose experts it exports as one tensor each way; of all others it writes every expert by itself."""
_PRE_SCALED = ("down_proj", "o_proj")
"""The layers before which the scale of the inputs cannot be folded into a norm."""


class _How(NamedTuple):
    group: int
    pre_scaled: bool
    dtype: str


Maker = Callable[[Unit, _How], Form]


def scheme(s: Settings, c: Context) -> Scheme:
    """The form of every module. Raises `Unsaid`."""
    algorithm = s.get("quant_algo")
    if not isinstance(algorithm, str):
        raise Unsaid("quant_algo is missing: nothing says how the weights are stored")
    left = _left(s)
    layers = _object(s.get("quantized_layers"))
    of = _by_module(layers) if algorithm == "MIXED_PRECISION" else None
    if of is None:
        _maker(algorithm)
        _undisputed(s, algorithm)
    head_apart(is_tied=c.is_tied, taken=not left("lm_head") and (of is None or of("lm_head") is not None))
    pre = s.get("pre_quant_scale") is True

    def form(u: Unit) -> Form | None:
        if u.kind == TABLE or (u.kind in (ROUTER, GATE) and of is None) or left(u.module):
            return None
        if u.is_conv1d:
            raise Unsaid("whether ModelOpt takes GPT-2's own kind of layer is not described")
        stated = {"quant_algo": algorithm, "group_size": s.get("group_size")} if of is None else of(u.module)
        if stated is None:
            return None
        return _maker(stated.get("quant_algo"))(u, _How(_group(stated, u), pre, c.dtype))

    kv = s.get("kv_cache_scheme") or s.get("kv_cache_quant_algo")
    added = caches(c, "F32", ()) if kv else ()
    fused = c.model_type in _FUSED
    return Scheme(form, kept.router_and_bias(c), added, splits_experts=not fused, drops_buffers=True)


_BITS_OF = {"NVFP4": 4, "W4A16_NVFP4": 4, "MXFP4": 4, "W4A16_AWQ": 4, "FP8": 8, "FP8_PB_WO": 8, "MXFP8": 8}


def _undisputed(s: Settings, algorithm: str) -> None:
    """Raises `Unsaid` where the groups beside an algorithm state other bits or another group of weights."""
    bits, group = _BITS_OF.get(algorithm.upper()), s.get("group_size") or _GROUPS.get(algorithm.upper())
    for each in _object(s.get("config_groups")).values():
        weights = _object(_object(each).get("weights"))
        for key, only in (("num_bits", bits), ("group_size", group)):
            if only is not None and weights.get(key) not in (None, only):
                raise Unsaid(f"quant_algo is {algorithm[:40]}, and a group states {key} {str(weights[key])[:20]}")


def by_module(s: Settings, dtype: str) -> Callable[[Unit], Form | None]:
    """The form of what `quantized_layers` names; None for all else. Raises `Unsaid`."""
    of = _by_module(_object(s.get("quantized_layers")))

    def form(u: Unit) -> Form | None:
        stated = of(u.module)
        how = None if stated is None else _How(_group(stated, u), pre_scaled=False, dtype=dtype)
        return None if stated is None or how is None else _maker(stated.get("quant_algo"))(u, how)

    return form


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _left(s: Settings) -> Callable[[str], bool]:
    """What stayed as it was beside routers. Raises `Unsaid` where nothing is named: the head always did."""
    listed = s.get("exclude_modules") if s.get("ignore") is None else s.get("ignore")
    named = texts(listed, "exclude_modules")
    if not named and not s.get("quantized_layers"):
        raise Unsaid("the list of modules left in 16 bits is empty, though some always are")
    return shell(named)


def _by_module(layers: Mapping[str, Any]) -> Callable[[str], Mapping[str, Any] | None]:
    """The settings of a module by its name, or by the name of what it stands in. Raises `Unsaid` for an empty list."""
    if not layers:
        raise Unsaid("MIXED_PRECISION without quantized_layers: nothing says which module is stored how")
    known = {name: _object(stated) for name, stated in layers.items()}

    def of(module: str) -> Mapping[str, Any] | None:
        for name in spellings(module.replace("{e}", "0")):
            at = name
            while at:
                if at in known:
                    return known[at]
                at = at.rpartition(".")[0]
        return None

    return of


def _group(stated: Mapping[str, Any], u: Unit) -> int:
    found = stated.get("group_size")
    return group_of(_GROUPS.get(str(stated.get("quant_algo")).upper()) if found is None else found, u.into)


_GROUPS = {"NVFP4": 16, "W4A16_NVFP4": 16, "W4A8_NVFP4_FP8": 32, "MXFP4": 32, "W4A8_MXFP4_FP8": 32, "MXFP8": 32}


def _maker(algorithm: object) -> Maker:
    found = _ALGORITHMS.get(str(algorithm).upper())
    if found is None:
        raise Unsaid(f"the algorithm {str(algorithm)[:40]!r} of ModelOpt is not described")
    return found


def _nvfp4(u: Unit, how: _How) -> Form:
    """Two weights a byte, F8 scales, a scale over those and one for the inputs; fused experts share the two."""
    once = u.stacked
    two = tuple(p._replace(once=once) for p in _TWO)
    parts = Part("weight", "U8", (u.out, whole(u.into, 2))), Part("scale", "F8_E4M3", (u.out, whole(u.into, how.group)))
    return Form("nvfp4", 4, how.group, "two to a byte along in", (*parts, *two))


def _nvfp4_weights(u: Unit, how: _How) -> Form:
    """The same where inputs stay wide: no scale for them."""
    made = _nvfp4(u, how)
    return made._replace(parts=made.parts[:-1])


def _fp8(u: Unit, how: _How) -> Form:
    del how
    two = tuple(p._replace(once=u.stacked) for p in _TWO)
    return Form("fp8_tensor", 8, None, "none", (Part("weight", "F8_E4M3", u.shape), *two))


def _fp8_block(u: Unit, how: _How) -> Form:
    del how
    scale = Part("scale", "F32", (ceil(u.out, _BLOCK), ceil(u.into, _BLOCK)))
    return Form("fp8_block", 8, _BLOCK, "none", (Part("weight", "F8_E4M3", u.shape), scale))


def _fp8_channel(u: Unit, how: _How) -> Form:
    del how
    return Form("fp8_channel", 8, None, "none", (Part("weight", "F8_E4M3", u.shape), Part("scale", "F32", (u.out,))))


def _mxfp4(u: Unit, how: _How) -> Form:
    parts = Part("weight", "U8", (u.out, whole(u.into, 2))), Part("scale", "U8", (u.out, whole(u.into, how.group)))
    return Form("mxfp4", 4, how.group, "two to a byte along in", parts)


def _mxfp8(u: Unit, how: _How) -> Form:
    parts = Part("weight", "F8_E4M3", u.shape), Part("scale", "U8", (u.out, whole(u.into, how.group)))
    return Form("mxfp8", 8, how.group, "none", parts)


def _awq(u: Unit, how: _How) -> Form:
    """Two weights a byte along the outputs, F32 scales per group, one for the inputs where it could not be folded."""
    parts = [Part("weight", "U8", (whole(u.out, 2), u.into)), Part("scale", "F32", (u.out, ceil(u.into, how.group)))]
    if how.pre_scaled and u.module.endswith(_PRE_SCALED):
        parts.append(Part("scale", how.dtype, (u.into,)))
    return Form("awq", 4, how.group, "two to a byte along out", tuple(parts))


def _awq_fp8(u: Unit, how: _How) -> Form:
    made = _awq(u, how)
    return made._replace(parts=(*made.parts, *_TWO))


def _smooth(u: Unit, how: _How) -> Form:
    """INT8 with a scale per output, one for the inputs, and one for each of them (SmoothQuant)."""
    scales = Part("scale", "F32", (u.out,)), _SCALAR, Part("scale", how.dtype, (u.into,))
    return Form("int8_channel", 8, None, "none", (Part("weight", "I8", u.shape), *scales))


_ALGORITHMS: dict[str, Maker] = {
    "NVFP4": _nvfp4,
    "W4A16_NVFP4": _nvfp4_weights,
    "W4A8_NVFP4_FP8": _nvfp4,
    "FP8": _fp8,
    "FP8_PB_WO": _fp8_block,
    "FP8_PER_CHANNEL_PER_TOKEN": _fp8_channel,
    "MXFP4": _mxfp4,
    "W4A8_MXFP4_FP8": _mxfp4,
    "MXFP8": _mxfp8,
    "W4A16_AWQ": _awq,
    "W4A8_AWQ": _awq_fp8,
    "W8A8_SQ_PER_CHANNEL": _smooth,
}
