"""llama.cpp: the sizes of its caches as printed, for the cells that the log or the context states."""

from __future__ import annotations

from typing import Any, NamedTuple

from atlas.numbers.caches import Cache
from pipeline.engines.record import (
    MIB,
    Engine,
    Geometry,
    Input,
    Inputs,
    Prediction,
    Rule,
    Step,
    Unknown,
    count,
    kept,
    odd,
    switch,
    whole,
)

NEWEST = "2026"
_CACHE, _ISWA = "src/llama-kv-cache.cpp", "src/llama-kv-cache-iswa.cpp"
_RECURRENT = "src/llama-memory-recurrent.cpp"

RULES: tuple[Rule, ...] = (
    Rule("cells", "A context is padded to 256 cells (32 or 1 before late 2025); the log states them.",
         _CACHE, "0.3.36", "logs"),
    Rule("cache", "Streams x cells x layers x heads x (K width x bytes of its type + V width x bytes of its type).",
         _CACHE, "0.3.36", "logs"),
    Rule("types", "q8_0 34, q5_1 24, q5_0 22, q4_1 20, q4_0 and iq4_nl 18 bytes for 32 elements; f16 2 bytes each.",
         _CACHE, "0.3.36", "logs"),
    Rule("latent", "MLA: K is latent and rope, one head, no V.", _CACHE, "0.3.36", "logs"),
    Rule("windows", "Windowed layers have a cache of min(context, window x sequences + ubatch) cells, padded to 256.",
         _ISWA, "02c28f533eb", "logs"),
    Rule("windows not held", "The llama architecture (Mistral too) reads no window, phi3 sets it to none: full caches.",
         "src/models/llama.cpp, src/models/phi3.cpp", "069be0ae22f", "logs"),
    Rule("windows by architecture", "Which other architectures read a window stands in each one's file of src/models.",
         "src/models/*.cpp as vendored in llama-cpp-python 0.3.36", "0.3.36", "unproven"),
    Rule("windows in full", "With --swa-full windowed layers have as many cells as full ones.",
         _ISWA, "0.3.36", "unproven"),
    Rule("states", "Cells x (1 + drafted) x layers x (columns + state) x 4 bytes.", _RECURRENT, "0054ee8ca80", "logs"),
    Rule("indexer", "An indexer has a second cache of keys only.", _CACHE, "0.3.36", "logs"),
    Rule("shared", "A layer that reads another's cache has none.", "src/llama-hparams.cpp", "01b77b57939", "logs"),
)  # fmt: skip

INPUTS: tuple[Input, ...] = (
    Input("cells", "cells of the full cache, as the log states them, or --ctx-size"),
    Input("tokens", "tokens wanted of the cache, where the memory for them is asked"),
    Input("max_model_len", "tokens of the longest request"),
    Input("k", "type of keys", "f16", "--cache-type-k"),
    Input("v", "type of values", "f16", "--cache-type-v"),
    Input("swa_cells", "cells of the windowed cache, as the log states them"),
    Input("n_seq", "sequences; needed for windowed cells that are not stated"),
    Input("ubatch", "tokens of a micro-batch", 512, "--ubatch-size"),
    Input("rs_cells", "cells of recurrent states: sequences"),
    Input("rs_seq", "drafted states kept beside each", 0, "no drafter"),
    Input("swa_full", "1 where windowed layers keep full caches", 0, "--swa-full is off"),
    Input("streams", "streams of a cache that is not unified", 1, "a unified cache"),
    Input("mtp", "1 where the model's own draft layer has a cache", 0, "no drafter"),
)

NOT_HELD = frozenset({
    "llama", "mistral", "mixtral", "ministral", "ministral3", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3",
    "qwen3_moe", "starcoder2",
})  # fmt: skip
"""model_types of architectures that keep no window: phi3 sets it to none, the others' files read none."""
HELD = ("gpt_oss", "gemma2", "gemma3", "gemma4")
"""Beginnings of the model_types whose windowed cache a log shows."""
READ = (
    "afmoe", "cohere2", "dots3_note", "exaone4", "exaone_moe", "granite_swa", "laguna", "lfm2", "llama4", "mellum",
    "mimo_v2", "muse_glimmer", "olmo3", "smallthinker", "step3p5",
)  # fmt: skip
"""Beginnings of the model_types whose architecture's file reads a window."""
_STATES = frozenset({"mamba2", "mamba", "gdn", "kda", "conv"})
_TAKES = frozenset({"fp32", "fp16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"})
PAD = 256


class Cells(NamedTuple):
    """Cells of the full and of the windowed cache, and the bytes of an element of keys and of values."""

    full: int
    windowed: int | None
    k: float
    v: float


def predict(g: Geometry, version: str, inputs: Inputs) -> Prediction:
    """The cache sizes llama.cpp prints, MiB; raises `Unknown` where the rules do not cover the model."""
    del version  # builds differ in padding alone, and the log states the cells
    drafts = switch(inputs, "mtp", default=False)
    layers = [c for c in g.caches if c.stack == "decoder" or drafts]
    if reason := odd(layers, _STATES):
        raise Unknown(reason)
    predicted, missing, assumed, steps = dict[str, int | float](), list[str](), list[str](), list[Step]()
    _attention(g, layers, inputs, predicted, missing, assumed, steps)
    _states(layers, inputs, predicted, missing)
    _wanted(layers, inputs, predicted, missing)
    return Prediction(
        predicted=predicted, assumed=tuple(assumed), missing=tuple(dict.fromkeys(missing)), steps=tuple(steps)
    )


def _full(inputs: Inputs, assumed: list[str]) -> int | None:
    """Cells of the full cache: as stated, or those of the tokens wanted."""
    stated, wanted = whole(inputs, "cells"), whole(inputs, "tokens") or whole(inputs, "max_model_len")
    if stated is not None or wanted is None:
        return stated
    assumed.append(f"cells: the {wanted:,} tokens asked for, padded to {PAD} (builds before late 2025: 32)")
    return _padded(wanted)


def _padded(cells: int) -> int:
    return -(-cells // PAD) * PAD


def _attention(
    g: Geometry, layers: list[Cache], inputs: Inputs, predicted: dict[str, Any], missing: list[str],
    assumed: list[str], steps: list[Step],
) -> None:  # fmt: skip
    attention = [c for c in layers if not c.is_recurrent]
    if not attention:
        return
    if (full := _full(inputs, assumed)) is None:
        missing.append("cells")
        return
    held = any(c.window is not None for c in attention) and ("swa_cells" in inputs or _held(g, assumed, steps))
    cells = Cells(full, _windowed(attention, full, inputs, missing, assumed) if held else None, *_widths(inputs))
    windowed = [c for c in attention if c.window is not None] if held else []
    rest = [c for c in attention if c not in windowed and c.kind != "index"]
    streams = whole(inputs, "streams", 1) or 1
    k, v = _size(rest, cells.full * streams, cells)
    predicted |= {"kv_mib": k + v, "k_mib": k, "v_mib": v}
    if indexes := [c for c in attention if c.kind == "index"]:
        predicted["index_mib"] = sum(c.elements for c in indexes) * cells.full * streams * cells.k / MIB
    if windowed and cells.windowed is not None:
        wk, wv = _size(windowed, cells.windowed * streams, cells)
        predicted |= {"swa_mib": wk + wv, "swa_k_mib": wk, "swa_v_mib": wv, "swa_cells": cells.windowed}


def _held(g: Geometry, assumed: list[str], steps: list[Step]) -> bool:
    """Whether windowed layers have a cache of their own, where the log does not state one."""
    if g.model_type in NOT_HELD:
        steps.append(Step("windows not held", f"{g.model_type} keeps full caches"))
        return False
    if (g.model_type or "").startswith(HELD):
        return True
    if not (g.model_type or "").startswith(READ):
        raise Unknown(f"whether llama.cpp keeps the windows of {g.model_type} was not read")
    assumed.append(f"windows of {g.model_type} are kept: unproven by logs")
    return True


def _windowed(
    attention: list[Cache], full: int, inputs: Inputs, missing: list[str], assumed: list[str]
) -> int | None:  # fmt: skip
    if (stated := whole(inputs, "swa_cells")) is not None:
        return stated
    if switch(inputs, "swa_full", default=False):
        return full
    windows = {c.window for c in attention if c.window is not None}
    sequences = whole(inputs, "n_seq")
    if sequences is None or len(windows) > 1:
        missing.append("n_seq" if sequences is None else "swa_cells")
        return None
    if "ubatch" not in inputs:
        assumed.append("ubatch 512, the option's default")
    # A unified cache holds the windows of all sequences; each stream of its own holds one.
    share = sequences if (whole(inputs, "streams", 1) or 1) == 1 else 1
    return _padded(min(full, windows.pop() * share + (whole(inputs, "ubatch", 512) or 512)))


def _widths(inputs: Inputs) -> tuple[float, float]:
    return kept(inputs, "k", "f16", _TAKES).each, kept(inputs, "v", "f16", _TAKES).each


def _size(layers: list[Cache], cells: int, w: Cells) -> tuple[float, float]:
    """MiB of keys and of values; a latent is all keys."""
    keys = sum(c.k for c in layers)
    return cells * keys * w.k / MIB, cells * sum(c.v for c in layers) * w.v / MIB


def _states(layers: list[Cache], inputs: Inputs, predicted: dict[str, Any], missing: list[str]) -> None:
    recurrent = [c for c in layers if c.is_recurrent]
    if not recurrent:
        return
    if (cells := whole(inputs, "rs_cells")) is None:
        missing.append("rs_cells")
        return
    copies = cells * (1 + count(inputs, "rs_seq"))
    columns = sum(c.channels * (c.kernel - 1) for c in recurrent if c.channels is not None and c.kernel is not None)
    states = sum(c.elements for c in recurrent if c.kind == "state")
    r, s = copies * columns * 4 / MIB, copies * states * 4 / MIB
    predicted |= {"r_mib": r, "s_mib": s, "rs_mib": r + s}


def _wanted(layers: list[Cache], inputs: Inputs, predicted: dict[str, Any], missing: list[str]) -> None:
    """The inverse: memory for the tokens wanted, and what one longest request fills, windows and states included."""
    whole_size = sum(predicted.get(name, 0) for name in ("kv_mib", "swa_mib", "index_mib", "rs_mib"))
    if "tokens" in inputs and not missing:
        predicted["available_gib"] = whole_size / 1024
    length = whole(inputs, "max_model_len")
    if length is None or missing or any(c.is_recurrent for c in layers):
        return
    cells = Cells(_padded(length), None, *_widths(inputs))
    held = "swa_cells" in predicted
    full = [c for c in layers if not (held and c.window is not None)]
    bounded = [c for c in layers if held and c.window is not None]
    within = min(cells.full, predicted["swa_cells"]) if held else 0
    predicted["request_gib"] = (sum(_size(full, cells.full, cells)) + sum(_size(bounded, within, cells))) / 1024


ENGINE = Engine("llama.cpp", RULES, INPUTS, predict, NEWEST)
