"""Experts kept apart by what a token shows: some for text, narrower ones for images (ERNIE 4.5 VL)."""

from __future__ import annotations

from functools import lru_cache

from atlas.layouts.common import entries
from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.ffn import Moe, activation, moe
from atlas.reading.config import View
from atlas.refusal import bad_value, not_derivable

APART = ("mlp.gate.", "mlp.experts.")


@lru_cache(maxsize=256)
def for_two(text: Part, vision: Part) -> Part:
    """The text's experts as usual; those of images are stored, and no token of text uses them."""
    more = tuple(t._replace(name=_of_images(t), touched=0) for t in vision.tensors if t.name.startswith(APART))
    return part("ffn.moe_by_modality", text.tensors + more, text.states, text.reads, text.info)


def _of_images(t: Tensor) -> str:
    return t.name.replace("mlp.", "mlp.vision_moe.", 1)


def read_for_two(v: View) -> Part:
    """Experts as the config states them: two widths, the text's first; shared experts are as wide as the text's."""
    widths = entries("moe_intermediate_size", v.need("moe_intermediate_size"))
    if len(widths) != 2 or any(type(w) is not int or w < 1 for w in widths):
        raise bad_value("moe_intermediate_size", widths, "two widths, of text and of images")
    if v.flag("ffn_bias"):
        raise not_derivable("use_bias is true: no published model has them, and which are stored is not known")
    n, d, experts = v.size("n_shared_experts"), v.count("hidden_size"), v.count("num_experts")
    top_k = v.count("num_experts_per_tok")
    text = Moe(d, widths[0], experts, top_k, True, activation(v), n * widths[0], n, correction_bias=True)
    return for_two(moe(text), moe(text._replace(d_ff=widths[1], shared=0, n_shared=0)))
