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
    odd,
    whole,
)
from pipeline.engines.types import kept_in
from pipeline.errors import Usage

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
    Rule("states", "Cells x (1 + drafted) x layers x (columns + state) x 4 bytes.", _RECURRENT, "0054ee8ca80", "logs"),
    Rule("indexer", "An indexer has a second cache of keys only.", _CACHE, "0.3.36", "logs"),
    Rule("shared", "A layer that reads another's cache has none.", "src/llama-hparams.cpp", "01b77b57939", "logs"),
)  # fmt: skip

INPUTS: tuple[Input, ...] = (
    Input("cells", "cells of the full cache, as the log states them, or --ctx-size"),
    Input("k", "type of keys", "f16", "--cache-type-k"),
    Input("v", "type of values", "f16", "--cache-type-v"),
    Input("swa_cells", "cells of the windowed cache, as the log states them"),
    Input("n_seq", "sequences; needed for windowed cells that are not stated"),
    Input("ubatch", "tokens of a micro-batch", 512, "--ubatch-size"),
    Input("rs_cells", "cells of recurrent states: sequences"),
    Input("rs_seq", "drafted states kept beside each", 0, "no drafter"),
    Input("streams", "streams of a cache that is not unified", 1, "a unified cache"),
    Input("mtp", "1 where the model's own draft layer has a cache", 0, "no drafter"),
)

NOT_HELD = frozenset({"llama", "mistral", "mixtral", "ministral", "phi3", "phimoe"})
"""model_types whose windows llama.cpp does not keep (rule "windows not held")."""
HELD = frozenset({"gpt_oss", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "gemma4", "gemma4_text"})
"""model_types whose windowed cache a log shows."""
_STATES = frozenset({"mamba2", "mamba", "gdn", "kda", "conv"})
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
    kept = [c for c in g.caches if c.kind != "cross" and (c.stack == "decoder" or inputs.get("mtp"))]
    if reason := odd(kept, _STATES):
        raise Unknown(reason)
    predicted, missing, assumed, steps = dict[str, int | float](), list[str](), list[str](), list[Step]()
    _attention(g, kept, inputs, predicted, missing, assumed, steps)
    _states(kept, inputs, predicted, missing)
    return Prediction(
        predicted=predicted, assumed=tuple(assumed), missing=tuple(dict.fromkeys(missing)), steps=tuple(steps)
    )


def _attention(
    g: Geometry, kept: list[Cache], inputs: Inputs, predicted: dict[str, Any], missing: list[str],
    assumed: list[str], steps: list[Step],
) -> None:  # fmt: skip
    attention = [c for c in kept if not c.is_recurrent]
    if not attention:
        return
    if (full := whole(inputs, "cells")) is None:
        missing.append("cells")
        return
    held = _held(g, assumed, steps) and any(c.window is not None for c in attention)
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
    if not any(c.window is not None for c in g.own()):
        return False
    if g.model_type in NOT_HELD:
        steps.append(Step("windows not held", f"{g.model_type} keeps full caches"))
        return False
    if g.model_type not in HELD:
        assumed.append(f"windows of {g.model_type} are kept: unproven by logs")
    return True


def _windowed(
    attention: list[Cache], full: int, inputs: Inputs, missing: list[str], assumed: list[str]
) -> int | None:  # fmt: skip
    if (stated := whole(inputs, "swa_cells")) is not None:
        return stated
    windows = {c.window for c in attention if c.window is not None}
    sequences = whole(inputs, "n_seq")
    if sequences is None or len(windows) > 1:
        missing.append("n_seq" if sequences is None else "swa_cells")
        return None
    if "ubatch" not in inputs:
        assumed.append("ubatch 512, the option's default")
    wanted = windows.pop() * sequences + (whole(inputs, "ubatch", 512) or 512)
    return -(-min(full, wanted) // PAD) * PAD


def _widths(inputs: Inputs) -> tuple[float, float]:
    try:
        k, v = (kept_in(str(inputs.get(x, "f16")), x) for x in ("k", "v"))
    except Usage as wrong:
        raise Unknown(str(wrong)) from wrong
    return k.each, v.each


def _size(layers: list[Cache], cells: int, w: Cells) -> tuple[float, float]:
    """MiB of keys and of values; a latent is all keys."""
    keys = sum(c.k for c in layers)
    return cells * keys * w.k / MIB, cells * sum(c.v for c in layers) * w.v / MIB


def _states(kept: list[Cache], inputs: Inputs, predicted: dict[str, Any], missing: list[str]) -> None:
    recurrent = [c for c in kept if c.is_recurrent]
    if not recurrent:
        return
    if (cells := whole(inputs, "rs_cells")) is None:
        missing.append("rs_cells")
        return
    copies = cells * (1 + int(inputs.get("rs_seq", 0)))
    columns = sum((c.channels or 0) * ((c.kernel or 1) - 1) for c in recurrent if c.kind == "conv")
    states = sum(c.elements for c in recurrent if c.kind == "state")
    r, s = copies * columns * 4 / MIB, copies * states * 4 / MIB
    predicted |= {"r_mib": r, "s_mib": s, "rs_mib": r + s}


ENGINE = Engine("llama.cpp", RULES, INPUTS, predict, NEWEST)
