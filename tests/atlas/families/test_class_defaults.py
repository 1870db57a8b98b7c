"""Every class default of every row, held against the configuration class of the library where it can be imported.

The library is a reference, not a dependency: the comparison runs in a second Python that has it (named by
`ATLAS_REFERENCE_PYTHON`), or in this one, and is skipped, saying so, where neither has it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from atlas.families import available, family, known

ASK = """
import inspect, json, re, sys, warnings
warnings.filterwarnings("ignore")
from transformers import CONFIG_MAPPING, PretrainedConfig

ABSENT = "<absent>"


def plain(value):
    if isinstance(value, PretrainedConfig):
        return {k: plain(v) for k, v in value.to_dict().items()}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def old_keys(cls):
    own = [c for c in cls.__mro__ if "__post_init__" in c.__dict__ and c is not PretrainedConfig]
    sources = [inspect.getsource(c.__dict__["__post_init__"]) for c in own]
    found = {}
    taken = r'kwargs\\.(?:pop|get)\\(\\s*"(\\w+)"(?:,\\s*([^()]+?))?\\s*\\)'
    for key, default in re.findall(taken, "\\n".join(sources)):
        try:
            found[key] = eval(default or "None")
        except Exception:
            found[key] = None
    return found


def answer(cls, made, key):
    first, _, rest = key.partition(".")
    value = getattr(made, first, ABSENT)
    for step in rest.split(".") if rest else ():
        value = value.get(step, ABSENT) if isinstance(value, dict) else getattr(value, step, ABSENT)
    return plain(value)


questions, answers = json.load(sys.stdin), {}
for model_type, keys in questions.items():
    if model_type in CONFIG_MAPPING:
        cls = CONFIG_MAPPING[model_type]
        made, older = cls(), old_keys(cls)
        made.allow_global_per_layer_attribute_access = True
        signature = {k: plain(f.default) for k, f in cls.__dataclass_fields__.items()}
        answers[model_type] = {
            k: [answer(cls, made, k), signature.get(k, ABSENT), plain(older.get(k, ABSENT))] for k in keys
        }
json.dump(answers, sys.stdout)
"""

RUNTIME = {"is_decoder", "add_cross_attention", "tie_word_embeddings"}
"""Fields that classes took from the library's base class, false there; text models leave the tie to a wrapper."""

ELSEWHERE = {
    # what the class's code takes without asking its configuration
    ("ctrl", "hidden_act"), ("lfm2", "hidden_act"), ("lfm3", "hidden_act"), ("xlm", "hidden_act"),
    ("switch_transformers", "feed_forward_proj"), ("deepseek_v4", "num_hash_layers"),
    ("hunyuan_v1_dense", "ffn_bias"), ("hunyuan_v1_moe", "ffn_bias"),
    *((f"inkling{x}_text", f) for x in ("", "2", "2_loop") for f in ("qkv_bias", "o_bias")),
    # nothing is rotated: no answer is asked for
    ("kimi_linear", "rope_theta"), ("glm5_next_text", "rope_theta"),
    # the base where a stated table names none; the table that the class writes has another
    ("ministral3", "rope_theta"),
    # sinusoids, or an encoder that the class has not: no table of positions is stored
    ("pegasus_x", "encoder_positions"), ("pegasus_x", "decoder_positions"), ("trocr", "encoder_positions"),
    # windowed layers of their own shape, which the class keeps in its configurations by layer
    *(("dots3_note_text", f"swa_{x}") for x in (
        "num_attention_heads", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
    )),
    # every layer holds experts; the parent's rule for which do is asked and answered
    *((x, "decoder_sparse_step") for x in ("lara_mini", "mellum", "qwen3_5_moe_text")),
    # lists of kinds that the class writes where none is stated, by these numbers
    *((x, "first_k_dense_replace") for x in (
        "glm4_moe_lite", "glm5_next_text", "hy_v3", "hy_v4", "hy_v4_vl_text", "kolibri1", "laguna", "mimo_v2_flash",
        "minimax_m3_vl_text", "step3p5",
    )),
    *((x, f"index_{y}") for x in ("hy_v4", "hy_v4_vl_text") for y in ("topk_freq", "skip_topk_offset")),
    # a row that takes a parent's experts away: nothing asks
    *(("youtu", x) for x in (
        "moe_intermediate_size", "n_shared_experts", "num_experts", "num_experts_per_tok", "first_k_dense_replace",
    )),
    # drafting layers stand in the checkpoints, not in the library's classes
    *((x, "n_mtp_layers") for x in (
        "deepseek_v32", "glm4_moe_lite", "glm4v_moe_text", "glm_moe_dsa", "kimi_linear",
    )),
}  # fmt: skip
"""Defaults that no key of the configuration class holds, by the reason."""


def reference() -> str:
    """A Python that can import the library; skips where there is none."""
    other = os.environ.get("ATLAS_REFERENCE_PYTHON")
    if other:
        return other
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is neither here nor behind ATLAS_REFERENCE_PYTHON")
    return sys.executable


def asked(model_type: str) -> list[str]:
    """The keys that the defaults of a row stand for."""
    rules = family(model_type)
    return sorted({k for f in rules.defaults for k in rules.keys.get(f, (f,))} | {"rope_parameters"})


@cache
def answered() -> dict[str, dict[str, list[Any]]]:
    """For each row and key what the class holds: made bare, in its signature, and where an old key is absent."""
    questions = {m: asked(m) for m in sorted(available()) if known(m) and family(m).text is None}
    done = subprocess.run(
        [reference(), "-c", ASK], input=json.dumps(questions), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def values(answers: dict[str, list[Any]], field: str, keys: tuple[str, ...]) -> list[Any]:
    """Every value that the class holds under one of the keys; of RoPE's, those of its table too."""
    found = [x for k in keys for x in answers[k] if x != "<absent>" and "MISSING" not in str(x)]
    table = answers["rope_parameters"][0]
    if field in ("rope_theta", "partial_rotary_factor") and isinstance(table, dict):
        found += [t.get(field) for t in (table, *table.values()) if isinstance(t, dict)]
    return found


def holds(value: Any, found: list[Any]) -> bool:
    """The row's value is one of those found; of a table, the row may keep what it reads."""
    if not isinstance(value, dict):
        return value in found
    return any(isinstance(f, dict) and all(f.get(k) == v for k, v in value.items()) for f in found)


def test_every_class_default_is_that_of_the_configuration_class() -> None:
    """What a row takes for an absent key is what the library's class takes, or the exception is named above."""
    wrong = [
        f"{m}: {field} = {value}, the class has {found}"
        for m, answers in answered().items()
        for field, value in family(m).defaults.items()
        if field not in RUNTIME and (m, field) not in ELSEWHERE
        for found in [values(answers, field, family(m).keys.get(field, (field,)))]
        if not holds(value, found)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_named_exceptions_are_needed() -> None:
    """An exception that the class agrees with by now is taken out of the list."""
    kept = {(m, f) for m, a in answered().items() for f, v in family(m).defaults.items()
            if (m, f) in ELSEWHERE and not holds(v, values(a, f, family(m).keys.get(f, (f,))))}  # fmt: skip
    assert kept == {e for e in ELSEWHERE if e[0] in answered()}
