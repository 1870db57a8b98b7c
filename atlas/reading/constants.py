"""What changes the computation and not the shape: epsilons, rotary pairing, softcaps, scales, routing, token ids.

Two configs with one design and other constants give models that load, run and compute something else. Values are as
stated, else what the library's class takes when the key is absent (transformers 5.24, models/*/configuration_*.py);
where neither is known there is no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from atlas.numbers.fingerprint import Evidence
from atlas.reading.answers import ALIAS, EXPLICIT
from atlas.reading.config import Config
from atlas.reading.values import mapping
from schemas.vocabulary import Origin

EPSILON = (
    "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon", "layernorm_epsilon",
    "rms_norm_epsilon",
)  # fmt: skip
PAIRING = ("rope_interleave", "rope_interleaved")
TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "mask_token_id")
PLAIN = frozenset((
    "hc_eps", "attn_logit_softcapping", "final_logit_softcapping", "logit_softcapping", "output_logit_soft_cap",
    "gate_soft_cap", "attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling",
    "logit_scale", "query_pre_attn_scalar", "scale_emb", "scale_depth", "dim_model_base", "routed_scaling_factor",
    "router_scaling_factor", "route_scale", "scoring_func", "score_function", "moe_router_activation_func",
    "expert_selection_fn", "norm_topk_prob", "topk_method", "n_group", "topk_group", "scale_attn_by_inverse_layer_idx",
    "swiglu_limit", "swiglu_alpha", "time_step_limit", "rope_local_base_freq", "clip_qkv", "attn_temperature_tuning",
    "attn_scale", "floor_scale", "scale_embedding", "mup_denominator", "key_multiplier", "lm_head_multiplier",
    "embedding_scale", "moe_router_logit_softcapping",
))  # fmt: skip
"""Keys whose constant has the same name."""
ROTARY = frozenset((
    "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor",
    "short_factor", "long_factor", "mrope_section",
))  # fmt: skip
"""Settings of a rotary scaling, under `rope_parameters` or `rope_scaling`."""

NAMES: Mapping[str, str] = {
    **{k: k for k in (*PLAIN, *TOKENS)},
    **dict.fromkeys(EPSILON, "norm_epsilon"),
    **dict.fromkeys(PAIRING, "rotary_pairing"),
}
"""The constant that a key states."""


@cache
def _known() -> Mapping[str, Any]:
    found = orjson.loads(files("atlas.families").joinpath("_constants.json").read_bytes())
    pairing = {m: word for word, names in found["pairing"].items() for m in names.split()}
    return {"defaults": found["defaults"], "pairing": pairing}


def constants_of(c: Config) -> tuple[Evidence, ...]:
    """The constants of a config, by name, each with where it comes from."""
    found = dict(_unstated(c.rules.model_type))
    if c.outer is not c.raw:
        found |= {key: _stated(key, c.outer[key], "") for key in TOKENS if c.outer.get(key) is not None}
    for key, value in c.raw.items():
        name = NAMES.get(key)
        if name is not None:
            found.pop(name, None)
            if value is not None:
                found[name] = _stated(key, value, c.prefix)
    return tuple(sorted((found | _rotary(c)).values(), key=_name))


def _name(e: Evidence) -> str:
    return e.field


@cache
def _unstated(model_type: str) -> Mapping[str, Evidence]:
    """What a class takes where no key states it: its defaults, and how it turns a head."""
    found: dict[str, Evidence] = {}
    for key, value in _known()["defaults"].get(model_type, {}).items():
        name = NAMES.get(key)
        if name is not None:
            source = f"{model_type} when the key is absent"
            found[name] = Evidence(name, _paired(name, value), Origin.CLASS_DEFAULT.value, source)
    word = _known()["pairing"].get(model_type)
    if word is not None and "rotary_pairing" not in found:
        rule = f"how the class of {model_type} turns a head"
        found["rotary_pairing"] = Evidence("rotary_pairing", word, Origin.FAMILY_RULE.value, rule)
    return found


def _stated(key: str, value: Any, prefix: str) -> Evidence:
    name = NAMES[key]
    return Evidence(name, _paired(name, value), EXPLICIT if key == name else ALIAS, prefix + key)


def _paired(name: str, value: Any) -> Any:
    """The words of a pairing: neighbours are turned together, or the two halves of a head are."""
    return ("interleaved" if value else "half") if name == "rotary_pairing" else value


def _rotary(c: Config) -> dict[str, Evidence]:
    """The settings of a rotary scaling."""
    found: dict[str, Evidence] = {}
    for key in ("rope_scaling", "rope_parameters"):
        table: Mapping[str, Any] = mapping(key, c.raw[key]) if c.raw.get(key) is not None else {}
        for part in ROTARY.intersection(table):
            name = f"rope_{part}"
            found[name] = Evidence(name, table[part], EXPLICIT, f"{c.prefix}{key}.{part}")
    return {name: e for name, e in found.items() if e.value is not None}
