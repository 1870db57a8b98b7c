"""Tensors that stay in F32 when a library saves a model in 16 bits.

transformers 5 keeps what a class lists as strictly F32 (`_keep_in_fp32_modules_strict` in its modelling files): of the
mixture-of-experts classes with sigmoid routing the correction bias, and from 5.24 on (not yet in 5.11, 5.17 and 5.21
to 5.23) the router too. Published originals keep the correction bias alone.
"""

from __future__ import annotations

from collections.abc import Callable

from atlas.stored.scheme import Context
from atlas.stored.units import CORRECTION, REST, ROUTER, Unit

ROUTED = frozenset((
    "deepseek_v3", "deepseek_v32", "kimi_k2", "dots1", "ernie4_5_moe", "exaone_moe", "glm4_moe", "glm4_moe_lite",
    "glm4v_moe", "glm_moe_dsa", "hy_v3", "kimi_linear", "mimo_v2_flash", "axk1", "axk2",
))  # fmt: skip
_GATE_ALONE = frozenset(("deepseek_v2", "deepseek_ocr2"))
_NORMS = "gpt_oss"
_SINCE = (5, 24)


def router_and_bias(c: Context) -> Callable[[Unit], str]:
    """As transformers 5 saves: router and correction bias in F32 where the class says so."""
    return _kept(c, router=_keeps_router(c), bias=True)


def router_alone(c: Context) -> Callable[[Unit], str]:
    """As AutoRound packs under transformers 5: the router in F32, its bias in 16 bits."""
    return _kept(c, router=_keeps_router(c), bias=False)


def _keeps_router(c: Context) -> bool:
    return c.version is not None and c.version >= _SINCE and c.model_type in ROUTED | _GATE_ALONE


def bias_alone(c: Context) -> Callable[[Unit], str]:
    """As publishers and llm-compressor save: the correction bias in F32."""
    return _kept(c, router=False, bias=True)


def of_publisher(c: Context) -> Callable[[Unit], str]:
    """As publishers save: the correction bias in F32; of Qwen3.5 also the decays and the gated norms."""
    plain, recurrent = bias_alone(c), c.model_type.startswith("qwen3_5")
    return lambda u: "F32" if recurrent and u.name.endswith(RECURRENT) else plain(u)


RECURRENT = ("A_log", "linear_attn.norm.weight")


def norms_of_old(c: Context) -> Callable[[Unit], str]:
    """As bitsandbytes was saved by transformers 4: the norms of gpt-oss in F32."""
    if c.fuses:
        return router_and_bias(c)
    norms = c.model_type == _NORMS
    return lambda u: "F32" if norms and "norm" in u.name and u.kind == REST else c.dtype


def _kept(c: Context, *, router: bool, bias: bool) -> Callable[[Unit], str]:
    def dtype(u: Unit) -> str:
        kept = (router and u.kind == ROUTER) or (bias and u.name.endswith(CORRECTION))
        return "F32" if kept else c.dtype

    return dtype
