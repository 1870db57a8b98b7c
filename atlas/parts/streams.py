"""What stands beside the sublayers: residual streams and how they are mixed, low-rank paths, embeddings per layer.

Hyper-connections: DeepSeek-V4, section 2.2 (Xie et al. 2026). Alternating updates: Baykal et al. 2023
(arXiv 2301.13310); the low-rank path is LAuReL (arXiv 2411.07501).
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.norms import norm, vector
from schemas.vocabulary import Component, Role

E = Component.EMBEDDING
N = Component.NORM
X = Component.OTHER


@lru_cache(maxsize=256)
def connection(d: int, streams: int, mixes: bool, *, normed: bool = False) -> Part:
    """The mixing before one sublayer; `normed` where a norm over all streams has weights.

    Where streams are not mixed among each other, only what goes in and out of each is computed.
    """
    outputs = streams * (streams + 2) if mixes else 2 * streams
    return part(
        "hyper.connection",
        [
            Tensor("hc.fn", (outputs, streams * d), X),
            Tensor("hc.base", (outputs,), X, Role.VECTOR),
            Tensor("hc.scale", (3 if mixes else 2,), X, Role.VECTOR),
            *[Tensor("hc.norm.weight", (streams * d,), X, Role.VECTOR)] * normed,
        ],
    )


@lru_cache(maxsize=256)
def connection_head(d: int, streams: int) -> Part:
    """The mixing of all streams to one, before the final norm."""
    return part(
        "hyper.head",
        [
            Tensor("model.hc_head.hc_fn", (streams, streams * d), X),
            Tensor("model.hc_head.hc_base", (streams,), X, Role.VECTOR),
            Tensor("model.hc_head.hc_scale", (1,), X, Role.VECTOR),
        ],
    )


@lru_cache(maxsize=256)
def altup(d: int, streams: int, rank: int) -> Part:
    """Prediction and correction between `streams` streams, and the low-rank path of `rank`.

    The router is asked twice: before the prediction and before the correction.
    """
    return part(
        "altup",
        [
            Tensor("altup.modality_router.weight", (streams, d), X, touched=2),
            Tensor("altup.router_norm.weight", (d,), N, Role.VECTOR),
            Tensor("altup.prediction_coefs.weight", (streams * streams, streams), X),
            Tensor("altup.correction_coefs.weight", (streams, streams), X),
            Tensor("altup.correct_output_scale", (d,), X, Role.VECTOR),
            Tensor("laurel.linear_left.weight", (rank, d), X),
            Tensor("laurel.linear_right.weight", (d, rank), X),
            Tensor("laurel.post_laurel_norm.weight", (d,), N, Role.VECTOR),
        ],
    )


@lru_cache(maxsize=64)
def altup_streams(d: int, n: int) -> Part:
    """A projection into and out of every stream but the first."""
    names, others = ("altup_projections", "altup_unembed_projections"), n - 1
    made = [Tensor(f"model.{x}.{{i}}.weight", (d, d), X, stored=others, touched=others) for x in names]
    return part("altup.streams", made)


@lru_cache(maxsize=1)
def no_residual() -> Part:
    """A sublayer that takes no earlier results."""
    return part("residual.none", [])


@lru_cache(maxsize=64)
def residual(name: str, d: int) -> Part:
    """Norm and scores by which a sublayer weighs earlier blocks' results (Kimi K3)."""
    scores = Tensor(f"{name}_proj.weight", (1, d), Component.OTHER)
    return part("residual.blocks", [vector(f"{name}_norm.weight", d, Component.NORM), scores])


@lru_cache(maxsize=256)
def layer_input(d: int, width: int, scalar: bool) -> Part:
    """Gate, projection and norm of a layer's own embedding, where it has a width, and the layer's scale."""
    made = [Tensor("layer_scalar", (1,), Component.BUFFERS, Role.VECTOR)] * scalar
    if width:
        made += [
            Tensor("per_layer_input_gate.weight", (width, d), E),
            Tensor("per_layer_projection.weight", (d, width), E),
            Tensor("post_per_layer_input_norm.weight", (d,), N, Role.VECTOR),
        ]
    return part("embedding.per_layer", made)


@lru_cache(maxsize=256)
def layer_tables(d: int, width: int, vocab: int, layers: int) -> tuple[Part, ...]:
    """The table of all layers' embeddings, the projection to them, and its norm."""
    made = [
        Tensor("model.embed_tokens_per_layer.weight", (vocab, layers * width), E, Role.LOOKUP),
        Tensor("model.per_layer_model_projection.weight", (layers * width, d), E),
    ]
    return part("embedding.tables", made), norm("model.per_layer_projection_norm", width, "rmsnorm", False)


@lru_cache(maxsize=256)
def low_rank(d: int, streams: int, rank: int, injects: bool) -> Part:
    """A mixing whose weights come through a bottleneck; `injects` where an output goes back to all streams."""
    wide = streams * d
    made = [
        Tensor("hc.hc_norm.weight", (wide,), X, Role.VECTOR),
        Tensor("hc.input_mix_weight_down.weight", (rank, wide), X),
        Tensor("hc.input_mix_weight_up.weight", (wide, rank), X),
    ]
    return part("hyper.low_rank", made + [Tensor("hc.block_inject_weight.weight", (streams, wide), X)] * injects)
