"""What sheets, comparisons and objects say of the stored form, proven, not proven and hypothetical."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli import main

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 512, "vocab_size": 512,
    "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "dtype": "bfloat16",
    "transformers_version": "5.24.0",
}  # fmt: skip
"""Two layers of 589,824 weights in 14 matrices, two tables of 131,072, five norms of 256: 1,443,072."""
FP8 = {"quant_method": "fp8", "weight_block_size": None, "modules_to_convert": None, "modules_to_not_convert": None}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A command that has to succeed; what it prints."""

    def said(*words: str) -> str:
        assert main([*words]) == 0
        return capsys.readouterr().out

    return said


def _config(folder: Path, **more: object) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(MODEL | more), "utf-8")
    return str(folder)


def test_a_sheet_says_what_proves_the_bytes(tmp_path: Path, run: Callable[..., str]) -> None:
    """F8: 1,179,648; 14 scales of 4 bytes; 263,424 elements of bf16: 1,706,552 bytes by rule."""
    text = run("inspect", _config(tmp_path / "a", quantization_config=FP8))
    assert "1,706,552 bytes" in text
    assert "by rule, from its settings" in text


def test_a_sheet_says_where_nothing_proves_them(tmp_path: Path, run: Callable[..., str]) -> None:
    """2 x 1,443,072 bytes are 2.8 MiB at bf16, and the sheet says that this is no proof."""
    text = " ".join(run("inspect", _config(tmp_path / "a")).split())
    assert "2.8 MiB at bf16" in text
    assert "stored form not proven: no header, index or count proves 16 bits" in text
    assert "no header, index or count proves 16 bits" in text


def test_an_object_has_the_groups_and_the_evidence(tmp_path: Path, run: Callable[..., str]) -> None:
    """`inspect --json` has table `stored`, what it rests on, and a hypothetical form beside it, named so."""
    made = json.loads(run("inspect", _config(tmp_path / "a", quantization_config=FP8), "--json", "--weights", "mxfp4"))
    assert made["weight_bytes_checkpoint"] == sum(r["bytes"] for r in made["stored"]) == 1_706_552
    assert (made["stored_evidence"], made["stored_reason"]) == ("rule", None)
    assert {r["evidence"] for r in made["stored"]} == {"rule"}
    # half a byte and a thirty-second a weight, 263,424 elements of bf16
    assert made["hypothetical"]["weight_bytes"] == 589_824 + 36_864 + 2 * 263_424


def test_a_settings_file_beside_a_silent_config_is_read(tmp_path: Path, run: Callable[..., str]) -> None:
    """ModelOpt's file alone says NVFP4: 589,824 + 73,728 bytes, 28 scales, and bf16."""
    folder = _config(tmp_path / "a")
    said = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}
    (tmp_path / "a" / "hf_quant_config.json").write_text(json.dumps(said), "utf-8")
    made = json.loads(run("inspect", folder, "--json"))
    assert made["quant_method"] == "modelopt"
    assert made["weight_bytes_checkpoint"] == 589_824 + 73_728 + 4 * 28 + 2 * 263_424


def test_a_comparison_has_a_hypothetical_row(tmp_path: Path, run: Callable[..., str]) -> None:
    """Two models in a form that neither has, named hypothetical."""
    text = run("compare", _config(tmp_path / "a"), _config(tmp_path / "b", num_hidden_layers=4), "--weights", "fp8")
    assert "Stored as fp8, hypothetical" in text


def test_a_form_that_is_none_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the forms there are stand in the message."""
    assert main(["inspect", _config(tmp_path / "a"), "--weights", "int3"]) == 2
    assert "q4_k_m" in capsys.readouterr().err
