"""compressed-tensors, as llm-compressor and AutoRound write it: groups of targets with formats, and what is ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from atlas.stored import kept
from atlas.stored.form import DTYPES, Form, Part, Unsaid, bits_of, ceil, group_of, head_apart, whole
from atlas.stored.matching import exact_or_re, texts
from atlas.stored.scheme import Context, Scheme, caches
from atlas.stored.settings import Settings
from atlas.stored.units import ROUTER, TABLE, Unit

_LINEAR = "Linear"


class _Group(NamedTuple):
    named: Callable[[str], bool]
    every: bool
    form: str
    weights: Mapping[str, Any]
    beside: tuple[tuple[str, str | None], ...]  # scales and zeros of static inputs and outputs, by what and own type
    inputs: bool


def scheme(s: Settings, c: Context) -> Scheme:
    """The form of every module. Raises `Unsaid`."""
    if _object(s.get("sparsity_config")).get("format") not in (None, "dense"):
        raise Unsaid("sparse weights are stored by their pattern, which the settings do not give")
    if _object(s.get("transform_config")).get("config_groups"):
        raise Unsaid("transform_config adds rotations to the weights, and which of them are stored is not said")
    ignored = texts(s.get("ignore"), "ignore")
    left, groups = exact_or_re(ignored), _groups(s)
    head_apart(is_tied=c.is_tied, taken=not left("lm_head") and any(g.every or g.named("lm_head") for g in groups))
    towers_left = any(_is_of_tower(n) for n in ignored)
    how = _Pack("I64" if s.get("version") is not None else "I32", dense=_dense(s.get("version")))

    def form(u: Unit) -> Form | None:
        if u.kind == TABLE or left(u.module) or (u.kind == ROUTER and (u.own_class or c.fuses)):
            return None
        if u.own_class and towers_left:
            return None
        group = next((g for g in groups if g.named(u.module)), None) or next(
            (g for g in groups if g.every and not u.is_conv1d), None
        )
        return None if group is None else _form(u, group, c.dtype, how)

    targets = tuple(g.named for g in groups if not g.every)
    added = caches(c, c.dtype, (1,)) if _keeps_scales(s.get("kv_cache_scheme")) else ()
    return Scheme(form, kept.bias_alone(c), added, targets, splits_experts=True, takes_subclasses=True)


class _Pack(NamedTuple):
    shape: str  # the type that the true shape is written in
    dense: bool  # whether weights of 3, 5 or 6 bits go on from one int32 to the next


_DENSE = (0, 18)
"""The release of compressed-tensors that began to; 0.17.1 still left the rest of every int32 empty."""


def _dense(version: Any) -> bool:
    """Whether the files were written by a release that packs densely; those that state none are older."""
    found = re.match(r"(\d+)\.(\d+)", version) if isinstance(version, str) else None
    return found is not None and (int(found[1]), int(found[2])) >= _DENSE


def _keeps_scales(stated: Any) -> bool:
    """Whether a scale of keys and one of values are stored for every layer. Raises `Unsaid`."""
    cache = _object(stated)
    if stated is not None and not isinstance(stated, dict):
        raise Unsaid("kv_cache_scheme is no object")
    if not cache or cache.get("dynamic") is True:
        return False
    if cache.get("strategy") not in (None, "tensor") or cache.get("symmetric") is False:
        raise Unsaid("scales of a cache that are not one a tensor, or have zeros beside them, are not described")
    return True


def _is_of_tower(name: str) -> bool:
    return any(w in name for w in ("vision", "visual", "audio"))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _groups(s: Settings) -> list[_Group]:
    stated = _object(s.get("config_groups"))
    if not stated:
        raise Unsaid("config_groups is missing: nothing says what is quantized, and how")
    return [_group(_object(g), s.get("format")) for g in stated.values()]


def _group(g: Mapping[str, Any], general: Any) -> _Group:
    form, weights = g.get("format") or general, _object(g.get("weights"))
    if not isinstance(form, str) or not weights:
        raise Unsaid("a group of config_groups has no format or no weights")
    _fits(form, weights)
    targets = texts(g.get("targets"), "targets")
    named, inputs = exact_or_re([t for t in targets if t != _LINEAR]), _object(g.get("input_activations"))
    beside = (*_static(inputs), *_static(_object(g.get("output_activations"))))
    return _Group(named, _LINEAR in targets, form, weights, beside, bool(inputs))


_OF_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "nvfp4-pack-quantized": {"type": "float", "num_bits": 4, "group_size": 16},
    "mxfp4-pack-quantized": {"type": "float", "num_bits": 4, "group_size": 32},
    "mxfp8-quantized": {"type": "float", "num_bits": 8, "group_size": 32},
    "float-quantized": {"type": "float", "num_bits": 8},
    "int-quantized": {"type": "int"},
    "pack-quantized": {"type": "int"},
}
"""What the weights of a group can only be in each format."""


def _fits(form: str, weights: Mapping[str, Any]) -> None:
    """Raises `Unsaid` where a group states numbers that its format does not hold."""
    for key, only in _OF_FORMATS.get(form, {}).items():
        if weights.get(key) not in (None, only):
            raise Unsaid(
                f"a group of format {form} states {key} {str(weights[key])[:20]}, which the format never holds"
            )


def _scale_type(weights: Mapping[str, Any], dtype: str) -> str:
    """The type of the scales: the model's, or what the group states. Raises `Unsaid`."""
    stated = weights.get("scale_dtype")
    found = dtype if stated is None else DTYPES.get(str(stated).removeprefix("torch."))
    if found is None:
        raise Unsaid(f"scale_dtype {str(stated)[:20]!r} is no type that is described for such scales")
    return found


def _static(stated: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What is stored for static activations: a scale in the model's type, and a zero where they are not symmetric."""
    if stated and stated.get("dynamic") is False:
        if stated.get("strategy") not in (None, "tensor", "tensor_group"):
            raise Unsaid("static scales of activations that are not one a tensor are not described")
        yield "scale", None
        if stated.get("symmetric") is False:
            yield "zero_point", "I8" if stated.get("type") == "int" else "F8_E4M3"


def _form(u: Unit, g: _Group, dtype: str, how: _Pack) -> Form:
    made = _FORMATS.get(g.form)
    if made is None:
        raise Unsaid(f"the format {g.form[:40]!r} of compressed-tensors is not described")
    return made(u, g, dtype, how)


def _nvfp4(u: Unit, g: _Group, dtype: str, how: _Pack) -> Form:
    """Two weights a byte, an F8 scale for 16 of them, a global F32 scale, and one for four-bit inputs."""
    del dtype, how
    scales = Part("scale", "F8_E4M3", (u.out, whole(u.into, 16)))
    total = (Part("scale", "F32", (1,)),) * (2 if g.inputs else 1)
    return Form(
        "nvfp4", 4, 16, "two to a byte along in", (Part("weight", "U8", (u.out, whole(u.into, 2))), scales, *total)
    )


def _mxfp4(u: Unit, g: _Group, dtype: str, how: _Pack) -> Form:
    del g, dtype, how
    parts = Part("weight", "U8", (u.out, whole(u.into, 2))), Part("scale", "U8", (u.out, whole(u.into, 32)))
    return Form("mxfp4", 4, 32, "two to a byte along in", parts)


def _mxfp8(u: Unit, g: _Group, dtype: str, how: _Pack) -> Form:
    del g, dtype, how
    return Form(
        "mxfp8", 8, 32, "none", (Part("weight", "F8_E4M3", u.shape), Part("scale", "U8", (u.out, whole(u.into, 32))))
    )


def _scales(u: Unit, w: Mapping[str, Any]) -> tuple[tuple[int, ...], int | None, str]:
    """The shape of the scales, the group along the inputs, and the strategy's word. Raises `Unsaid`."""
    strategy = w.get("strategy")
    if strategy == "tensor":
        return (1,), None, "tensor"
    if strategy == "channel":
        return (u.out, 1), None, "channel"
    if strategy == "group":
        group = group_of(w.get("group_size"), u.into)
        return (u.out, ceil(u.into, group)), group, "group"
    if strategy == "block":
        rows, columns = _block(w.get("block_structure"))
        return (ceil(u.out, rows), ceil(u.into, columns)), columns, "block"
    raise Unsaid(f"the strategy {str(strategy)[:40]!r} of compressed-tensors is not described")


def _block(stated: Any) -> tuple[int, int]:
    match stated:
        case [int() as rows, int() as columns] if rows > 0 and columns > 0:
            return rows, columns
        case _:
            raise Unsaid("block_structure is no pair of sizes")


def _plain(u: Unit, g: _Group, dtype: str, how: _Pack) -> Form:
    """One byte a weight, whatever its bits: F8 for floats, I8 for whole numbers."""
    del how
    scales, group, word = _scales(u, g.weights)
    bits, is_float = bits_of(g.weights.get("num_bits")), g.weights.get("type") == "float"
    own = _scale_type(g.weights, dtype)
    parts = [Part("weight", "F8_E4M3" if is_float else "I8", u.shape), Part("scale", own, scales)]
    if g.weights.get("symmetric") is False:
        parts.append(Part("zero_point", "I8", scales))
    parts += _beside(g, dtype)
    return Form(f"fp8_{word}" if is_float else f"int{bits}_{word}", bits, group, "none", tuple(parts))


def _beside(g: _Group, dtype: str) -> list[Part]:
    return [Part(what, own or dtype, (1,)) for what, own in g.beside]


def _packed(u: Unit, g: _Group, dtype: str, how: _Pack) -> Form:
    """Weights packed along the inputs into int32, the true shape beside them."""
    w = g.weights
    scales, group, word = _scales(u, w)
    bits = bits_of(w.get("num_bits"))
    parts = [
        Part("weight", "I32", (u.out, _words(u.into, bits, how))),
        Part("settings", how.shape, (2,)),
        Part("scale", _scale_type(w, dtype), scales),
    ]
    if w.get("symmetric") is False:
        if word not in ("group", "channel"):
            raise Unsaid("zeros that are one a tensor or block are not packed, and their type is not said")
        parts.append(Part("zero_point", "I32", (_words(u.out, bits, how), scales[-1])))
    if w.get("actorder") == "group":
        parts.append(Part("order", "I32", (u.into,)))
    parts += _beside(g, dtype)
    return Form(f"packed_int{bits}_{word}", bits, group, "int32 along in", tuple(parts))


def _words(n: int, bits: int, how: _Pack) -> int:
    """How many int32 hold so many weights: one after the other, or as many as fit into each."""
    return ceil(n * bits, 32) if how.dense else ceil(n, 32 // bits)


_FORMATS: dict[str, Callable[[Unit, _Group, str, _Pack], Form]] = {
    "nvfp4-pack-quantized": _nvfp4,
    "mxfp4-pack-quantized": _mxfp4,
    "mxfp8-quantized": _mxfp8,
    "pack-quantized": _packed,
    "float-quantized": _plain,
    "int-quantized": _plain,
    "naive-quantized": _plain,
}
