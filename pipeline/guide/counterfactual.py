"""What a model would be without a technique: the same config with other keys, derived by the same rules.

Each change reads the config it is given, so that "as MHA" sets as many KV heads as this model has query heads. What was
set is kept beside the result, and `atlas inspect --set` repeats it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from atlas.derived import Derived
from atlas.interpret import derive
from pipeline.errors import Invalid

Raw = dict[str, Any]
Changes = dict[str, Any]

GQA_HEADS = 8
SMALL_VOCABULARY = 32_000
LATENT_KEYS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim")
EXPERT_COUNTS = ("n_routed_experts", "num_local_experts", "num_experts")
EXPERTS_USED = ("num_experts_per_tok", "experts_per_token")


class Counterfactual(NamedTuple):
    """A derived what-if, and the keys that were set (null: taken out)."""

    derived: Derived
    changes: Changes

    @property
    def told(self) -> str:
        """The changes as `atlas inspect --set` takes them."""
        return ", ".join(f"{k}={_short(v)}" for k, v in self.changes.items())


def _short(value: object) -> str:
    if isinstance(value, list) and len(value) > 1 and len(set(value)) == 1:
        return f"[{json.dumps(value[0])}] x {len(value)}"
    return json.dumps(value)


def made(raw: str, change: str) -> Counterfactual:
    """Derive a config with a change of `CHANGES`; raises `Invalid` where the result is refused, or no other design."""
    config: Raw = json.loads(raw)
    design = derive(config).fingerprint.design_id
    inner = config.get("text_config", config)
    changes = CHANGES[change](inner)
    inner |= changes
    if "model_type" in changes:  # code that travels with the repository describes the family it had
        config.pop("auto_map", None)
        inner.pop("auto_map", None)
    derived = _derived(config, change)
    if derived.fingerprint.design_id == design:
        raise Invalid(f"{change} changes nothing of this config")
    return Counterfactual(derived, changes)


def toy(config: Mapping[str, Any]) -> Counterfactual:
    """Derive a config that belongs to no model; raises `Invalid` where it is refused."""
    return Counterfactual(_derived(dict(config), "a config of the page"), dict(config))


def _derived(config: Raw, what: str) -> Derived:
    derived = derive(config)
    if derived.model is None:
        f = derived.fingerprint
        raise Invalid(f"the counterfactual {what} is refused: {f.refusal_kind}, {f.refusal_reason}")
    return derived


def as_mha(config: Raw) -> Changes:
    """Every query head gets keys and values of its own."""
    return {"num_key_value_heads": config["num_attention_heads"]}


def as_mqa(_config: Raw) -> Changes:
    """One pair of keys and values for all query heads."""
    return {"num_key_value_heads": 1}


def as_gqa8(config: Raw) -> Changes:
    """Eight pairs of keys and values."""
    if "kv_lora_rank" not in config:
        return {"num_key_value_heads": GQA_HEADS}
    return _without_latent(config, GQA_HEADS)


def latent_as_mha(config: Raw) -> Changes:
    """The latent attention replaced by plain heads of the width of its values, one pair of keys and values for each."""
    return _without_latent(config, config["num_attention_heads"])


def _without_latent(config: Raw, heads: int) -> Changes:
    """GLM-4.5 is the family that has DeepSeek's experts on plain attention, so its rules derive the exchange."""
    if "kv_lora_rank" not in config:
        raise Invalid("there is no latent attention to replace")
    plain: Changes = dict.fromkeys(LATENT_KEYS)
    family = {"model_type": "glm4_moe", "architectures": ["Glm4MoeForCausalLM"], "use_qk_norm": False}
    return family | {"num_key_value_heads": heads, "head_dim": config["v_head_dim"]} | plain


def without_windows(config: Raw) -> Changes:
    """Every layer looks at everything."""
    layers = config["num_hidden_layers"]
    return {"layer_types": ["full_attention"] * layers}


def every_expert(config: Raw) -> Changes:
    """The same weights, all of them used: what the total would cost as a dense network."""
    return {k: config[_first(config, EXPERT_COUNTS)] for k in EXPERTS_USED if k in config}


def only_active(config: Raw) -> Changes:
    """As many experts as one token uses: the dense network of the same compute."""
    return {_first(config, EXPERT_COUNTS): config[_first(config, EXPERTS_USED)], **_ungrouped(config)}


def _ungrouped(config: Raw) -> Changes:
    return {"n_group": 1, "topk_group": 1} if config.get("n_group") else {}


def _first(config: Raw, keys: tuple[str, ...]) -> str:
    for key in keys:
        if key in config:
            return key
    raise Invalid(f"none of {', '.join(keys)} is in the config: it has no experts to change")


def untied(_config: Raw) -> Changes:
    """An unembedding of its own beside the token table."""
    return {"tie_word_embeddings": False}


def divided_heads(config: Raw) -> Changes:
    """Heads as wide as a tool takes them to be that divides the width of the model by their number."""
    return {"head_dim": config["hidden_size"] // config["num_attention_heads"]}


def without_indexer(config: Raw) -> Changes:
    """The same latent attention over every token: DeepSeek-V3's rules, which have no indexer."""
    mine = [k for k in config if k.startswith("index")]
    if not mine:
        raise Invalid("there is no indexer to take out")
    return {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], **dict.fromkeys(mine)}


def all_attention(config: Raw) -> Changes:
    """Every recurrent layer exchanged for the attention that the other layers have."""
    if "hybrid_override_pattern" in config:
        return {"hybrid_override_pattern": config["hybrid_override_pattern"].replace("M", "*")}
    if "full_attention_interval" in config:
        layers = ["full_attention"] * config["num_hidden_layers"]
        return {"full_attention_interval": 1} | ({"layer_types": layers} if "layer_types" in config else {})
    if "attn_layer_period" in config:
        return {"attn_layer_period": 1, "attn_layer_offset": 0}
    raise Invalid("no key says which of its layers are recurrent")


def without_shared_cache(config: Raw) -> Changes:
    """Every layer keeps keys and values of its own."""
    if not config.get("num_kv_shared_layers"):
        raise Invalid("no layer reads the cache of another")
    return {"num_kv_shared_layers": 0}


def tied(_config: Raw) -> Changes:
    """The token table is the unembedding as well."""
    return {"tie_word_embeddings": True}


def small_vocabulary(_config: Raw) -> Changes:
    """A vocabulary of the size that Llama 2 had."""
    return {"vocab_size": SMALL_VOCABULARY}


def half_as_deep(config: Raw) -> Changes:
    """Half the layers, each of its matrices as wide as before."""
    return {"num_hidden_layers": config["num_hidden_layers"] // 2}


CHANGES: dict[str, Callable[[Raw], Changes]] = {
    f.__name__: f
    for f in (
        as_mha, as_mqa, as_gqa8, latent_as_mha, without_windows, every_expert, only_active, untied, divided_heads,
        without_indexer, all_attention, without_shared_cache, tied, small_vocabulary, half_as_deep,
    )
}  # fmt: skip
"""The changes by name, as a page's front matter gives them."""
