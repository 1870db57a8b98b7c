"""Short models of every row against the library's own classes: weights with one key changed, and how they are called.

The answers are data (`fixtures/built.jsonl`, made by tests/tables/library_built.py with transformers 5.24 and torch
2.13 on the meta device): five layers where the class takes a depth, every class of the model_type, then the usual one
with one key changed. A key whose change leaves the library's total as it was is not in it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from mutants import weights
from places import FIXTURES

from atlas.derived import Derived
from atlas.families import available, family, known
from atlas.interpret import derive

BUILT: dict[str, dict[str, Any]] = {
    line["row"]: line for line in map(json.loads, (FIXTURES / "built.jsonl").read_text("utf-8").splitlines())
}

BIASES_ARE_WEIGHTS = {"afmoe", "ernie4_5_moe", "laguna"}
"""Correction biases of routers that the class registers as parameters; elsewhere they are buffers."""


def ours(row: str, change: dict[str, Any], cls: str = "") -> Derived:
    """The same short model, derived."""
    line = BUILT[row]
    return derive({"model_type": row, "architectures": [cls or line["class"]], **line["base"], **change})


@pytest.mark.parametrize("row", BUILT)
def test_every_key_moves_the_weights_as_in_the_library(row: str) -> None:
    """The total of each class, and of the usual one with each key changed."""
    found = {(cls, str(change)): ours(row, change, cls) for cls, change, _ in BUILT[row]["totals"]}
    counted = {k: d.fingerprint.params_total if row in BIASES_ARE_WEIGHTS else weights(d) for k, d in found.items()}
    assert counted == {(cls, str(change)): total for cls, change, total in BUILT[row]["totals"]}


def test_the_rows_that_were_built() -> None:
    """Of the rows with a class nearly all were; a change of 2,600 keys in all is held."""
    assert len(BUILT) > 200
    assert sum(len(line["totals"]) for line in BUILT.values()) > 2_600
    assert BUILT.keys() <= {r for r in available() if known(r) and family(r).text is None}


ACTIVATIONS = {
    "SiLUActivation": "silu", "SiLU": "silu", "NewGELUActivation": "gelu_tanh", "BloomGelu": "gelu_tanh",
    "GELUTanh": "gelu_tanh", "GELUActivation": "gelu", "GELU": "gelu", "ReLU": "relu", "ReLUSquaredActivation": "relu2",
    "XIELUActivation": "xielu",
}  # fmt: skip
BESIDE = {"xlstm": "SiLU", "axk2": "SiLU", "zaya": "GELU", "recurrent_gemma": "GELUTanh"}
"""Modules of an activation that belong to something else than the network; those of Zaya to its router."""
REFUSED = {"dory", "inkling2_loop_text", "nemotron_h"}
RMS_UNDER_ANOTHER_NAME = {"T5LayerNorm", "MT5LayerNorm", "UMT5LayerNorm", "LongT5LayerNorm", "CpmAntLayerNorm"}
WEIGHTLESS = {"hrm_text", "nanochat", "olmo"}
"""Norms without weights."""
UNCOUNTED = {"cpmant", "fsmt", "openai-gpt", "prophetnet"}
"""Classes that make their masks themselves."""


def called() -> dict[str, dict[str, Any]]:
    """Rows whose forward ran, with what it called; three that five layers do not suffice are refused."""
    return {row: line["called"] for row, line in BUILT.items() if "called" in line and row not in REFUSED}


def test_activations_are_the_modules_that_ran() -> None:
    """One module of an activation in all layers, by its name."""
    wrong: dict[str, Any] = {}
    for row, what in called().items():
        names = {m for m in what["modules"] if m in ACTIVATIONS and BESIDE.get(row) != m}
        words: set[str | None] = {ACTIVATIONS[m] for m in names} or {None}
        got = ours(row, {}).fingerprint.activation
        if words not in ({None}, {got}):
            wrong[row] = (words, got)
    assert wrong == {}
    assert sum(any(m in ACTIVATIONS for m in what["modules"]) for what in called().values()) > 140


def test_norms_are_of_the_class_that_ran() -> None:
    """RMSNorm wherever a module of that name ran: heads and gates may have others beside."""
    for row, what in called().items():
        names = {m for m in what["modules"] if "Norm" in m}
        rms = any("RMSNorm" in m or m in RMS_UNDER_ANOTHER_NAME for m in names)
        word = ("nonparametric_" if row in WEIGHTLESS else "") + ("rmsnorm" if rms else "layernorm")
        if names:
            assert (row, ours(row, {}).fingerprint.norm_class) == (row, word)


def test_shared_experts_are_as_many_as_are_built() -> None:
    """A key says how many, or there is one where weights are called shared."""
    rows = {row: ours(row, {}).fingerprint for row, line in BUILT.items() if "shared" in line}
    found = {row: f.n_shared_experts for row, f in rows.items() if f.is_moe}
    assert found == {row: BUILT[row]["shared"] for row in found}
    assert len(found) > 50


def test_masks_are_those_that_were_made() -> None:
    """A function for a causal mask was asked, or those for both ways alone."""
    for row, what in called().items():
        makers = {f for f in what["functions"] if f.startswith("create_") and f.endswith("mask")}
        makers -= {"create_recurrent_attention_mask"}
        if makers and row not in UNCOUNTED:
            word = "causal" if any("causal" in f for f in makers) else "bidirectional"
            assert (row, ours(row, {}).fingerprint.attention_mask) == (row, word)


UNROTATED = {
    **dict.fromkeys(("bloom", "mpt"), "alibi"),
    **dict.fromkeys(("ctrl", "fsmt", "pegasus_x", "xglm"), "sinusoidal"),
    **dict.fromkeys(("jamba", "kimi_linear", "zamba", "zamba2"), "nope"),
    **dict.fromkeys(("falcon_mamba", "mamba", "mamba2", "rwkv", "xlstm"), "none"),
    **dict.fromkeys(("cpmant", "inkling2_text", "longt5", "mt5", "t5", "umt5"), "relative"),
}
"""Positions of classes that rotate nothing, from their modelling files; all the others have tables of them."""
LEAST = {
    "flint": "mixed", "lara_mini": "mixed", "muse_glimmer_text": "mixed", "muse_spark_text": "mixed",
    "mistral_large4_text": "mixed",
}  # fmt: skip
"""Rows of which fewer layers rotate than attend although it is not four of five."""


def test_positions_are_rotated_where_a_function_for_it_ran() -> None:
    """In five layers of attention it is called at least five times; four times where every fourth or fifth has none."""
    for row, what in called().items():
        times = sum(n for f, n in what["functions"].items() if f.startswith("apply_"))
        expected = UNROTATED.get(row, "learned") if not times else LEAST.get(row, "mixed" if times == 4 else "rope")
        assert (row, ours(row, {}).fingerprint.position) == (row, expected)


BLOCKS = {
    "N": ("norm", "ln_", "ln1", "ln2"), "A": ("attn", "attention", "mixer", "mamba", "temporal_block", "mlstm_layer"),
    "F": ("mlp", "ffn", "feed_forward", "block_sparse_moe", "fc1", "mlp_block"),
}  # fmt: skip
PLACED = {"NANF": "pre", "NANANF": "pre", "NAF": "parallel", "NANNFN": "sandwich", "ANFN": "post", "ANANFN": "post",
          "NA": "pre", "NAANF": "pre", "NANNFNN": "sandwich", "A": "post"}  # fmt: skip
"""Norms, attention and network in the order in which the last layer calls them; BERT's kin have norms inside."""
OTHERWISE = {
    "gpt_neox": "parallel", "minimax": "post", "olmo_hybrid": "mixed", "inkling2_text": "mixed",
    **dict.fromkeys(("exaone4", "flex_olmo", "olmo2", "olmo3"), "post_sublayer"),
    **dict.fromkeys(("roberta-prelayernorm", "xlm-roberta-xl"), "pre"), **dict.fromkeys(("zamba", "zamba2"), "mixed"),
}  # fmt: skip
"""Where the sums stand says more than the order: beside each other, around the norms, or behind them."""


def test_norms_stand_where_the_last_layer_calls_them() -> None:
    """Before attention and network, around both, behind both, or once before the two."""
    checked = 0
    for row, what in called().items():
        kinds = [next((k for k, parts in BLOCKS.items() if any(p in n for p in parts)), "") for n in what["order"]
                 if not n.endswith(("dropout", "_gate", "_scale", "_convolution", "_input"))]  # fmt: skip
        word = OTHERWISE.get(row, PLACED.get("".join(kinds)))
        if word is not None:
            assert (row, ours(row, {}).fingerprint.norm_placement) == (row, word)
            checked += 1
    assert checked > 150
