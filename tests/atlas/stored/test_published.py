"""Published sizes of quantized checkpoints, held against the rule on the published config of the model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import SHARED

from atlas.interpret import derive
from atlas.stored.held import by_dtype
from pipeline.sources.beside import Beside, weighed

CONFIGS = SHARED / "hub" / "configs"
PUBLISHED = SHARED / "stored" / "published.jsonl"

FP8 = {
    "quant_method": "fp8",
    "fmt": "e4m3",
    "weight_block_size": [128, 128],
    "modules_to_not_convert": ["lm_head", "visual", "model.visual"],
}
"""As Qwen, DeepSeek and others publish it."""


def _compressed(form: str, weights: dict[str, Any], inputs: dict[str, Any] | None) -> dict[str, Any]:
    group = {"targets": ["Linear"], "format": form, "weights": weights, "input_activations": inputs}
    ignore = ["lm_head", "re:.*mlp.gate$", "re:.*visual.*", "re:.*vision_tower.*", "re:.*multi_modal_projector.*"]
    return {
        "quant_method": "compressed-tensors", "version": "0.9", "format": form, "ignore": ignore,
        "config_groups": {"group_0": group},
    }  # fmt: skip


_FLOAT8 = {"type": "float", "num_bits": 8, "symmetric": True}
_INT8 = {"type": "int", "num_bits": 8, "symmetric": True, "strategy": "channel"}
_INT4 = {"type": "int", "num_bits": 4, "symmetric": True, "strategy": "group", "group_size": 128}
_TOKEN = {"dynamic": True, "num_bits": 8}
SCHEMES = {
    "+block scales": FP8,
    "+channel scales": _compressed("float-quantized", {**_FLOAT8, "strategy": "channel"}, _TOKEN),
    "w8a8": _compressed("int-quantized", _INT8, _TOKEN),
    "w4 g128 + 2 shape a module": _compressed("pack-quantized", _INT4, None),
    "nvfp4 + block scales + 2 a module": _compressed(
        "nvfp4-pack-quantized", {"type": "float", "num_bits": 4, "strategy": "tensor_group"}, {"num_bits": 4}
    ),
}


def _facts() -> list[dict[str, Any]]:
    """Facts with a count of elements whose rule is one of the schemes, and whose base config is at hand."""
    if not PUBLISHED.is_file():
        return []
    lines = [json.loads(line) for line in PUBLISHED.read_text("utf-8").splitlines()]
    return [
        f for f in lines if f.get("hub_elements") and _rule(f) in SCHEMES and "base config in shared" in f["source"]
    ]


def _rule(fact: dict[str, Any]) -> str:
    return str(fact.get("rule")).removesuffix(" + head stored too")


def _config(fact: dict[str, Any]) -> dict[str, Any]:
    base = fact["source"].rpartition("hub/configs: ")[2].strip()
    return json.loads((CONFIGS / f"{base}.json").read_text("utf-8"))


@pytest.mark.skipif(not _facts(), reason=f"{PUBLISHED} is not there")
@pytest.mark.parametrize("fact", _facts(), ids=lambda f: f["repo"])
def test_elements_are_what_the_hub_counted(fact: dict[str, Any]) -> None:
    """All elements by rule, scalars without a shape aside, are the Hub's count; a head stored again is stored again."""
    config = _config(fact) | {"quantization_config": SCHEMES[_rule(fact)], "transformers_version": "5.24.0"}
    found = derive(config)
    assert found.stored.reason is None
    again = found.fingerprint.params_embedding if fact["rule"].endswith("head stored too") else 0
    counted = {d: 8 * n if d == "I32" else n for d, n in by_dtype(found.stored.rows).items()}  # eight weights an int32
    elements = sum(counted.values()) + (again or 0)
    assert elements == fact["hub_elements"]
    if "rule_bytes" in fact and _rule(fact) != "+channel scales":
        assert found.fingerprint.weight_bytes_checkpoint == fact["rule_bytes"] - 2 * (again or 0)


REPOSITORIES = {
    "openai/gpt-oss-120b": ("openai--gpt-oss-120b", 65_248_815_744),
    "deepseek-ai/DeepSeek-V3": ("deepseek-ai--DeepSeek-V3", 688_574_839_360),
    "nvidia/MiniMax-M2.7-NVFP4, 62 x 256 biases in F32 and 2 x 62 cache scales counted": (
        "nvidia--MiniMax-M2.7-NVFP4",
        134_401_693_696 + 4 * (62 * 256 + 2 * 62),
    ),
    "nvidia/Gemma-4-31B-IT-NVFP4, 2 x 60 cache scales counted": (
        "nvidia--Gemma-4-31B-IT-NVFP4",
        32_633_250_304 + 4 * 2 * 60,
    ),
    "nvidia/Gemma-4-26B-A4B-NVFP4, 2 x 30 cache scales counted": (
        "nvidia--Gemma-4-26B-A4B-NVFP4",
        18_782_356_064 + 4 * 2 * 30,
    ),
    "moonshotai/Kimi-K2.5": ("moonshotai--Kimi-K2.5", 595_148_192_736),
    "Qwen/Qwen3-8B-FP8": ("Qwen--Qwen3-8B-FP8", 9_437_399_040),
    "Qwen/Qwen3-30B-A3B-FP8": ("Qwen--Qwen3-30B-A3B-FP8", 31_174_545_408),
}


@pytest.mark.skipif(not CONFIGS.is_dir(), reason=f"{CONFIGS} is not there")
@pytest.mark.parametrize("repo", REPOSITORIES)
def test_published_configs_give_published_bytes(repo: str) -> None:
    """Bytes by rule from the config as published are those of the files (headers aside)."""
    name, expected = REPOSITORIES[repo]
    assert derive((CONFIGS / f"{name}.json").read_bytes()).fingerprint.weight_bytes_checkpoint == expected


SILENT = {
    # the same structure as DeepSeek-V3; 58 layers with 256 correction biases in F32 and one of the drafting layer
    "nvidia--DeepSeek-V3.1-NVFP4": ("deepseek-ai--DeepSeek-V3", 393_632_819_968, 59 * 256),
    # 75 layers with biases and the drafting layer
    "nvidia--GLM-5-NVFP4": ("zai-org--GLM-5-FP8", 435_238_854_912, 76 * 256),
    "nvidia--Qwen3-235B-A22B-NVFP4": ("Qwen--Qwen3-235B-A22B", 132_806_618_624, 0),
    "nvidia--Llama-3.1-70B-Instruct-FP8": ("meta-llama--Llama-3.1-70B-Instruct", 70_553_706_496, 0),
}
"""A settings file, the config of its model, the elements the Hub counted, and those of them that are F32 vectors."""


@pytest.mark.skipif(not CONFIGS.is_dir(), reason=f"{CONFIGS} is not there")
@pytest.mark.parametrize("name", SILENT)
def test_a_silent_config_is_read_with_the_settings_file_beside_it(name: str) -> None:
    """hf_quant_config.json alone says how the weights lie; elements but for scalars are what the Hub counted."""
    base, expected, vectors = SILENT[name]
    config = json.loads((CONFIGS / f"{base}.json").read_text("utf-8"))
    config.pop("quantization_config", None)
    settings = json.loads((SHARED / "stored" / "hf_quant" / f"{name}_hf_quant_config.json").read_text("utf-8"))
    raw = json.dumps(config).encode()
    found = weighed(derive(raw), raw, Beside({"hf_quant_config.json": settings}))
    counted = sum(n for d, n in by_dtype(found.stored.rows).items() if d != "F32") + vectors
    assert counted == expected
    assert found.fingerprint.quant_method == "modelopt"
