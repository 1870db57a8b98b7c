"""Parts: small shape functions. Each has a cached builder from plain numbers and a reader that takes them from a config.

A row names a reader; `MIXERS` and `FFNS` list them.
"""

from __future__ import annotations

from collections.abc import Callable

from atlas.config import View
from atlas.parts import attention, ffn, mla, recurrent
from atlas.structure import Part

Reader = Callable[[View], Part]

MIXERS: dict[str, Reader] = {
    "gqa": attention.read_gqa,
    "falcon": attention.read_falcon,
    "mla": mla.read_mla,
    "mamba2": recurrent.read_mamba2,
    "gated_delta": recurrent.read_gated_delta,
}
FFNS: dict[str, Reader] = {
    "mlp": ffn.read_mlp,
    "moe": ffn.read_moe,
}
