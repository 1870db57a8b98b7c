"""What a shell completes: commands, options, names of the atlas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from pipeline.commands._completion import models_named

START = ["-c", "from pipeline.cli import main; raise SystemExit(main())"]


@pytest.mark.parametrize(
    ("line", "gives"),
    [
        ("atlas comp", "compare"),
        ("atlas show --wei", "--weights"),
        ("atlas show Qwen/Qwen3-8", "Qwen/Qwen3-8B"),
        ("atlas show x --weights w4", "w4a16-g128"),
        ("atlas compare a b --dtype fp", "fp8"),
        ("atlas fit x --dtype q8", "q8_0"),
        ("atlas fit x --weights sto", "stored"),
        ("atlas fit x --weights nvf", "nvfp4"),
        ("atlas fit x --gpu h1", "h100"),
        ("atlas fit x --engine v", "vllm"),
        ("atlas compare Qwen/Qwen3-8B meta-llama/Llama-3.1-40", "meta-llama/Llama-3.1-405B"),
    ],
)
def test_bash_completes(tmp_path: Path, line: str, gives: str) -> None:
    """The words that the installed completion asks for, in a folder without a snapshot."""
    env = {**os.environ, "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "PYTHONPATH": str(ROOT)}
    env["_ATLAS_COMPLETE"] = "complete_bash"
    done = subprocess.run([sys.executable, *START], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert gives in done.stdout.split()


def test_paths_are_left_to_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that begins like a path or an option completes to no name."""
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path))
    assert [models_named(w) for w in ("./", "/", "~", "-")] == [[]] * 4
    assert "openai/gpt-oss-120b" in models_named("openai/")
