"""torchao, hqq, FBGEMM's FP8 and MXFP4 as gpt-oss has it; quanto, whose files transformers cannot write, is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atlas.stored import kept
from atlas.stored.bitsandbytes import untouched
from atlas.stored.form import Form, Part, Unsaid, bits_of, ceil, group_of, whole
from atlas.stored.matching import ends, inside, skipped, texts
from atlas.stored.scheme import Context, Scheme, keeps
from atlas.stored.settings import Settings
from atlas.stored.units import EXPERT, HEAD, ROUTER, TABLE, Unit

_TEN = 10
_HQQ_WORDS = 13 + 7 + 11
"""hqq's settings as text: the type it computes in, the packing, the type it unpacks to."""
_HQQ_FLAGS = 9
_LEFT = "modules_to_not_convert"


def hqq(s: Settings, c: Context) -> Scheme:
    """Packed along the groups, scale and zero in F32 for each, the settings beside every module, the head in F32."""
    stated = _object(_object(s.get("quant_config")).get("weight_quant_params"))
    bits, group = bits_of(stated.get("nbits"), (1, 2, 3, 4, 8)), group_of(stated.get("group_size"), 0)
    whole_config = _object(s.get("quant_config"))
    nested = whole_config.get("scale_quant_params") or whole_config.get("zero_quant_params")
    if not group or stated.get("axis") != 1 or nested:
        raise Unsaid("hqq without a group, along the outputs or with quantized scales or zeros is not described")
    if c.has_experts or c.has_towers:
        raise Unsaid("which modules hqq takes of experts and towers is not described")
    skips = inside(texts(s.get("skip_modules"), "skip_modules") or ["lm_head"])

    def form(u: Unit) -> Form | None:
        return None if u.kind in (TABLE, HEAD) or u.is_conv1d or skips(u.module) else _hqq(u, bits, group)

    def dtype(u: Unit) -> str:
        return "F32" if u.kind == HEAD else c.dtype

    return Scheme(form, dtype)


def _hqq(u: Unit, bits: int, group: int) -> Form:
    groups = ceil(u.out * u.into, group)
    packed = (
        Part("weight", "I32", (ceil(groups, _TEN), group))
        if bits == 3
        else Part("weight", "U8", (groups * bits // 8, group))
    )
    scale, number, flag = Part("scale", "F32", (groups, 1)), Part("settings", "I32", ()), Part("settings", "U8", ())
    words = tuple(Part("settings", "U8", (n,)) for n in (13, 7, 11))
    more = (Part("settings", "I64", (2,)), number, number, number, *words, *(flag,) * _HQQ_FLAGS)
    return Form(
        f"hqq_int{bits}", bits, group, "bytes across groups", (packed, scale, scale._replace(what="zero_point"), *more)
    )


def torchao(s: Settings, c: Context) -> Scheme:
    """Quantized tensors as their parts: data, scale, zero point."""
    if s.get("include_input_output_embeddings"):
        raise Unsaid("torchao over the embeddings is not described")
    if c.is_tied and s.get("untie_embedding_weights") is True:
        raise Unsaid("untie_embedding_weights parts a tied head from its table, and how both are stored is not said")
    maker = _torchao(_object(_object(s.get("quant_type")).get("default")), c)
    skips = skipped(texts(s.get(_LEFT), _LEFT) or ["lm_head"], c.version, wrapped=c.has_towers, tail=".weight")

    def form(u: Unit) -> Form | None:
        return None if u.kind == TABLE or u.is_conv1d or skips(u.module) or untouched(u, c) else maker(u)

    return Scheme(form, kept.norms_of_old(c))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _torchao(stated: Mapping[str, Any], c: Context) -> Callable[[Unit], Form]:
    """The form by the class of the settings. Raises `Unsaid`."""
    kind, data = stated.get("_type"), _object(stated.get("_data"))
    if kind in ("Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig") and data.get("group_size") is None:
        return lambda u: _rows(u, "int8", "I8", "F32", zeros=True)
    if kind in ("Float8WeightOnlyConfig", "Float8DynamicActivationFloat8WeightConfig"):
        return lambda u: _rows(u, "fp8", "F8_E4M3", "F32", zeros=False)
    if kind in ("IntxWeightOnlyConfig", "Int8DynamicActivationIntxWeightConfig"):
        return _intx(data, c)
    raise Unsaid(f"the configuration {str(kind)[:40]!r} of torchao is not described")


def _rows(u: Unit, word: str, dtype: str, scale: str, *, zeros: bool) -> Form:
    one = (u.out, 1)
    parts = Part("weight", dtype, u.shape), Part("scale", scale, one), Part("zero_point", "I8", one)
    return Form(f"torchao_{word}", 8, None, "none", parts if zeros else parts[:2])


def _intx(data: Mapping[str, Any], c: Context) -> Callable[[Unit], Form]:
    """Few bits, each weight in a byte of its own; scales in the model's type, per row or per group."""
    if _object(data.get("intx_packing_format")).get("_data") != "UNPACKED_TO_INT8":
        raise Unsaid("packed few-bit weights of torchao are not described")
    if data.get("scale_dtype") is not None or data.get("weight_scale_dtype") is not None:
        raise Unsaid("scales of a type of their own are not described for torchao")
    grain = _object(data.get("granularity") or data.get("weight_granularity"))
    stated = _object(grain.get("_data"))
    if grain.get("_type") not in ("PerGroup", "PerAxis"):
        raise Unsaid("the granularity of torchao's settings is not described")

    def form(u: Unit) -> Form:
        group = group_of(stated.get("group_size"), u.into)
        shape = (u.out, ceil(u.into, group))
        parts = Part("weight", "I8", u.shape), Part("scale", c.dtype, shape), Part("zero_point", "I8", shape)
        return Form("torchao_intx", 8, group, "a byte each", parts)

    return form


def mxfp4(s: Settings, c: Context) -> Scheme:
    """Routed experts as blocks of 16 bytes with a scale each, everything else as it was."""
    listed = texts(s.get(_LEFT), _LEFT)
    if not listed:
        raise Unsaid("modules_to_not_convert is empty: transformers writes the same for experts that it unpacked")
    skips = ends(listed)

    def form(u: Unit) -> Form | None:
        if u.kind != EXPERT or skips(u.module):
            return None
        parts = Part("weight", "U8", (u.out, whole(u.into, 32), 16)), Part("scale", "U8", (u.out, whole(u.into, 32)))
        return Form("mxfp4", 4, 32, "two to a byte along in", parts)

    return Scheme(form, keeps(c.dtype))


def fbgemm(s: Settings, c: Context) -> Scheme:
    """F8 weights with an F32 scale for every output (`FbgemmFp8Linear` of transformers). Raises `Unsaid`."""
    named = {n.rpartition(".")[0] for n in texts(s.get(_LEFT), _LEFT) if ".self_attn." in n}
    if 0 < len(named) < c.attention_layers:
        raise Unsaid(f"the list leaves the attention of {len(named)} of {c.attention_layers} layers: it is cut short")
    skips = ends(texts(s.get(_LEFT), _LEFT) or ["lm_head"])

    def form(u: Unit) -> Form | None:
        if u.kind in (TABLE, HEAD) or skips(u.module):
            return None
        if u.kind in (EXPERT, ROUTER):
            raise Unsaid("how FBGEMM's FP8 is kept for experts and routers is not described")
        scale = Part("scale", "F32", (u.out, 1))
        return Form("fp8_channel", 8, None, "none", (Part("weight", "F8_E4M3", u.shape), scale))

    def dtype(u: Unit) -> str:
        if u.name.endswith("_proj.bias"):
            raise Unsaid("in which type FBGEMM's layers keep their biases is not said")
        return c.dtype

    return Scheme(form, dtype)


def quanto(s: Settings, c: Context) -> Scheme:
    """Refused."""
    del s, c
    raise Unsaid("quanto keeps its weights in no form that a settings file describes")
