"""FP8 as transformers reads it: blocks of 128 x 128 with a scale each, or one scale a tensor.

Two writers share the name: publishers (their files keep experts apart and leave out what their list names), and
transformers itself (it keeps a width that is no multiple of the block in 16 bits, and writes a scale for it all the
same; the scales of a layer's experts are one tensor each way, of the fused shape).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atlas.stored import kept, powers
from atlas.stored.form import Form, Part, Unsaid, ceil
from atlas.stored.matching import ends, skipped, texts
from atlas.stored.scheme import Context, Scheme
from atlas.stored.settings import Settings
from atlas.stored.units import EXPERT, GATE, HEAD, ROUTER, TABLE, Unit

_OF_TRANSFORMERS = ("modules_to_convert", "dequantize")
_LEFT = ("eh_proj", "weights_proj")
"""Linear layers that publishers leave in 16 bits without a word: what joins a drafting layer, an indexer's weights."""
_GATE, _UP = (".gate_proj", ".w1"), (".up_proj", ".w3")
_OF_MISTRAL = ("ministral3", "mistral3")
SIZES = 2


def scheme(s: Settings, c: Context) -> Scheme:
    """The form of every module. Raises `Unsaid`."""
    if s.get("activation_scheme") not in (None, "static", "dynamic"):
        raise Unsaid(f"activation_scheme {str(s.get('activation_scheme'))[:20]!r} is not described")
    if s.get("dequantize") is True:
        raise Unsaid("dequantize is true: the weights may have been saved wide")
    own = of_transformers(s)
    if powers.is_so(c) and not own:
        return powers.scheme(s, c)
    if s.get("moe_quant_algo") is not None:
        raise Unsaid("what stays wide, and in which types, beside experts of four bits is not said")
    block = _block(s.get("weight_block_size"))
    inputs = _inputs(s, c, block)
    left = texts(s.get("modules_to_not_convert") or s.get("ignored_layers"), "modules_to_not_convert")
    named = left or ["lm_head"]
    skips = skipped(named, c.version, wrapped=c.has_towers) if own else ends(named)

    def form(u: Unit) -> Form | None:
        if u.kind in (TABLE, HEAD, ROUTER) or u.is_conv1d or skips(u.module) or (not own and _is_left(u)):
            return None
        return inputs(_own(u, block, c) if own else _block_form(u, block), u)

    return Scheme(form, kept.router_and_bias(c) if own else kept.of_publisher(c))


def of_transformers(s: Settings) -> bool:
    """Whether transformers quantized the model itself: only it writes these keys."""
    return any(k in s.raw for k in _OF_TRANSFORMERS)


def _inputs(s: Settings, c: Context, block: tuple[int, int] | None) -> Callable[[Form, Unit], Form]:
    """Adds a scale for the inputs of every module, where those are static.

    transformers keeps it in F32 (`FP8Linear`); Mistral's own files have BF16 scalars for weights and inputs. Raises
    `Unsaid`.
    """
    if s.get("activation_scheme") != "static":
        return lambda form, _: form
    ours = c.model_type in _OF_MISTRAL and block is None
    if not ours and not of_transformers(s):
        raise Unsaid("static scales of activations are stored too, and their type is not said")
    dtype = c.dtype if ours else "F32"

    def added(form: Form, u: Unit) -> Form:
        if u.kind == EXPERT:
            raise Unsaid("how static scales of the experts' inputs are stored is not described")
        parts = tuple(p._replace(dtype=dtype) if p.what == "scale" else p for p in form.parts)
        return form._replace(parts=(*parts, Part("scale", dtype, ())))

    return added


def _is_left(u: Unit) -> bool:
    return u.kind == GATE or u.module.endswith(_LEFT)


def _block(stated: Any) -> tuple[int, int] | None:
    if stated is None:
        return None
    if not isinstance(stated, list) or len(stated) != SIZES or not all(type(n) is int and n > 0 for n in stated):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        raise Unsaid("weight_block_size is no pair of sizes")
    return stated[0], stated[1]  # pyright: ignore[reportUnknownVariableType]


def _block_form(u: Unit, block: tuple[int, int] | None) -> Form:
    """F8 weights, an F32 scale for each block or for all."""
    weight = Part("weight", "F8_E4M3", u.shape)
    if block is None:
        return Form("fp8_tensor", 8, None, "none", (weight, Part("scale", "F32", ())))
    scale = Part("scale", "F32", (ceil(u.out, block[0]), ceil(u.into, block[1])))
    return Form("fp8_block", 8, block[1], "none", (weight, scale))


def _own(u: Unit, block: tuple[int, int] | None, c: Context) -> Form:
    """As transformers writes it."""
    made = _block_form(u, block)
    if block is not None and (u.out % block[0] or u.into % block[1]):
        made = made._replace(scheme="unquantized", bits=16, parts=(Part("weight", c.dtype, u.shape), made.parts[1]))
    return _fused(u, block, made) if u.kind == EXPERT and c.fuses else made


def _fused(u: Unit, block: tuple[int, int] | None, made: Form) -> Form:
    """Weights apart, the scales of all experts in one tensor each way; gate and up share theirs, told of gate."""
    if block is None or u.stacked or u.out % block[0] or u.into % block[1]:
        raise Unsaid("how transformers writes the scales of experts of this shape is not described")
    if u.module.endswith(_UP):
        return made._replace(parts=made.parts[:1])
    rows = ceil(2 * u.out if u.module.endswith(_GATE) else u.out, block[0])
    scale = Part("scale", "F32", (u.copies, rows, ceil(u.into, block[1])), once=True)
    return made._replace(parts=(made.parts[0], scale))
