"""What other public tools say of the configs that aiconfigurator-core ships, as JSON on standard output.

Run by `peers_table.py` with the interpreter of an environment that has the tools; nothing here needs a network.
"""

# What is compared is installed elsewhere or not at all.
# pyright: reportMissingImports=false

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONTEXT = 131_072
Config = dict[str, Any]
Figures = dict[str, int]


def kvfit(_: str, config: Config) -> Figures:
    """Cache and state of one sequence."""
    from kvfit.architectures import estimate_cache

    return {"kv_bytes_128k": int(estimate_cache(config, context_tokens=CONTEXT, kv_bytes=2.0).total_bytes)}


def hf_mem(_: str, config: Config) -> Figures:
    """The cache at 2 bytes an element; which part of the config is read is decided as in its `run.py`."""
    from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size

    wraps = "text_config" in config and any("ForConditionalGeneration" in a for a in config["architectures"])
    read = config["text_config"] if wraps else config
    return {"kv_bytes_128k": compute_safetensors_kv_cache_size(read, "BF16", CONTEXT)}


def llmviz(name: str, config: Config) -> Figures:
    """Parameters, and the cache per token times the context."""
    from llmviz.spec import parse_config

    spec = parse_config(config, name)
    return {"params_total": spec.total_params, "kv_bytes_128k": spec.kv_cache_per_token_bytes * CONTEXT}


def aiconfigurator(name: str, _: Config) -> Figures:
    """The cache on one device, unsharded; a model that its list of names lacks would have to be downloaded."""
    from aiconfigurator_core.sdk import common, config
    from aiconfigurator_core.sdk.models import get_model

    plain = config.ModelConfig(kvcache_quant_mode=common.KVCacheQuantMode.bfloat16, moe_tp_size=1, moe_ep_size=1)
    return {"kv_bytes_128k": int(get_model(name, plain, "trtllm").get_kvcache_bytes_per_sequence(CONTEXT))}


def modelinfo(_: str, config: Config) -> Figures:
    """The cache at 2 bytes an element, from the config alone: no tensor is listed."""
    from modelinfo.calculator import calculate_footprint

    return {"kv_bytes_128k": int(calculate_footprint({}, context_length=CONTEXT, config=config)["kv_cache_bytes"])}


def vramscout(_: str, config: Config) -> Figures:
    """The state of one sequence at 2 bytes an element, index keys too.

    What it would ask the Hub for, the weights of a model with experts, enters no cache and is not asked.
    """
    from vramscout import modern_v06
    from vramscout.component_registry import build_component_graph
    from vramscout.components import GIB, EvalContext
    from vramscout.profile_fixups import apply_profile_fixups

    modern_v06._selected_hub_metadata = lambda *_: (1, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config), "utf-8")
        profile = apply_profile_fixups(modern_v06.inspect_modern_model(str(path)), str(path), None)
    here = EvalContext(context=CONTEXT, batch=1, kv_bytes=2, indexer_bytes=2, tp=1, dcp=1)
    return {"kv_bytes_128k": round(sum(build_component_graph(profile).parts_gib(here).values()) * GIB)}


TOOLS: dict[str, Callable[[str, Config], Figures]] = {
    "kvfit": kvfit,
    "hf-mem": hf_mem,
    "llmviz": llmviz,
    "aiconfigurator-core": aiconfigurator,
    "modelinfo-cli": modelinfo,
    "vramscout": vramscout,
}


def configs() -> dict[str, Path]:
    """The shipped model configs by repository."""
    import aiconfigurator_core

    folder = Path(str(aiconfigurator_core.__file__)).parent / "model_configs"
    found = sorted(p for p in folder.glob("*_config.json") if not p.name.endswith("_hf_quant_config.json"))
    return {p.name.removesuffix("_config.json").replace("--", "/", 1): p for p in found}


def ask(tool: str, name: str, config: Config) -> dict[str, Any]:
    """The tool's figures, or why it has none."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return dict(TOOLS[tool](name, copy.deepcopy(config)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises is its answer
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Ask every tool that is installed about every config."""
    logging.disable(logging.CRITICAL)
    asked = sys.argv[1:]
    found = {
        name: {tool: ask(tool, name, json.loads(path.read_bytes())) for tool in asked} | {"path": str(path)}
        for name, path in configs().items()
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
