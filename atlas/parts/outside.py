"""What a few families have outside the stack beside a decoder's usual ends: gates, added rows, ends of drafters."""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.feeding import matrices
from atlas.parts.norms import vector
from atlas.parts.towers import Weights, tensors
from schemas.vocabulary import Component, Role

X = Component.OTHER


@lru_cache(maxsize=64)
def drafter(d: int, target: int, centroids: int, vocab: int) -> tuple[Part, ...]:
    """Two projections from and to the width of a drafter's target; centroids of an ordered table, where there are."""
    shapes = {"pre_projection": (d, 2 * target), "post_projection": (target, d)}
    made = [part("projection", [Tensor(f"{n}.weight", s, X) for n, s in shapes.items()])]
    if centroids:
        order = Tensor("masked_embedding.token_ordering", (vocab,), Component.BUFFERS, Role.LOOKUP)
        made.append(part("head.centroids", [Tensor("masked_embedding.centroids.weight", (centroids, d), X), order]))
    return tuple(made)


@lru_cache(maxsize=64)
def conditioning(d: int, d_ff: int, layers: int) -> Part:
    """The network that conditions a canvas on its own last guess (DiffusionGemma).

    Encoder and decoder share every weight; the scales of layers are buffers, and both stacks keep them.
    """
    name = "model.decoder.self_conditioning"
    made = matrices(name, d, d_ff, gated=True, bias=False, component=Component.FFN_DENSE)
    made.append(vector(f"{name}.pre_norm.weight", d, Component.NORM))
    return part("canvas", [*made, vector("model.encoder.layer_scalars", layers, Component.BUFFERS)])


@lru_cache(maxsize=64)
def codebooks(d: int, codes: int, books: int) -> Part:
    """A table and a head over the codes of every codebook: a token looks up one of each (OmniVoice)."""
    rows = books * codes
    table = Tensor("audio_embeddings.weight", (1, d), Component.EMBEDDING, Role.LOOKUP, rows, books)
    offsets = vector("codebook_layer_offsets", books, Component.BUFFERS)
    return part("codebooks", [table, Tensor("audio_heads.weight", (rows, d), Component.UNEMBEDDING), offsets])


@lru_cache(maxsize=64)
def scores(d: int, layers: int) -> Part:
    """One score after each of so many layers."""
    return part("head", [Tensor("lm_head.{e}.linear_head.weight", (1, d), X, Role.MATMUL, layers, layers)])


@lru_cache(maxsize=64)
def text_table(d: int, rows: int, width: int) -> Part:
    """A table of text beside one of codes, and two matrices from its width to the hidden state's (Qwen3-TTS)."""
    shapes = {"linear_fc1": (width, width), "linear_fc2": (d, width)}
    made = [Tensor("model.text_embedding.weight", (rows, width), Component.EMBEDDING, Role.LOOKUP)]
    made += [Tensor(f"text_projection.{n}.weight", s, Component.EMBEDDING) for n, s in shapes.items()]
    made += [vector(f"text_projection.{n}.bias", s[0], Component.EMBEDDING) for n, s in shapes.items()]
    return part("embedding.text", made)


KINDS = {Component.EMBEDDING: "embedding", Component.UNEMBEDDING: "head"}
"""What a part of such modules is called; any other stands beside the stack under its own name."""


@lru_cache(maxsize=4096)
def modules(name: str, times: int, weights: tuple[Weights, ...], role: str, component: str) -> Part:
    """Equal modules of a model outside its stack, `times` of them; a vector multiplies nothing, whatever the role."""
    counted, made = Component(component), list[Tensor]()
    for w in weights:
        for t in tensors(w):
            plain = t.role is not Role.MATMUL or (w.kind in ("tensor", "buffer") and role == Role.MATMUL)
            own = Role.LOOKUP if t.role is Role.LOOKUP else Role.VECTOR if plain else Role(role)
            copies = times * t.stored
            kept = t.component if t.component is Component.BUFFERS else counted
            made.append(Tensor(t.name.replace("{i}", "{e}"), t.shape, kept, own, copies, copies))
    return part(KINDS.get(counted, f"beside.{name}"), made)
