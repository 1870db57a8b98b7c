"""Holding facts that no weight shape shows against tensors followed through the library's own forward.

One reader of the reference's notes per column, and by name what the notes cannot show.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from costs import in_order, layers_at, model_of

from atlas.interpret import Derived
from atlas.numbers.shape import infos
from schemas.vocabulary import Mixer

Fact = dict[str, Any]

KNOWN_AS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu", "relu": "relu", "relu2": "relu2", "xielu": "xielu",
}  # fmt: skip
"""Names the library knows an activation module by, and the atlas's word."""

BY_OPERATORS = {
    ("gelu",): "gelu",
    ("silu",): "silu",
    ("tanh",): "gelu_tanh",  # BLOOM writes the approximation out
    ("clamp", "sigmoid"): "swigluoai",
    ("pow[2]", "relu", "sigmoid"): "relu2",  # RWKV's receptance is the sigmoid
    ("sigmoid",): "silu_softcapped",  # Inkling 2: softcap(gate) x sigmoid(gate) x softcap(up)
    (): None,
}
"""Activation by the operators issued in networks without an activation module the library has a name for."""

NO_BLOCK_NORM = ("UnweightedRMSNorm", "MuseSparkRMSNorm", "Gemma4RMSNorm")
"""Norms without weights beside the block norms: of residual streams, of queries, keys or values."""

PLACED = {
    "rwkv": "pre",  # the first block also norms the embedding, which becomes its stream
    "xlm": "post",  # norms stand in lists of the model, not in its layers (modeling_xlm.py, XLMModel.forward)
    "deepseek_v4": "pre",  # several residual streams, which the reference does not follow: hc_pre, then a norm
    "hy_v4": "pre",
    "hy_v4_vl": "pre",
}
"""Where the block norms stand in classes whose layers the reference cannot read, from the modelling files."""

NOT_FOLLOWED: dict[str, Fact] = {
    "inkling_mm_model": {"has_qk_norm": True, "attention_mask": "causal"},
    "inkling_text": {"has_qk_norm": True, "attention_mask": "causal"},
    "xlm": {"has_qk_norm": False, "attention_mask": "bidirectional"},
}
"""Attention that the reference did not recognise as such: no layer of it is noted. None of them has sinks."""

POSITIONS = {
    **dict.fromkeys(("t5", "mt5", "longt5", "switch_transformers", "cpmant"), "relative"),
    **dict.fromkeys(("inkling2", "inkling2_text", "inkling2_loop", "inkling2_loop_text"), "relative"),
    **dict.fromkeys(("inkling_mm_model", "inkling_text"), "relative"),
    "nemo_speechlm": "nope",  # the rotary modules are those of its audio encoders
    "roformer": "rope",  # a table of sines and cosines turns queries and keys
    "ctrl": "sinusoidal",  # computed, neither module nor table (modeling_ctrl.py, positional_encoding)
}
"""Schemes that the notes show under another head, or not at all, from the modelling files."""

MASKS_ITSELF = {
    "fsmt": "causal", "openai-gpt": "causal", "prophetnet": "causal", "kosmos-2": "causal", "gemma3": "causal",
    "shieldgemma2": "causal", "cpmant": "prefix", "mamba2": None,
}  # fmt: skip
"""Masks made without the library's builders, or in one that says neither word, from the modelling files."""


def records(shared: Path, which: str) -> list[dict[str, Any]]:
    """The records with facts that are truth."""
    lines = (shared / "oracle" / f"costs-{which}.jsonl").read_text("utf-8").splitlines()
    return [r for r in map(json.loads, lines) if "facts" in r and r["status"] in ("ok", "facts only")]


def activation(fact: Fact, _: str) -> str | None:
    """By the module's names in feed-forward networks (a pooler's tanh is not one), else by operators."""
    noted = fact["activation"]
    modules = {m for m in noted["modules"] if m != "Tanh"}
    words = {next((KNOWN_AS[n] for n in noted["known_as"][m] if n in KNOWN_AS), None) for m in modules}
    if words and None not in words:
        assert len(words) == 1, noted
        return words.pop()
    return BY_OPERATORS[tuple(sorted(noted["operators"]))]


def norm_class(fact: Fact, _: str) -> str:
    """The kind of the block norms."""
    kinds = {n["kind"] for n in fact["norm_classes"]}
    if len(kinds) > 1:
        beside = {n["kind"] for n in fact["norm_classes"] if n["cls"].endswith(NO_BLOCK_NORM)}
        kinds -= {k for k in beside if k.startswith("nonparametric")}
    assert len(kinds) == 1, fact["norm_classes"]
    return kinds.pop()


def norm_placement(fact: Fact, kind: str) -> str:
    """The placement of all layers, or mixed."""
    placed = set(fact["norm_placement"]) - {"not run"}
    if kind in PLACED:
        return PLACED[kind]
    return placed.pop() if len(placed) == 1 else "mixed"


def has_sinks(fact: Fact, kind: str) -> bool | None:
    """Parameters of sinks, or an extra column of a softmax."""
    seen = fact["attention_layers"] or kind in NOT_FOLLOWED
    return bool(fact["sink_parameters"] or fact["softmax_extra_column_layers"]) if seen else None


def has_qk_norm(fact: Fact, kind: str) -> bool | None:
    """Queries or keys normalised after their projection."""
    if kind in NOT_FOLLOWED:
        return NOT_FOLLOWED[kind]["has_qk_norm"]
    return fact["qk_norm_layers"] > 0 if fact["attention_layers"] else None


def position(fact: Fact, kind: str) -> str:
    """Rotary where scores depend on rotary tables; else biases, tables or modules at the input."""
    if kind in POSITIONS:
        return POSITIONS[kind]
    if fact["alibi_calls"]:
        return "alibi"
    if fact["rope_layers"]:
        return "mixed" if fact["nope_at"] else "rope"
    if any("Sinusoidal" in m for m in fact["position_modules"]):
        return "sinusoidal"
    if fact["position_embeddings"] or fact["position_modules"]:
        return "learned"
    return "nope" if fact["attention_layers"] else "none"


def attention_mask(fact: Fact, kind: str) -> str | None:
    """By the builders that were called; a config that says it is not causal makes the causal one two-sided."""
    if kind in MASKS_ITSELF:
        return MASKS_ITSELF[kind]
    if kind in NOT_FOLLOWED:
        return NOT_FOLLOWED[kind]["attention_mask"]
    builders = fact["mask_builders"]
    if not fact["attention_layers"]:
        return None
    if fact.get("config_is_causal") is False:
        return "bidirectional"
    return "causal" if any("causal" in b for b in builders) else "bidirectional"


COLUMNS: dict[str, Callable[[Fact, str], str | bool | None]] = {
    f.__name__: f for f in (activation, norm_class, norm_placement, has_sinks, has_qk_norm, position, attention_mask)
}


def differences(record: dict[str, Any], found: Derived) -> list[str]:
    """Every column of facts, and the position of every layer."""
    fact, kind = record["facts"], record["model_type"]
    wanted = {name: read(fact, kind) for name, read in COLUMNS.items()}
    got = {name: getattr(found.fingerprint, name) for name in COLUMNS}
    wrong = [f"{n} {got[n]}, reference {wanted[n]}" for n in COLUMNS if got[n] != wanted[n]]
    if fact["rope_layers"]:
        without = {
            i
            for i, each in enumerate(in_order(model_of(found)))
            for m in infos(each)[0]
            if m.position == "nope" and m.attention_kind is not None and m.mixer is not Mixer.CROSS_ATTENTION
        }
        if without != set(layers_at(fact["nope_at"]) if fact["nope_at"] else ()):
            wrong.append(f"layers without positions {sorted(without)}, reference {fact['nope_at']}")
    return wrong
