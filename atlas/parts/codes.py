"""A second, smaller decoder inside a speech model: it writes the other codes of a frame after the talker's first one.

It stands beside the stack: its caches live for one frame and are in no figure of the sequence's own. Weights count once
as stored, and as often as they multiply in one frame: codes - 1 steps, the first of two positions (Qwen3-TTS).
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.norms import vector
from schemas.vocabulary import Component, Role

X = Component.OTHER
LAYER = "code_predictor.model.layers.{l}."


@lru_cache(maxsize=64)
def stack(attention: Part, network: Part, width: int, layers: int, steps: int) -> Part:
    """The layers of the predictor, each used once a step and once more for the first of two positions."""
    norms = [vector(f"{n}.weight", width, X) for n in ("input_layernorm", "post_attention_layernorm")]
    made = [
        t._replace(name=LAYER + t.name, component=X, stored=layers, touched=layers * steps)
        for t in (*attention.tensors, *network.tensors, *norms)
    ]
    return part("codes.stack", made)


@lru_cache(maxsize=64)
def around(d: int, width: int, vocab: int, others: int) -> Part:
    """A table and a head per code, the final norm, and a projection where the predictor is narrower than the talker."""
    made = [
        Tensor("code_predictor.model.codec_embedding.{e}.weight", (vocab, d), X, Role.LOOKUP, others, others),
        Tensor("code_predictor.lm_head.{e}.weight", (vocab, width), X, Role.MATMUL, others, others),
        vector("code_predictor.model.norm.weight", width, X),
    ]
    if d != width:
        made.append(Tensor("code_predictor.small_to_mtp_projection.weight", (width, d), X))
        made.append(vector("code_predictor.small_to_mtp_projection.bias", width, X))
    return part("codes.around", made)
