"""Why another tool's figure is not ours: suppositions about how it counts, each computed and held against its figure.

A supposition explains a difference only where it gives the other figure to the byte or weight. What follows from the
tool's own code and no short formula gives is said in words, by family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

from atlas.derived import Derived
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.structure import Model
from atlas.numbers.tabulate import layers_expanded, parameter_rows, state_rows
from schemas.vocabulary import APART

CONTEXT = 131_072


class Case(NamedTuple):
    """One model of the comparison."""

    config: dict[str, Any]
    found: Fingerprint
    model: Model


def text(config: dict[str, Any]) -> dict[str, Any]:
    """The part of the config that states the language model."""
    return config.get("text_config", config)


def case(config: dict[str, Any], derived: Derived) -> Case:
    """The case of a config that was derived."""
    assert derived.model is not None
    return Case(config, derived.fingerprint, derived.model)


def _ours(c: Case) -> int:
    assert c.found.kv_bytes_128k is not None
    return c.found.kv_bytes_128k


def _index(c: Case) -> int:
    return int((c.found.index_bytes_per_token or 0) * CONTEXT)


def _constant(c: Case) -> int:
    return c.found.state_bytes_constant or 0


def _convolutions(c: Case) -> int:
    """Bytes of all convolution states, which hold as many columns as the kernel has."""
    states = [r for r in state_rows(c.model) if r["kind"] == "constant" and r["width_bytes"] == 2]
    return sum(r["repeats"] * r["elements"] * r["width_bytes"] for r in states)


def _kernel(c: Case) -> int | None:
    t = text(c.config)
    linear = t.get("linear_attn_config") or {}
    return t.get("linear_conv_kernel_dim") or t.get("conv_kernel") or linear.get("short_conv_kernel_size")


def columns(c: Case) -> Iterator[tuple[int, str]]:
    """Convolutions that keep one column fewer."""
    kernel, kept = _kernel(c), _convolutions(c)
    if kernel and kept:
        why = f"keeps {kernel - 1} columns of each convolution, as serving engines do; transformers keeps all {kernel}"
        yield _ours(c) - kept // kernel, why
        state = _constant(c) - kept // kernel
        yield _ours(c) - _constant(c) + 5 * state, f"books five slots of fixed state per request, and {why}"


def omissions(c: Case) -> Iterator[tuple[int, str]]:
    """Parts of the state that are left out, or counted more often."""
    yield _ours(c) - _index(c), "leaves out the keys of the indexer"
    if "compress_ratios" in c.config:
        yield _ours(c) - _constant(c), "leaves out the tokens that a compressor holds until a block is full"
    heads = (text(c.config).get("sparse_attention_config") or {}).get("sparse_num_index_heads", 1)
    why = f"counts {heads} index keys per token; the layer projects one, shared by its {heads} index heads"
    yield _ours(c) + (heads - 1) * _index(c), why


def _plain(c: Case) -> int | None:
    t = text(c.config)
    heads, kv_heads = t.get("num_attention_heads"), t.get("num_key_value_heads")
    if not heads:
        return None
    width = t.get("head_dim", t["hidden_size"] // heads)
    return 2 * (c.found.n_layers or 0) * (heads if kv_heads is None else kv_heads) * width * 2 * CONTEXT


def plain(c: Case) -> Iterator[tuple[int, str]]:
    """Every layer as attention of one geometry over the whole context."""
    figure = _plain(c)
    if figure is not None:
        known = text(c.config).get("num_key_value_heads") is not None
        heads = "num_key_value_heads" if known else "num_attention_heads (num_key_value_heads is null)"
        why = f"reads every layer as K and V of {heads} × head_dim at full length"
        yield figure, "; ".join([why, *_clauses(c)])


def narrow(c: Case) -> Iterator[tuple[int, str]]:
    """Heads of another width than the one stated, or than the one that the cache has."""
    t, n = text(c.config), c.found.n_layers or 0
    heads = t.get("num_attention_heads")
    kv_heads = t.get("num_key_value_heads", heads)
    if not heads or not kv_heads:
        return
    quotient = t["hidden_size"] // heads
    why = "takes hidden_size / num_attention_heads for the width of a head"
    stated = t.get("head_dim")
    more = [f"head_dim states {stated}"] * (stated not in (None, quotient)) + _clauses(c)
    yield 2 * n * kv_heads * quotient * 2 * CONTEXT, "; ".join([why, *more])
    nope, rope = t.get("qk_nope_head_dim"), t.get("qk_rope_head_dim")
    if nope and rope:
        why = "reads every layer as K and V of num_key_value_heads × (qk_nope_head_dim + qk_rope_head_dim)"
        yield 2 * n * kv_heads * (nope + rope) * 2 * CONTEXT, "; ".join([why, *_clauses(c)])


def _clauses(c: Case) -> list[str]:
    """What of the model that leaves out."""
    layers = {row.index: row for row in layers_expanded(c.model)}.values()
    n = len(layers)
    windows = sum(row.window is not None for row in layers)
    without = sum(row.kv_bytes_per_held_token in (None, 0) for row in layers)
    widths = {(row.n_kv_heads, row.head_dim, row.v_head_dim) for row in layers if row.kv_bytes_per_held_token}
    said = [f"{windows} of {n} layers have a window"] * (windows > 0)
    said += [f"{without} of {n} layers keep no K and V"] * (without > 0)
    said += ["attention keeps one latent per token, not heads"] * (c.found.attention_kind == "mla")
    said += ["entries beyond the window are compressed"] * ("compress_ratios" in c.config)
    said += ["layers differ in their heads"] * (len(widths) > 1)
    said += ["K and V differ in width"] * (c.found.attention_kind != "mla" and any(w[1] != w[2] for w in widths))
    return said + ["the indexer's keys come on top"] * (_index(c) > 0)


def latent(c: Case) -> Iterator[tuple[int, str]]:
    """Ways to count latent attention."""
    t = text(c.config)
    rank, rope, n = t.get("kv_lora_rank"), t.get("qk_rope_head_dim"), c.found.n_layers or 0
    if not rank or not rope:
        return
    every = 2 * n * (rank + rope) * CONTEXT
    if _constant(c):
        yield every, "reads every layer as latent attention, those without K and V too"
    width = t.get("index_head_dim")
    if width:
        own, each = int((c.found.index_bytes_per_token or 0) / (2 * width)), width + 4
        where = f"in all {n} layers, of which {own} own an indexer" if own != n else f"in all {n} layers"
        yield every + n * each * CONTEXT, f"keeps index keys in FP8 with a scale, {each} bytes each, {where}"


def compressed(c: Case) -> Iterator[tuple[int, str]]:
    """Windows and compressed entries with FP4 index keys and the compressors' buffers in FP32."""
    ratios = c.config.get("compress_ratios")
    if not ratios:
        return
    width, index, window = c.config["head_dim"], c.config["index_head_dim"], c.config["sliding_window"]
    layers = ratios[: c.found.n_layers]
    total = len(layers) * window * width * 2
    for r in filter(None, layers):
        total += CONTEXT // r * width * 2 + 2 * r * (2 if r == 4 else 1) * width * 4
        total += (CONTEXT // r * index // 2 + 2 * r * 2 * index * 4) if r == 4 else 0
    yield total, "keeps index keys in FP4 without scales, and the compressors' buffers in FP32"


def none(c: Case) -> Iterator[tuple[int, str]]:
    """Nothing."""
    nothing = "nothing is counted, and nothing said"
    if text(c.config).get("num_key_value_heads") is None:
        yield 0, f"num_key_value_heads is null, as every layer states its own: {nothing}"
    if "text_config" in c.config:
        yield 0, f"does not read text_config, where the language model stands: {nothing}"
    if "num_hidden_layers" not in c.config:
        yield 0, f"num_hidden_layers is not stated, only the kind of every layer: {nothing}"
    if "hybrid_override_pattern" in c.config:
        yield 0, f"reads the kinds of layers under another key than hybrid_override_pattern: {nothing}"


Suppose = Callable[[Case], Iterator[tuple[int, str]]]
SUPPOSED: tuple[Suppose, ...] = (columns, omissions, latent, compressed, plain, narrow, none)


def cache(c: Case, theirs: int) -> str | None:
    """Why the other tool's cache is not ours; None where no supposition gives its figure."""
    return next((why for suppose in SUPPOSED for figure, why in suppose(c) if figure == theirs), None)


GROUPS: dict[str, tuple[str, ...]] = {
    "the correction biases of the router": ("e_score_correction_bias",),
    "the norms of queries and keys": ("q_norm", "k_norm"),
    "the indexers": (".indexer.",),
    "the sinks": (".sinks",),
    "the biases of the experts": (".experts.{e}.",),
    "the bias of the router": ("mlp.gate.bias", "router.bias"),
    "the shared experts": (".shared_experts.",),
}


def weights(c: Case, theirs: int) -> str | None:
    """Which groups of weights the other tool leaves out, where that gives its figure to the weight."""
    rows = [r for r in parameter_rows(c.model) if r["component"] not in APART]
    sizes = {g: sum(r["repeats"] * r["stored"] * r["elements"] for r in rows if _in(g, r["name"])) for g in GROUPS}
    held = [g for g, n in sizes.items() if n]
    ours = c.found.params_total or 0
    for k in range(1, len(held) + 1):
        for left_out in combinations(held, k):
            if ours - sum(sizes[g] for g in left_out) == theirs:
                return f"leaves out {' and '.join(left_out)}"
    return None


def _in(group: str, name: str) -> bool:
    named = any(word in name for word in GROUPS[group])
    return named and (name.endswith(".bias") or group != "the biases of the experts")


BY_FAMILY: dict[str, str] = {
    "minimax_m3": "takes the unknown activation swigluoai for two matrices per expert instead of three; no indexers",
    "minimax_m3_vl": "as for minimax_m3, and with experts in the dense layers too",
    "qwen3_5": "counts the delta-rule layers as attention with heads, and no output gate beside the queries",
    "qwen3_5_moe": "counts the delta-rule layers as attention with heads, and no output gate beside the queries",
    "mimo": "adds a bias to the output projection, which this class has none of",
    "mimo_v2_flash": "puts experts in the first layer too, and one geometry with equal K and V widths in all layers",
    "deepseek_v4": "counts queries and output as full matrices, K and V apart; no compressors, indexers or streams",
    "deepseek_ref": "no hidden_act is stated, which it takes for two matrices per expert; else as for deepseek_v4",
    "gemma4": "one geometry for all layers, K and V of full layers apart; no dense network beside experts",
    "llama4": "puts experts in every layer, although interleave_moe_layer_step says every second; no shared experts",
    "kimi_k3": "takes situ for two matrices per expert, at the full instead of the latent width; no delta rule",
    "nemotron-nas": "takes all layers for alike; each states its own heads and width, and 31 of 80 have no attention",
    "nemotron_h": "puts attention and a network or experts in every layer; here a layer is one of them, or Mamba",
}
"""What llmviz's `spec.py` does with the weights of a family, where no sum of left-out groups gives its figure."""
