"""SGLang: the sizes of its pools as printed, for the number of tokens that the log states."""

from __future__ import annotations

from typing import Any

from atlas.numbers.caches import Cache
from atlas.numbers.ranks import channels_on_rank, heads_on_rank
from pipeline.engines.record import (
    GIB,
    Engine,
    Geometry,
    Input,
    Inputs,
    Prediction,
    Rule,
    Unknown,
    number,
    odd,
    version_of,
    whole,
)
from pipeline.engines.types import Kept, kept_in
from pipeline.errors import Usage

NEWEST = "0.5.23"
_POOL, _CONF = "sglang/srt/mem_cache/memory_pool.py", "sglang/srt/model_executor/pool_configurator.py"

RULES: tuple[Rule, ...] = (
    Rule("heads", "KV heads of a rank are max(1, heads // attention TP), attention TP = TP / DP; a latent is whole.",
         _POOL, NEWEST, "logs"),
    Rule("pool", "K = (N + page) x heads x K width x bytes x layers, V alike; N is the log's #tokens.",
         _POOL, NEWEST, "logs"),
    Rule("page", "The page is an option; figures of the log agree with 1 where it is not stated.",
         _POOL, NEWEST, "unproven"),
    Rule("latent", "MLA: (N + page) x (latent + rope) x bytes x layers, one size.", _POOL, NEWEST, "logs"),
    Rule("sparse", "An indexer's layer adds 132 bytes a token; an fp8 latent takes 656.", _POOL, NEWEST, "unproven"),
    Rule("windows held", "A fixed list of architectures keeps a pool for windowed layers; all others keep full caches.",
         "sglang/srt/configs/model_config.py is_hybrid_swa_model", NEWEST, "logs"),
    Rule("window pool", "Windowed layers have a pool of their own tokens, full ones of N.", _CONF, NEWEST, "logs"),
    Rule("states", "(max_mamba_cache_size + 1) x layers x (channels / TP x (kernel - 1) x 2, state / TP x 4 bytes).",
         "sglang/srt/configs/mamba_utils.py", NEWEST, "logs"),
)  # fmt: skip

INPUTS: tuple[Input, ...] = (
    Input("N", "#tokens of the log: max_total_num_tokens, which follows from profiled memory"),
    Input("swa_tokens", "tokens of the windowed pool; needed where the engine keeps windows"),
    Input("mamba", "max_mamba_cache_size; needed where layers are recurrent"),
    Input("tp", "tensor-parallel ranks", 1, "tp_size"),
    Input("dp", "ranks of data-parallel attention", 1, "dp_size"),
    Input("page", "tokens of a page", 1, "page_size"),
    Input("kv", "type of the cache", "auto", "kv_cache_dtype: the model's type"),
    Input("ssm", "bytes of a recurrent state's element", 4, "float32 where the config states no mamba_ssm_dtype"),
)

KEEPS_WINDOWS = ("gpt_oss", "llama4", "gemma4", "mimo_v2", "step3p5", "step3_5")
"""model_type prefixes of the architectures that SGLang keeps windows for (rule "windows held")."""
_STATES = frozenset({"mamba2", "gdn", "kda"})
_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}


def predict(g: Geometry, version: str, inputs: Inputs) -> Prediction:
    """The pool sizes SGLang prints, GiB; raises `Unknown` where the rules do not cover the model."""
    own, predicted, missing, assumed = g.own(), dict[str, int | float](), list[str](), list[str]()
    if reason := odd(own, _STATES):
        raise Unknown(reason)
    if version_of(version) > version_of(NEWEST):
        assumed.append(f"version {version}: rules read at {NEWEST}")
    if "page" not in inputs and any(not c.is_recurrent for c in own):
        assumed.append("page 1, the option's default")
    _attention(g, inputs, predicted, missing, assumed)
    _states(g, inputs, predicted, missing)
    return Prediction(predicted=predicted, assumed=tuple(assumed), missing=tuple(missing))


def _attention(g: Geometry, inputs: Inputs, predicted: dict[str, Any], missing: list[str], assumed: list[str]) -> None:
    attention = [c for c in g.own() if not c.is_recurrent]
    if not attention:
        return
    tokens = whole(inputs, "N")
    if tokens is None:
        missing.append("N")
        return
    page, windowed = whole(inputs, "page", 1) or 1, [c for c in attention if c.window is not None]
    keeps = bool(windowed) and (g.model_type or "").startswith(KEEPS_WINDOWS)
    swa = whole(inputs, "swa_tokens") if keeps else None
    if keeps and swa is None:
        missing.append("swa_tokens")
        return
    full = [c for c in attention if c.window is None] if keeps else attention
    kept, tp = _kept(inputs), max(1, (whole(inputs, "tp", 1) or 1) // (whole(inputs, "dp", 1) or 1))
    if any(c.kind == "latent" for c in full):
        _latent(full, tokens + page, kept, predicted, assumed)
        return
    k, v = _pool(full, tokens + page, kept, tp)
    predicted.update({"k_gib": k, "v_gib": v, "kv_gib": k + v})
    if swa is not None:
        wk, wv = _pool(windowed, swa + page, kept, tp)
        predicted.update({"swa_k_gib": wk, "swa_v_gib": wv, "swa_gib": wk + wv, "full_k_gib": k, "full_v_gib": v})
        predicted |= {"full_gib": k + v, "swapool_gib": k + v + wk + wv}


def _kept(inputs: Inputs) -> Kept:
    try:
        kv = str(inputs.get("kv", "auto"))
        return kept_in("bf16" if kv == "auto" else kv, "kv")
    except Usage as wrong:
        raise Unknown(str(wrong)) from wrong


def _pool(layers: list[Cache], entries: int, kept: Kept, tp: int) -> tuple[float, float]:
    """GiB of keys and of values on one rank."""
    sizes = [0.0, 0.0]
    for c in layers:
        heads = c.heads or 1
        for i, wide in enumerate((c.k, c.v)):
            sizes[i] += entries * heads_on_rank(heads, tp) * (wide // heads * kept.each + kept.per_head)
    return sizes[0] / GIB, sizes[1] / GIB


def _latent(layers: list[Cache], entries: int, kept: Kept, predicted: dict[str, Any], assumed: list[str]) -> None:
    indexes = [c for c in layers if c.kind == "index"]
    each = sum(c.elements for c in layers if c.kind == "latent") * kept.each
    if indexes:
        assumed.append("index and fp8 layouts of sparse attention: unproven by logs")
        latents = sum(c.kind == "latent" for c in layers)
        each = (latents * 656 if kept.name == "fp8" else each) + 132 * len(indexes)
    predicted["kv_gib"] = entries * each / GIB


def _states(g: Geometry, inputs: Inputs, predicted: dict[str, Any], missing: list[str]) -> None:
    recurrent = [c for c in g.own() if c.is_recurrent]
    if not recurrent:
        return
    if (slots := whole(inputs, "mamba")) is None:
        missing.append("mamba")
        return
    tp = max(1, (whole(inputs, "tp", 1) or 1) // (whole(inputs, "dp", 1) or 1))
    stated = _WIDTHS.get(g.state_dtype or "float32")
    width = number(inputs, "ssm") or stated
    if width is None:
        raise Unknown(f"the config's state type {g.state_dtype!r} is not known")
    conv = sum(channels_on_rank(c, tp) * ((c.kernel or 1) - 1) * 2 for c in recurrent if c.kind == "conv")
    state = sum(c.elements / tp * width for c in recurrent if c.kind == "state")
    predicted |= {"conv_gib": (slots + 1) * conv / GIB, "ssm_gib": (slots + 1) * state / GIB}


ENGINE = Engine("sglang", RULES, INPUTS, predict, NEWEST)
