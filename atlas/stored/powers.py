"""FP8 and FP4 with scales that are powers of two, as DeepSeek-V4's files have them.

Attention, shared experts and what joins a drafting layer are F8 with an E8M0 scale for 128 x 128 weights; routed
experts are two weights a byte with an E8M0 scale for 32 of them (or F8 as the rest, by `expert_dtype`). Compressors,
their norms, routers, tables and heads stay in 16 bits; streams, sinks, positions and correction biases are F32, the
table that chooses experts by token I64. Types by name from a public loader's own copy of the release's layout; the
counts of elements are the Hub's.
"""

from __future__ import annotations

from collections.abc import Callable

from atlas.stored import modelopt
from atlas.stored.form import Form, Part, Unsaid, ceil
from atlas.stored.scheme import Context, Scheme
from atlas.stored.settings import Settings
from atlas.stored.units import EXPERT, GATE, HEAD, ROUTER, TABLE, Unit

_LEFT = (".compressor.", ".weights_proj.")
_WIDE = ("attn_sink", "sinks", ".ape", "position_bias", "correction_bias", "gate.bias")
_STREAMS = ("hc.", "hc_")
_CHOSEN = "tid2eid"
_BLOCK, _GROUP = 128, 32


def is_so(c: Context) -> bool:
    """Whether a model's own files are stored this way."""
    return (c.architecture or "").startswith("DeepseekV4For")


def scheme(s: Settings, c: Context) -> Scheme:
    """The form of every module. Raises `Unsaid`."""
    if s.get("weight_block_size") != [_BLOCK, _BLOCK] or s.get("scale_fmt") != "ue8m0":
        raise Unsaid("blocks other than 128 x 128 with scales that are powers of two are not described for this class")
    experts, others = _experts(s.get("expert_dtype") or c.expert_dtype), _elsewhere(s, c)

    def form(u: Unit) -> Form | None:
        if u.kind in (TABLE, HEAD, ROUTER, GATE) or any(x in u.name for x in _LEFT):
            return None
        if u.kind != EXPERT:
            return _block(u)
        return others(u) or experts(u)

    def dtype(u: Unit) -> str:
        return _type(u, c)

    return Scheme(form, dtype)


def _experts(stated: object) -> Callable[[Unit], Form]:
    """How routed experts are stored. Raises `Unsaid`."""
    found = {"fp4": _fp4, "fp8": _block}.get(str(stated))
    if found is None:
        raise Unsaid("expert_dtype is missing: nothing says whether experts have four bits or eight")
    return found


def _elsewhere(s: Settings, c: Context) -> Callable[[Unit], Form | None]:
    """The form of experts that ModelOpt quantized anew, where settings name it. Raises `Unsaid`."""
    if s.get("moe_quant_algo") is None:
        return lambda _: None
    return modelopt.by_module(s, c.dtype)


def _block(u: Unit) -> Form:
    scale = Part("scale", "F8_E8M0", (ceil(u.out, _BLOCK), ceil(u.into, _BLOCK)))
    return Form("fp8_block", 8, _BLOCK, "none", (Part("weight", "F8_E4M3", u.shape), scale))


def _fp4(u: Unit) -> Form:
    parts = Part("weight", "I8", (u.out, u.into // 2)), Part("scale", "F8_E8M0", (u.out, ceil(u.into, _GROUP)))
    return Form("fp4", 4, _GROUP, "two to a byte along in", parts)


def _type(u: Unit, c: Context) -> str:
    if u.name.endswith(_CHOSEN):
        return "I64"
    last = u.name.rpartition("layers.")[2].partition(".")[2] or u.name
    wide = u.name.endswith(_WIDE) or any(x in "." + last for x in ("." + w for w in _STREAMS))
    return "F32" if wide else c.dtype
