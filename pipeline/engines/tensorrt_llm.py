"""TensorRT-LLM: the size of its pool as printed, for the tokens that the log states."""

from __future__ import annotations

from atlas.numbers.ranks import heads_on_rank
from pipeline.engines.record import (
    GIB,
    Engine,
    Geometry,
    Input,
    Inputs,
    Prediction,
    Rule,
    Unknown,
    kept,
    number,
    odd,
    whole,
)

NEWEST = "001541bad83"
_MANAGER = "tensorrt_llm/_torch/pyexecutor/resource_manager.py"

RULES: tuple[Rule, ...] = (
    Rule("token", "Bytes a token are 2 (MLA 1) x layers x heads of the rank x width x bytes.",
         _MANAGER, NEWEST, "logs"),
    Rule("ranks", "Heads are divided by TP; a latent is not.", _MANAGER, NEWEST, "unproven"),
    Rule("types", "fp8 is one byte, nvfp4 half and 1/16.", _MANAGER, NEWEST, "unproven"),
    Rule("blocks", "Blocks = free fraction x free memory // bytes a token // tokens of a block (32 or 64: an input).",
         "cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp", NEWEST, "unproven"),
    Rule("windows", "Layers of different windows have a pool each; the log states the blocks of each.",
         _MANAGER, NEWEST, "unproven"),
)  # fmt: skip

INPUTS: tuple[Input, ...] = (
    Input("tokens", "tokens of the pool, as the log states them"),
    Input("tp", "tensor-parallel ranks", 1, "tp_size"),
    Input("kv", "type of the cache", "auto", "kv_cache_config.dtype: the model's type"),
    Input("free_gib", "free memory x free fraction, GiB, where tokens are wanted"),
    Input("block", "tokens of a block, where tokens or a request are asked for"),
    Input("max_model_len", "tokens of the longest request"),
    Input("wanted", "tokens wanted, where the memory for them is asked"),
    Input("ep", "ranks that share the experts; no part in the cache", 1, "no expert parallelism"),
)


_TAKES = frozenset({"bf16", "fp16", "fp8", "nvfp4"})


def predict(g: Geometry, version: str, inputs: Inputs) -> Prediction:
    """The pool's GiB for tokens, or the tokens of a memory; raises `Unknown` where the rules do not cover the model."""
    del version  # the rules were read at one commit
    own = g.own()
    if reason := odd((c for c in g.caches if c.stack == "decoder"), frozenset()):
        raise Unknown(reason)
    if any(c.kind == "index" for c in own) or len({c.window for c in own}) > 1:
        raise Unknown("sparse layers, and windows beside other layers, are not among the rules that were read")
    assumed = ("division by TP: unproven by logs",) if inputs.get("tp", 1) != 1 else ()
    if any(c.kind == "latent" for c in own):
        assumed += ("MLA: unproven by logs",)
    each, predicted, missing = _per_token(g, inputs), dict[str, int | float](), list[str]()
    tokens = _tokens(each, inputs, predicted)
    if tokens is not None:
        predicted["gib"] = tokens * each / GIB
    missing += _inverse(each, inputs, predicted)
    if not predicted and not missing:
        missing.append("tokens")
    return Prediction(predicted=predicted, assumed=assumed, missing=tuple(missing))


def _tokens(each: float, inputs: Inputs, predicted: dict[str, int | float]) -> int | None:
    """Tokens of the pool: as the log states them, or whole blocks of the free memory."""
    tokens, free, block = whole(inputs, "tokens"), number(inputs, "free_gib"), whole(inputs, "block")
    if tokens is not None or free is None or block is None:
        return tokens
    predicted["tokens"] = int(free * GIB // each // block) * block
    return int(predicted["tokens"])


def _inverse(each: float, inputs: Inputs, predicted: dict[str, int | float]) -> list[str]:
    """Memory for the tokens wanted and for one longest request, in whole blocks; what is missing for it."""
    block, missing = whole(inputs, "block"), list[str]()
    for asked, name in (("wanted", "free_gib"), ("max_model_len", "request_gib")):
        if (tokens := whole(inputs, asked)) is None:
            continue
        if block is None:
            missing.append("block")
        else:
            predicted[name] = -(-tokens // block) * block * each / GIB
    return list(dict.fromkeys(missing))


def _per_token(g: Geometry, inputs: Inputs) -> float:
    """Bytes a token takes on one rank."""
    tp, found = whole(inputs, "tp", 1) or 1, kept(inputs, "kv", "bf16", _TAKES)
    for c in g.own():
        if c.heads and c.heads % tp and tp % c.heads:
            raise Unknown(f"{c.heads} KV heads neither divide nor are divided by {tp} ranks")
    share = [heads_on_rank(c.heads, tp) / c.heads if c.heads else 1 for c in g.own()]
    return sum(c.elements * part * found.each for c, part in zip(g.own(), share, strict=True))


ENGINE = Engine("tensorrt-llm", RULES, INPUTS, predict, NEWEST)
