"""Parts: small shape functions. Each has a cached builder from plain numbers and a reader that takes them from a config.

A row names a reader; `MIXERS` and `FFNS` list them.
"""

from __future__ import annotations

from collections.abc import Callable

from atlas.config import View
from atlas.parts import attention, ffn, kda, mimo, mla, recurrent, selective, shaped, sparse
from atlas.structure import Part

Reader = Callable[[View], Part]

MIXERS: dict[str, Reader] = {
    "gqa": attention.read_gqa,
    "falcon": attention.read_falcon,
    "mla": mla.read_mla,
    "dsa": sparse.read_dsa,
    "kda": kda.read_kda,
    "mimo_window": mimo.read_window,
    "mamba2": recurrent.read_mamba2,
    "gated_delta": recurrent.read_gated_delta,
    "multi_query": shaped.read_multi_query,
    "mamba": selective.read_mamba,
    "rg_lru": selective.read_rg_lru,
    "rwkv": selective.read_rwkv,
    "short_conv": selective.read_short_conv,
}
FFNS: dict[str, Reader] = {
    "mlp": ffn.read_mlp,
    "moe": ffn.read_moe,
    "block_mlp": shaped.read_block_mlp,
    "half_mlp": shaped.read_half_mlp,
    "granite_moe": shaped.read_granite_moe,
    "shared_mlp": shaped.read_shared_mlp,
    "channel_mix": selective.read_channel_mix,
}
