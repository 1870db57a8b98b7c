"""Lower bounds of a decode step: bytes over bandwidth, operations over rate. Real kernels are slower."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from atlas.derived import Derived
from atlas.numbers.experts import experts_touched, matmul_weights_read
from atlas.numbers.measure import attention_flops
from atlas.numbers.ranks import Split
from pipeline.serve.gpus import Gpu


class Load(NamedTuple):
    """A step: tokens behind each sequence, sequences, bytes a weight, bytes of cache on one rank over all stages."""

    at: int
    sequences: int
    width: float
    cache: int
    is_fp8: bool


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Of one decode step of all sequences: what one rank reads over all stages, and the seconds it needs at least."""

    weight_bytes_read: int
    cache_bytes_read: int
    seconds_by_bandwidth: float | None
    seconds_by_rate: float | None
    experts_touched: float | None


def bounds(d: Derived, split: Split, gpu: Gpu, load: Load) -> Bounds | None:
    """Lower bounds of one step; None for a model without a structure.

    Stages follow one another, so that they shorten no step; ranks do. The fullest rank reads at least its even share.
    """
    f = d.fingerprint
    if d.model is None or f.params_active_compute is None:
        return None
    read = int(matmul_weights_read(d.model, load.sequences) * load.width / split.tp)
    cache = _read_of_cache(d, load.cache)
    each = 2 * f.params_active_compute + attention_flops(d.model, load.at)
    rate = gpu.fp8 if load.is_fp8 and gpu.fp8 else gpu.bf16
    return Bounds(
        weight_bytes_read=read,
        cache_bytes_read=cache,
        seconds_by_bandwidth=None if gpu.bandwidth is None else (read + cache) / gpu.bandwidth,
        seconds_by_rate=None if rate is None else load.sequences * each / split.tp / rate,
        experts_touched=experts_touched(d.model, load.sequences),
    )


def _read_of_cache(d: Derived, cache: int) -> int:
    """What a step reads of the cache: all of it; where only the best positions are read, no bound is put on it."""
    return 0 if any("sparse" in k or "compressed" in k for k in d.fingerprint.layer_mix or {}) else cache
