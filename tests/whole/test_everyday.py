"""Everyday tasks at the command line, each right in one command that fits a terminal of eighty columns."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.refresh.steps import Options, gather, publish, tabulate

SMALL = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "max_position_embeddings": 512, "tie_word_embeddings": False,
}  # fmt: skip
QWEN, LLAMA = "8,190,735,360", "8,030,261,248"
JOIN = "SELECT repo_id, price, n_layers FROM mine JOIN fingerprints USING (repo_id)"
TASKS: list[tuple[str, list[str], str]] = [
    ("a loose name", ["show", "llama 3.1 8b"], LLAMA),
    ("owner and name", ["show", "Qwen/Qwen3-8B"], QWEN),
    ("a Hub address", ["show", "https://huggingface.co/Qwen/Qwen3-8B"], QWEN),
    ("inspect a name", ["inspect", "Qwen/Qwen3-8B"], QWEN),
    ("a config", ["inspect", "base/config.json"], "86,848"),
    ("a checkpoint folder", ["inspect", "base"], "86,848"),
    ("a folder of configs", ["inspect", "configs"], "2 configs: 2 known"),
    ("my fine-tune beside its base", ["compare", "tuned", "base"], "vocabulary 104 100"),
    ("what if 4 KV heads", ["show", "llama 3.1 8b", "--set", "num_key_value_heads=4"], "65,536"),
    # 204,800 tokens of 2 x 32 x 8 x 128 elements of one byte
    ("cache at 200k, fp8", ["show", "llama 3.1 8b", "--at", "200k", "--dtype", "fp8"], "13,421,772,800 bytes"),
    ("six models", ["compare", *["llama 3.1 8b", "qwen3-8b", "deepseek-v3", "gpt-oss-120b", "gemma-3-27b-it", "base"]],
     "F base"),
    # an indexer keeps 128 elements of two bytes in each of 61 layers
    ("V3 beside V3.2", ["compare", "deepseek-v3", "deepseek-ai/DeepSeek-V3.2-Exp"], "+ index, each token 0 15,616"),
    ("join my CSV", ["sql", JOIN, "--with", "mine=p.csv"], "Qwen/Qwen3-8B 3 36"),
    ("a query from a file", ["sql", "-f", "q.sql", "--param", "m=Qwen/Qwen3-8B"], "36"),
    ("does it fit an H100", ["fit", "llama 3.1 8b", "--gpu", "h100", "--at", "32k"], "fits"),
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the catalogue's snapshot, and files of a reader's own in it."""
    options = Options(tmp_path_factory.mktemp("home"))
    gathered = gather(options)
    publish(options, gathered, tabulate(gathered))
    configs = {"base": {}, "tuned": {"vocab_size": 104}, "configs/a": {}, "configs/b": {"num_hidden_layers": 3}}
    for name, changes in configs.items():
        (options.home / name).mkdir(parents=True)
        (options.home / name / "config.json").write_text(json.dumps(SMALL | changes))
    (options.home / "p.csv").write_text("repo_id,price\nQwen/Qwen3-8B,3\n")
    (options.home / "q.sql").write_text("SELECT n_layers FROM fingerprints WHERE repo_id = $m")
    return options.home


@pytest.mark.parametrize(("task", "command", "says"), TASKS, ids=[t[0] for t in TASKS])
def test_a_task_is_one_command(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    task: str,
    command: list[str],
    says: str,
) -> None:
    """The answer holds the figure, no line is wider than a terminal, and it costs less than a second and a half."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    started = time.process_time()
    assert main([*command, "--home", str(home)]) == 0, task
    spent = time.process_time() - started
    out = capfdbinary.readouterr().out.decode()
    assert says in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert spent < 1.5
