"""SGLang: the sizes of its pools as printed, for the number of tokens that the log states."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

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
    kept,
    number,
    odd,
    version_of,
    whole,
)
from pipeline.engines.types import Kept

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
    Rule("window ratio", "The windowed pool has ratio x N tokens, in whole pages; the ratio is 0.8 unless given.",
         f"{_CONF} HybridSWAPoolConfigurator", NEWEST, "logs"),
    Rule("memory", "The inverse: N in whole pages x bytes a token, without the page that the pool adds.",
         f"{_CONF} calculate_pool_sizes", NEWEST, "unproven"),
    Rule("states", "(max_mamba_cache_size + 1) x layers x (channels / TP x (kernel - 1) x 2, state / TP x 4 bytes).",
         "sglang/srt/configs/mamba_utils.py", NEWEST, "logs"),
)  # fmt: skip

INPUTS: tuple[Input, ...] = (
    Input("N", "#tokens of the log: max_total_num_tokens, which follows from profiled memory"),
    Input("tokens", "tokens wanted, where the memory for them is asked and not the pool of a log"),
    Input("max_model_len", "tokens of the longest request"),
    Input("swa_tokens", "tokens of the windowed pool, as the log states them"),
    Input("swa_ratio", "tokens of the windowed pool for one of the full", 0.8, "swa_full_tokens_ratio"),
    Input("mamba", "max_mamba_cache_size; needed where layers are recurrent"),
    Input("tp", "tensor-parallel ranks", 1, "tp_size"),
    Input("dp", "ranks of data-parallel attention", 1, "dp_size"),
    Input("ep", "ranks that share the experts; no part in the cache", 1, "ep_size"),
    Input("page", "tokens of a page", 1, "page_size"),
    Input("kv", "type of the cache", "auto", "kv_cache_dtype: the model's type"),
    Input("ssm", "bytes of a recurrent state's element", 4, "float32 where the config states no mamba_ssm_dtype"),
)

KEEPS_WINDOWS = (
    "beam", "diffusion_gemma", "gemma4", "gpt_oss", "inkling", "laguna", "llama4", "mellum", "mimo_v2", "muse_glimmer",
    "step3_5", "step3p", "unlimited_ocr",
)  # fmt: skip
"""model_type prefixes of the architectures that SGLang keeps windows for (rule "windows held")."""
_STATES = frozenset({"mamba2", "gdn", "kda"})
_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}
_TAKES = frozenset({"bf16", "fp16", "fp8"})


class Ranks(NamedTuple):
    """What decides the bytes of an entry: tokens of a page, the cache's type, and ranks that share attention."""

    page: int
    kept: Kept
    tp: int


class Answer(msgspec.Struct):
    """Figures, what is missing, what is assumed, and the bytes that a token takes of memory, as they come up."""

    predicted: dict[str, int | float] = {}
    missing: list[str] = []
    assumed: list[str] = []
    token_bytes: float = 0
    fixed_bytes: float = 0


def predict(g: Geometry, version: str, inputs: Inputs) -> Prediction:
    """The pool sizes SGLang prints, GiB; raises `Unknown` where the rules do not cover the model."""
    said = Answer()
    if reason := odd((c for c in g.caches if c.stack == "decoder"), _STATES):
        raise Unknown(reason)
    if version_of(version) > version_of(NEWEST):
        said.assumed.append(f"version {version}: rules read at {NEWEST}")
    if "page" not in inputs and any(not c.is_recurrent for c in g.own()):
        said.assumed.append("page 1, the option's default")
    dp, tp = whole(inputs, "dp", 1) or 1, whole(inputs, "tp", 1) or 1
    if tp % dp:
        raise Unknown(f"{dp} groups of data-parallel attention do not divide {tp} ranks")
    ranks = Ranks(whole(inputs, "page", 1) or 1, kept(inputs, "kv", "bf16", _TAKES), tp // dp)
    _attention(g, inputs, ranks, said)
    _states(g, inputs, ranks, said)
    _wanted(inputs, ranks, said)
    return Prediction(predicted=said.predicted, assumed=tuple(said.assumed), missing=tuple(said.missing))


def _tokens(inputs: Inputs, page: int) -> int | None:
    """Tokens of the pool: the log's, or those wanted in whole pages."""
    stated, wanted = whole(inputs, "N"), whole(inputs, "tokens") or whole(inputs, "max_model_len")
    return stated if stated is not None or wanted is None else -(-wanted // page) * page


def _attention(g: Geometry, inputs: Inputs, ranks: Ranks, said: Answer) -> None:
    attention = [c for c in g.own() if not c.is_recurrent]
    if not attention:
        return
    if (tokens := _tokens(inputs, ranks.page)) is None:
        said.missing.append("N")
        return
    windowed = [c for c in attention if c.window is not None]
    swa = _windowed(g, windowed, tokens, inputs, ranks, said)
    full = attention if swa is None else [c for c in attention if c.window is None]
    if any(c.kind == "latent" for c in full):
        _latent(full, tokens, ranks, said)
        return
    k, v = _pool(full, tokens + ranks.page, ranks)
    said.predicted |= {"k_gib": k, "v_gib": v, "kv_gib": k + v}
    said.token_bytes = sum(_pool(full, 1, ranks)) * GIB
    if swa is not None:
        _second(windowed, swa, tokens, (k, v), ranks, said)


def _windowed(
    g: Geometry, windowed: list[Cache], tokens: int, inputs: Inputs, ranks: Ranks, said: Answer
) -> int | None:  # fmt: skip
    """Tokens of the windowed pool; None where the engine keeps no windows."""
    if not windowed or not (g.model_type or "").startswith(KEEPS_WINDOWS):
        return None
    if (stated := whole(inputs, "swa_tokens")) is not None:
        return stated
    ratio = number(inputs, "swa_ratio")
    if ratio is None:
        said.assumed.append("swa_ratio 0.8, the option's default")
    return int(tokens * (0.8 if ratio is None else ratio)) // ranks.page * ranks.page


def _second(
    windowed: list[Cache], swa: int, tokens: int, full: tuple[float, float], ranks: Ranks, said: Answer
) -> None:  # fmt: skip
    k, v = full
    wk, wv = _pool(windowed, swa + ranks.page, ranks)
    said.predicted |= {"swa_k_gib": wk, "swa_v_gib": wv, "swa_gib": wk + wv, "full_k_gib": k, "full_v_gib": v}
    said.predicted |= {"full_gib": k + v, "swapool_gib": k + v + wk + wv}
    said.token_bytes += sum(_pool(windowed, 1, ranks)) * GIB * swa / tokens


def _pool(layers: list[Cache], entries: int, ranks: Ranks) -> tuple[float, float]:
    """GiB of keys and of values on one rank."""
    sizes = [0.0, 0.0]
    for c in layers:
        heads = c.heads or 1
        if heads % ranks.tp and ranks.tp % heads:
            raise Unknown(f"{heads} KV heads neither divide nor are divided by {ranks.tp} ranks")
        for i, wide in enumerate((c.k, c.v)):
            sizes[i] += entries * heads_on_rank(heads, ranks.tp) * (wide // heads * ranks.kept.each)
    return sizes[0] / GIB, sizes[1] / GIB


def _latent(layers: list[Cache], tokens: int, ranks: Ranks, said: Answer) -> None:
    indexes = [c for c in layers if c.kind == "index"]
    each = sum(c.elements for c in layers if c.kind == "latent") * ranks.kept.each
    if indexes:
        said.assumed.append("index and fp8 layouts of sparse attention: unproven by logs")
        latents = sum(c.kind == "latent" for c in layers)
        each = (latents * 656 if ranks.kept.name == "fp8" else each) + sum(_index(c) for c in indexes)
    said.predicted["kv_gib"] = (tokens + ranks.page) * each / GIB
    said.token_bytes = each


def _index(c: Cache) -> int:
    """An index key in single bytes, with 4 bytes of scale for each 128."""
    return c.elements + c.elements // 128 * 4


def _states(g: Geometry, inputs: Inputs, ranks: Ranks, said: Answer) -> None:
    recurrent = [c for c in g.own() if c.is_recurrent]
    if not recurrent:
        return
    if (slots := whole(inputs, "mamba")) is None:
        said.missing.append("mamba")
        return
    width = number(inputs, "ssm") or _WIDTHS.get(g.state_dtype or "float32")
    if width is None:
        raise Unknown(f"the config's state type {g.state_dtype!r} is not known")
    if any(c.heads and c.heads % ranks.tp for c in recurrent):
        raise Unknown(f"recurrent heads do not divide among {ranks.tp} ranks")
    conv = sum(channels_on_rank(c, ranks.tp) * ((c.kernel or 1) - 1) * 2 for c in recurrent if c.kind == "conv")
    state = sum(c.elements / ranks.tp * width for c in recurrent if c.kind == "state")
    said.predicted |= {"conv_gib": (slots + 1) * conv / GIB, "ssm_gib": (slots + 1) * state / GIB}
    said.fixed_bytes = (slots + 1) * (conv + state)


def _wanted(inputs: Inputs, ranks: Ranks, said: Answer) -> None:
    """The inverse: memory for the tokens wanted, and what one longest request takes of the pool."""
    if "N" in said.missing or "mamba" in said.missing:
        return
    if (tokens := whole(inputs, "tokens")) is not None:
        pages = -(-tokens // ranks.page) * ranks.page
        said.predicted["available_gib"] = (pages * said.token_bytes + said.fixed_bytes) / GIB
    if (length := whole(inputs, "max_model_len")) is not None:
        said.predicted["request_gib"] = -(-length // ranks.page) * ranks.page * said.token_bytes / GIB


ENGINE = Engine("sglang", RULES, INPUTS, predict, NEWEST)
