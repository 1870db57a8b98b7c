"""Attention to a source beside the text: an image's tokens in Llama 3.2 Vision.

A token of the source leaves K and V once; a token of the text leaves nothing and looks at the whole source. No config
says how long the source is, so that its bytes and its reads stand per source token, in no figure of the text. A step
of text alone passes such a layer by.
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Mixing, Part, Read, State, Tensor, part
from atlas.parts.attention import Gqa, head_dim, kind_of, kv_heads, read_gqa
from atlas.reading.config import View
from schemas.vocabulary import Component, Mixer, Role

A = Component.ATTENTION


@lru_cache(maxsize=1024)
def gated_cross(s: Gqa) -> Part:
    """Attention to a source, its queries and keys normed, its output and the network's behind a learned gate each."""
    q, kv = s.heads * s.head_dim, s.kv_heads * s.head_dim
    shapes = {"q": (q, s.d), "k": (kv, s.d), "v": (kv, s.d), "o": (s.d, q)}
    roles = {"q": Role.MATMUL, "k": Role.SOURCE, "v": Role.SOURCE, "o": Role.MATMUL}
    made = [Tensor(f"cross_attn.{x}_proj.weight", shape, A, roles[x]) for x, shape in shapes.items()]
    made += [Tensor(f"cross_attn.{x}_norm.weight", (s.head_dim,), A, Role.VECTOR) for x in ("q", "k")]
    made += [Tensor(f"cross_attn_{x}_gate", (1,), A, Role.VECTOR) for x in ("attn", "mlp")]
    kind = kind_of(s.heads, s.kv_heads)
    cross, hd = Mixer.CROSS_ATTENTION, s.head_dim
    info = Mixing(cross, "cross", kind, s.heads, s.kv_heads, hd, hd, position="nope", qk_norm="head")
    looked = Read(4 * q, 2 * kv, over="source")
    return part("attention.cross", made, (State("cross", 2 * kv, keys=kv),), (looked,), info)


def read_gated_cross(v: View) -> Part:
    """Attention to the image, as wide as the text's own."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    hd = head_dim(v, d, heads)
    return gated_cross(Gqa(d, heads, kv_heads(v, heads), hd, hd))


def read_molmo(v: View) -> Part:
    """Queries and keys normed per head (`qwen3`) or over all heads; norms may stand on the outputs (Molmo 2)."""
    wide = v.text("qk_norm_type") != "qwen3"
    v.derived("qk_norm", "full" if wide else "head", f"qk_norm_type is {'not ' if wide else ''}qwen3")
    if v.flag("norm_after"):
        v.derived("norm_placement", "post_sublayer", "norm_after is true")
    return read_gqa(v)
