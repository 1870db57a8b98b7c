"""Thirty everyday tasks, each one command, line or question, with what its answer has to hold, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import homes
from weight_files import SMALL, adapter, gguf, safetensors

COMMIT = "c0ffee" + "0" * 34
QWEN, LLAMA = "8,190,735,360", "8,030,261,248"  # as published
JOIN = "SELECT repo_id, price, n_layers FROM mine JOIN fingerprints USING (repo_id)"
SIX = ["llama 3.1 8b", "qwen3-8b", "deepseek-v3", "gpt-oss-120b", "gemma-3-27b-it", "base"]

COMMANDS: list[tuple[str, list[str], str]] = [
    ("a loose name", ["show", "llama 3.1 8b"], LLAMA),
    ("owner and name", ["show", "Qwen/Qwen3-8B"], QWEN),
    ("a Hub address", ["show", "https://huggingface.co/Qwen/Qwen3-8B/blob/main/config.json"], QWEN),
    ("in the cache on disk", ["show", "org/cached"], "86,848"),
    ("at a revision", ["inspect", f"org/cached@{COMMIT[:8]}"], f"cache at c0ffee00, revision {COMMIT}"),
    ("a config", ["inspect", "base/config.json"], "86,848"),
    ("a checkpoint folder", ["inspect", "base"], "86,848"),
    ("a folder of configs", ["inspect", "configs"], "2 configs: 2 known"),
    # 86,848 weights of two bytes
    ("a GGUF", ["inspect", "small.gguf"], "173,696 bytes"),
    # rank 8 on a matrix of 64 x 64: 8 x 64 and 64 x 8
    ("a LoRA", ["inspect", "lora"], "An adapter (LORA) of org/base, no model of its own."),
    ("a LoRA's own weights", ["show", "lora"], "its own weights 1,024 in 2 tensors, 2,048 bytes"),
    ("a file of weights", ["inspect", "lone.safetensors"], "weights 32"),
    # 4 tokens more, in two tables of width 64: 512 weights
    ("my fine-tune beside its base", ["compare", "tuned", "base"], "parameters 87,360 86,848"),
    # 2 x 32 layers x 4 heads x 128 x 2 bytes
    ("what if 4 KV heads", ["show", "llama 3.1 8b", "--set", "num_key_value_heads=4"], "each token adds 65,536 B"),
    ("the same beside the original", ["compare", "llama 3.1 8b", "--set", "num_key_value_heads=4"],
     "bytes a token adds 131,072 65,536"),
    ("a key that nothing reads", ["show", "qwen3-8b", "--set", "num_key_value_head=4"],
     "the nearest key that is read: num_key_value_heads"),
    # 204,800 tokens of 2 x 32 x 8 x 128 elements of one byte
    ("cache at 200k, fp8", ["show", "llama 3.1 8b", "--at", "200k", "--dtype", "fp8"], "13,421,772,800 bytes"),
    ("six models", ["compare", *SIX], "F base"),
    # an indexer keeps 128 elements of two bytes in each of 61 layers
    ("V3 beside V3.2", ["compare", "deepseek-v3", "deepseek-ai/DeepSeek-V3.2-Exp"], "+ index, each token 0 15,616"),
    ("where a value is from", ["show", "llama 3.1 8b", "--evidence"], "num_key_value_heads 8 explicit"),
    ("for a script", ["show", "llama 3.1 8b", "--json"], '"kv_bytes_per_token":131072'),
    ("join my CSV", ["sql", JOIN, "--with", "mine=p.csv"], "Qwen/Qwen3-8B 3 36"),
    ("a query from a file", ["sql", "-f", "q.sql", "--param", "m=Qwen/Qwen3-8B"], "36"),
    ("does it fit an H100", ["fit", "llama 3.1 8b", "--gpu", "h100", "--at", "32k"], "fits"),
]  # fmt: skip
"""At the command line; JSON lines may be longer than a terminal."""

BESIDE = "snap.compare(m := snap.model('llama 3.1 8b'), m.what_if(num_key_value_heads=4))"
LINES: list[tuple[str, str, Any]] = [
    # 131,072 tokens x 65,536 elements of one byte, eight times
    ("a cache in Python", "snap.model('llama 3.1 8b').cache(at='128k', dtype='fp8', sequences=8)", 64 * 2**30),
    ("a what-if in Python", "snap.model('qwen3 8b').what_if(num_hidden_layers=40).n_layers", 40),
    # a bar for each of its five kinds of weights
    ("a chart in a notebook", "snap.model('llama 3.1 8b')._repr_html_().count('<rect')", 5),
    (
        "a what-if beside its original",
        f"{BESIDE}.frame.filter(pl.col('fact') == 'KV heads').row(0)[2:]",
        ("8", "4", True),
    ),
]
"""Lines of a Python session with `snap`, an open snapshot, and `pl`."""

QUESTIONS: list[tuple[str, str, dict[str, Any], list[str | int], Any]] = [
    ("an agent asks a figure", "show", {"model": "llama 3.1 8b"}, ["fields", "params_total", "value"], 8_030_261_248),
    ("an agent asks what if", "show", {"model": "llama 3.1 8b", "what_if": ["num_key_value_heads=4"]},
     ["fields", "kv_bytes_per_token", "value"], 65_536),
    ("an agent sets six beside each other", "compare", {"models": [*SIX[:5], "qwen3-14b"], "fields": ["n_layers"]},
     ["fields", "n_layers"], [32, 36, 61, 36, 62, 40]),
    ("an agent asks of a GPU", "fit", {"model": "llama 3.1 8b", "gpu": "h100", "at": "32k"}, ["fit", "fits"], True),
]  # fmt: skip
"""Over the Model Context Protocol, with where the value stands in the answer."""


def home(base: Path) -> Path:
    """A home with the catalogue's snapshot, a cache as huggingface_hub keeps it, and files of a reader's own."""
    homes.catalogue(base)
    configs = {"base": {}, "tuned": {"vocab_size": 104}, "configs/a": {}, "configs/b": {"num_hidden_layers": 3}}
    held = base / "cache" / "models--org--cached"
    for folder, changes in {**{base / n: c for n, c in configs.items()}, held / "snapshots" / COMMIT: {}}.items():
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(SMALL | changes))
    (held / "refs").mkdir()
    (held / "refs" / "main").write_text(COMMIT)
    (base / "p.csv").write_text("repo_id,price\nQwen/Qwen3-8B,3\n")
    (base / "q.sql").write_text("SELECT n_layers FROM fingerprints WHERE repo_id = $m")
    gguf(base / "small.gguf")
    safetensors(base / "lone.safetensors", {"w.weight": (4, 8)})
    lora = {"q_proj.lora_A.weight": (8, 64), "q_proj.lora_B.weight": (64, 8)}
    adapter(base / "lora", lora, peft_type="LORA", base_model_name_or_path="org/base", r=8, target_modules=["q_proj"])
    return base
