"""TensorRT-LLM: the size of its pool as printed, for the tokens that the log states."""

from __future__ import annotations

from atlas.numbers.ranks import heads_on_rank
from pipeline.engines.record import GIB, Engine, Geometry, Input, Inputs, Prediction, Rule, Unknown, number, whole
from pipeline.engines.types import kept_in
from pipeline.errors import Usage

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
    Input("block", "tokens of a block, where tokens are wanted"),
)


def predict(g: Geometry, version: str, inputs: Inputs) -> Prediction:
    """The pool's GiB for tokens, or the tokens of a memory; raises `Unknown` where the rules do not cover the model."""
    del version  # the rules were read at one commit
    own = g.own()
    if any(c.is_recurrent or c.stride != 1 or c.kind == "index" for c in own) or len({c.window for c in own}) > 1:
        raise Unknown("recurrent, sparse, compressed or windowed layers are not among the rules that were read")
    assumed = ("division by TP: unproven by logs",) if inputs.get("tp", 1) != 1 else ()
    if any(c.kind == "latent" for c in own):
        assumed += ("MLA: unproven by logs",)
    each = _per_token(g, inputs)
    tokens, free, block = whole(inputs, "tokens"), number(inputs, "free_gib"), whole(inputs, "block")
    if tokens is None and free is not None and block is not None:
        tokens = int(free * GIB // each // block) * block
        return Prediction(predicted={"tokens": tokens, "gib": tokens * each / GIB}, assumed=assumed)
    if tokens is None:
        return Prediction(assumed=assumed, missing=("tokens",))
    return Prediction(predicted={"gib": tokens * each / GIB}, assumed=assumed)


def _per_token(g: Geometry, inputs: Inputs) -> float:
    """Bytes a token takes on one rank."""
    kv, tp = str(inputs.get("kv", "auto")), whole(inputs, "tp", 1) or 1
    try:
        kept = kept_in("bf16" if kv == "auto" else kv, "kv")
    except Usage as wrong:
        raise Unknown(str(wrong)) from wrong
    share = [heads_on_rank(c.heads, tp) / c.heads if c.heads else 1 for c in g.own()]
    return sum(c.elements * part * kept.each for c, part in zip(g.own(), share, strict=True))


ENGINE = Engine("tensorrt-llm", RULES, INPUTS, predict, NEWEST)
