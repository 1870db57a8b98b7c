"""bitsandbytes: four bits in blocks of 64 weights (nf4 or fp4), or eight bits with a scale per output.

Four-bit weights lie in one column, two to a byte, with their scales, the 16 values and a small JSON text beside them;
with double quantization the text holds a mean written out in decimal, so its length is data.
"""

from __future__ import annotations

import json

from atlas.stored import kept
from atlas.stored.form import DTYPES, Form, Part, Unsaid, ceil, head_apart
from atlas.stored.matching import skipped, texts
from atlas.stored.scheme import Context, Scheme
from atlas.stored.settings import Settings
from atlas.stored.units import EXPERT, ROUTER, TABLE, Unit

_BLOCK, _NESTED, _VALUES, _CODES = 64, 256, 16, 256
_STORAGE = {"uint8": ("U8", 2), "bfloat16": ("BF16", 4), "float16": ("F16", 4), "float32": ("F32", 8)}
"""The type that four-bit weights are kept in, and how many of them one element holds."""
_WORDS = {v: k for k, v in DTYPES.items() if k in ("bfloat16", "float16", "float32")}


def scheme(s: Settings, c: Context) -> Scheme:
    """The form of every module. Raises `Unsaid`."""
    eight, four = s.get("load_in_8bit") is True, s.get("load_in_4bit") is True
    if eight == four:
        raise Unsaid("neither load_in_4bit nor load_in_8bit says how many bits there are")
    if eight and s.get("llm_int8_has_fp16_weight") is True:
        raise Unsaid("llm_int8_has_fp16_weight keeps the weights wide, and how they are saved then is not said")
    listed = texts(s.get("llm_int8_skip_modules"), "llm_int8_skip_modules")
    skips = skipped(listed or ["lm_head"], c.version, wrapped=c.has_towers)
    head_apart(is_tied=c.is_tied, taken=bool(listed) and not skips("lm_head"))
    storage = _STORAGE.get(str(s.get("bnb_4bit_quant_storage") or "uint8"))
    if storage is None:
        raise Unsaid("bnb_4bit_quant_storage is no type that is described")
    kind, double = str(s.get("bnb_4bit_quant_type") or "fp4"), s.get("bnb_4bit_use_double_quant") is True

    def form(u: Unit) -> Form | None:
        if u.kind == TABLE or skips(u.module) or untouched(u, c):
            return None
        return _eight(u) if eight else _four(u, kind, storage, c, double=double)

    return Scheme(form, kept.norms_of_old(c))


def untouched(u: Unit, c: Context) -> bool:
    """Whether a tool for linear layers passes a module by: experts in one tensor, and routers of their own class."""
    if u.kind == EXPERT:
        return u.stacked or c.fuses
    return u.kind == ROUTER and (u.own_class or c.fuses or c.model_type == "gpt_oss")


def _eight(u: Unit) -> Form:
    parts = Part("weight", "I8", u.shape), Part("scale", "F32", (u.out,)), Part("settings", "U8", ())
    return Form("bnb_int8", 8, None, "none", parts)


def _four(u: Unit, kind: str, storage: tuple[str, int], c: Context, *, double: bool) -> Form:
    """Weights, scales per 64, the values of the 16 codes, and the text; scales in eight bits where they are nested."""
    blocks, values = ceil(u.out * u.into, _BLOCK), Part("scale", "F32", (_VALUES,))
    weight = Part("weight", storage[0], (ceil(u.out * u.into, storage[1]), 1))
    if not double:
        text = Part("settings", "U8", (len(_text(u, kind, c)),))
        return Form(
            f"bnb_{kind}",
            4,
            _BLOCK,
            "two to a byte in a column",
            (weight, Part("scale", "F32", (blocks,)), values, text),
        )
    nested = Part("scale", "F32", (ceil(blocks, _NESTED),)), Part("scale", "F32", (_CODES,))
    parts = (weight, Part("scale", "U8", (blocks,)), values, *nested)
    return Form(f"bnb_{kind}_double", 4, _BLOCK, "two to a byte in a column", parts, loose=1)


def _text(u: Unit, kind: str, c: Context) -> str:
    """What stands beside the weights: how to read them."""
    shape = [u.into, u.out] if u.transposed else [u.out, u.into]
    return json.dumps({"quant_type": kind, "blocksize": _BLOCK, "dtype": _WORDS[c.dtype], "shape": shape})
