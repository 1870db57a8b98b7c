"""GPTQ, AWQ and AutoRound: whole numbers packed into int32, with zeros and scales per group of inputs.

They pack the linear layers of the decoder; routers, gates of shared experts, heads and towers stay, and what the
settings name. Settings may give single modules other bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from atlas.stored import kept
from atlas.stored.form import Form, Part, Unsaid, bits_of, ceil, group_of, head_apart, whole
from atlas.stored.matching import expression, inside, spellings, texts
from atlas.stored.scheme import Context, Scheme, keeps
from atlas.stored.settings import Settings
from atlas.stored.units import GATE, HEAD, ROUTER, TABLE, Unit
from schemas.vocabulary import APART

PLAIN = 16
GPTQ, ROUND, AWQ = "gptq", "round", "awq"
_BITS = (2, 3, 4, 8)
_PACKINGS = {
    "auto_gptq": GPTQ,
    "auto_awq": AWQ,
    "auto_round:auto_gptq": ROUND,
    "auto_round:auto_awq": AWQ,
    "auto_round": ROUND,
}
_LAYOUTS = (None, "gptq", "gptq_v2", "gemm")
_AUTOROUND = "auto-round"
_OF_ROUNDED = "BF16"
"""What AutoRound leaves the rest in: into the config it writes float16, and casts nothing to it."""


class Own(NamedTuple):
    """What settings say of one module: bits and group."""

    bits: Any
    group: Any


def scheme(s: Settings, c: Context) -> Scheme:
    """The form of every module. Raises `Unsaid`."""
    if s.get("is_marlin_format") is True:
        raise Unsaid("the files are laid out for the Marlin kernel, and what they hold beside the weights is not said")
    packing, own = _packing(s), _chosen(s, c)
    maker = _maker(s.get("data_type"), packing, _scale(s, c, packing))

    def form(u: Unit) -> Form | None:
        found = own(u)
        return None if found is None or found.bits == PLAIN else maker(u, found)

    return Scheme(form, _types(s, c, form), splits_experts=True)


def _packing(s: Settings) -> str:
    """Which way weights are packed. Raises `Unsaid`."""
    for key in ("checkpoint_format", "version", "format"):
        if s.get(key) not in _LAYOUTS and not isinstance(s.get(key), int | float):
            raise Unsaid(f"the layout {str(s.get(key))[:40]!r} is not described")
    stated = s.get("packing_format")
    found = s.method if stated is None else _PACKINGS.get(str(stated))
    if found not in (GPTQ, ROUND, AWQ):
        raise Unsaid(f"the packing {str(stated)[:40]!r} is not described")
    return found


def _scale(s: Settings, c: Context, packing: str) -> str:
    """The type of the scales: F16, but GPTQModel's AWQ keeps the model's."""
    return c.dtype if packing == AWQ and s.get("checkpoint_format") is not None else "F16"


def _types(s: Settings, c: Context, form: Callable[[Unit], Form | None]) -> Callable[[Unit], str]:
    """Biases of packed modules become F16 where a packed layer holds them.

    GPTQModel's AWQ, and AutoRound where it rounds files without a model, leave them as they were.
    """
    rounded = s.get("autoround_version") is not None and s.get("model_free") is not True
    kept_as = kept.router_alone(c._replace(dtype=_OF_ROUNDED)) if rounded else keeps(c.dtype)
    of_files = s.method == _AUTOROUND and s.get("model_free") is True
    halves = not of_files and not (s.method == AWQ and s.get("checkpoint_format") is not None)

    def dtype(u: Unit) -> str:
        packed = halves and u.name.endswith(".bias") and form(_weight_of(u)) is not None
        return "F16" if packed else kept_as(u)

    return dtype


def _weight_of(bias: Unit) -> Unit:
    """The linear layer that a bias belongs to, as far as its name goes."""
    return bias._replace(name=bias.name.removesuffix("bias") + "weight", kind="linear", shape=(*bias.shape, 128))


def _chosen(s: Settings, c: Context) -> Callable[[Unit], Own | None]:
    """Which modules are packed, with how many bits. Raises `Unsaid`."""
    general = Own(bits_of(s.get("bits") if s.get("bits") is not None else s.get("w_bit"), _BITS), _general_group(s))
    _of_decoder_alone(s)
    left = inside(texts(s.get("modules_to_not_convert"), "modules_to_not_convert"))
    rules, named = [*_rules(s)], _in_block(s.get("modules_in_block_to_quantize"))
    head = s.get("lm_head") is True or s.get("quant_lm_head") is True
    head_apart(is_tied=c.is_tied, taken=head)

    def own(u: Unit) -> Own | None:
        names = spellings(u.module.replace("{e}", "0"))
        if u.kind in (TABLE, ROUTER, GATE) or u.component in APART:
            return _left_wide(s, names)
        if left(u.module) or (u.kind != HEAD and not named(u)):
            return None
        for taken, stated in rules:
            if any(taken(n) for n in names):
                return _override(stated, general)
        return None if u.kind == HEAD and not head else general

    return own


_TOWERS = ("vis", "audio", "image", "tower")
"""What the names of blocks beside the language model have in them."""


def _of_decoder_alone(s: Settings) -> None:
    """Raises `Unsaid` where AutoRound was told to pack blocks of towers too."""
    for key in ("block_name_to_quantize", "to_quant_block_names"):
        if any(word in str(s.get(key)) for word in _TOWERS):
            raise Unsaid(f"{key} names blocks of a tower, and which of their modules are packed is not said")


def _left_wide(s: Settings, names: tuple[str, ...]) -> None:
    """Tables, routers and towers stay; raises `Unsaid` where settings give one of them, by its name, fewer bits."""
    for name in names:
        bits = _object(_object(s.get("extra_config")).get(name)).get("bits", PLAIN)
        if bits not in (PLAIN, 2 * PLAIN):
            raise Unsaid(f"extra_config packs {name[:80]}, and modules of its kind stay wide by rule")


def _general_group(s: Settings) -> Any:
    return s.get("q_group_size") if s.get("group_size") is None else s.get("group_size")


def _override(stated: Mapping[str, Any] | None, general: Own) -> Own | None:
    if stated is None:
        return None
    bits, group = stated.get("bits", general.bits), stated.get("group_size", general.group)
    return Own(PLAIN, group) if bits == PLAIN or bits == 2 * PLAIN else Own(bits_of(bits, _BITS), group)


Rule = tuple[Callable[[str], object], Mapping[str, Any] | None]


def _rules(s: Settings) -> Iterator[Rule]:
    """What is said of single modules, by pattern or by name: their own settings, or None for left as they are."""
    for pattern, stated in _object(s.get("dynamic")).items():
        skip = pattern.startswith("-:")
        found = expression(pattern.removeprefix("-:").removeprefix("+:"))
        yield found.match, None if skip else _object(stated)
    for name, stated in _object(s.get("extra_config")).items():
        yield (lambda n, name=name: n == name), _object(stated)
        if any(character in name for character in "*\\^$"):
            yield expression(name).fullmatch, _object(stated)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _in_block(stated: Any) -> Callable[[Unit], bool]:
    """The modules of a layer that are packed, where they are listed."""
    if not isinstance(stated, list):
        return lambda _: True
    flat: list[Any] = []
    for each in stated:  # pyright: ignore[reportUnknownVariableType]
        flat += each if isinstance(each, list) else [each]  # pyright: ignore[reportUnknownArgumentType]
    tails = tuple("." + t for t in texts(flat, "modules_in_block_to_quantize"))
    return lambda u: bool(tails) and u.module.replace("{e}", "0").endswith(tails)


Maker = Callable[[Unit, Own], Form]


def _maker(stated: Any, packing: str, scale: str) -> Maker:
    """The form by the type of the numbers. Raises `Unsaid`."""
    kind = "int" if stated is None else str(stated)
    if kind == "int":
        return lambda u, own: _packed(u, own, packing, scale)
    if kind in ("mx_fp", "mx_fp4", "mx_fp_rceil"):
        return lambda u, _: _microscaled(u)
    raise Unsaid(f"the data_type {kind[:40]!r} is not described")


def _microscaled(u: Unit) -> Form:
    parts = Part("weight", "U8", (u.out, whole(u.into, 2))), Part("scale", "U8", (u.out, whole(u.into, 32)))
    return Form("mxfp4", 4, 32, "two to a byte along in", parts)


def _packed(u: Unit, own: Own, packing: str, scale: str) -> Form:
    """`qweight`, `qzeros`, `scales`, and for GPTQ the group of every input."""
    bits, group = own.bits, group_of(own.group, u.into)
    groups = ceil(u.into, group)
    along_out = packing == AWQ
    packed = (u.into, whole(u.out * bits, 32)) if along_out else (whole(u.into * bits, 32), u.out)
    parts = [
        Part("weight", "I32", packed),
        Part("zero_point", "I32", (groups, ceil(u.out * bits, 32))),
        Part("scale", scale, (groups, u.out)),
    ]
    if packing == GPTQ:
        parts.append(Part("order", "I32", (u.into,)))
    word = {GPTQ: "gptq", AWQ: "awq", ROUND: "autoround"}[packing]
    return Form(f"{word}_int{bits}", bits, group, f"int32 along {'out' if along_out else 'in'}", tuple(parts))
