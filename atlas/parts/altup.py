"""Gemma 3n's alternating updates: one stream is computed, the others predicted, with a low-rank path beside attention.

Baykal et al. 2023 (arXiv 2301.13310); the low-rank path is LAuReL (arXiv 2411.07501).
"""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.gemma import per_layer_ends
from atlas.reading.config import Config, View
from schemas.vocabulary import Component, Role

OTHER, N = Component.OTHER, Component.NORM


@lru_cache(maxsize=256)
def altup(d: int, streams: int, rank: int) -> Part:
    """Prediction and correction between `streams` streams, and the low-rank path of `rank`.

    The router is asked twice: before the prediction and before the correction.
    """
    return part(
        "altup",
        [
            Tensor("altup.modality_router.weight", (streams, d), OTHER, touched=2),
            Tensor("altup.router_norm.weight", (d,), N, Role.VECTOR),
            Tensor("altup.prediction_coefs.weight", (streams * streams, streams), OTHER),
            Tensor("altup.correction_coefs.weight", (streams, streams), OTHER),
            Tensor("altup.correct_output_scale", (d,), OTHER, Role.VECTOR),
            Tensor("laurel.linear_left.weight", (rank, d), OTHER),
            Tensor("laurel.linear_right.weight", (d, rank), OTHER),
            Tensor("laurel.post_laurel_norm.weight", (d,), N, Role.VECTOR),
        ],
    )


def read_altup(v: View) -> Part:
    """Streams and low-rank path as the config states them."""
    return altup(v.count("hidden_size"), v.count("altup_num_inputs"), v.count("laurel_rank"))


@lru_cache(maxsize=64)
def _streams(d: int, n: int) -> Part:
    names, others = ("altup_projections", "altup_unembed_projections"), n - 1
    made = [Tensor(f"model.{x}.{{i}}.weight", (d, d), OTHER, stored=others, touched=others) for x in names]
    return part("altup.streams", made)


def altup_ends(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """A decoder's ends with embeddings per layer, and a projection into and out of every stream but the first."""
    parts, cls = per_layer_ends(c)
    return (*parts, _streams(c.count("hidden_size"), c.count("altup_num_inputs"))), cls
