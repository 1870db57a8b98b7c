"""What lies beside a config decides how it is read, where it can be read in two ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stored import write

from pipeline.ask.local import one
from pipeline.verify.verification import verify
from schemas.vocabulary import Check

CONFIG: dict[str, Any] = {
    "model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"],
    "text_config": {
        "model_type": "mistral", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 32,
    },
}  # fmt: skip
"""No level states whether the head is the table: the wrapper's class takes true, the language model's false."""
LAYER = {
    "self_attn.q_proj": [8, 8], "self_attn.k_proj": [4, 8], "self_attn.v_proj": [4, 8], "self_attn.o_proj": [8, 8],
    "mlp.gate_proj": [16, 8], "mlp.up_proj": [16, 8], "mlp.down_proj": [8, 16], "input_layernorm": [8],
    "post_attention_layernorm": [8],
}  # fmt: skip
TIED = 64 + 32 + 32 + 64 + 3 * 128 + 2 * 8 + 8 + 32 * 8


def checkpoint(folder: Path, *, head: bool) -> Path:
    """A folder with the config and a file of these weights in bf16."""
    shapes = {f"language_model.model.layers.0.{name}.weight": shape for name, shape in LAYER.items()}
    shapes |= {"language_model.model.norm.weight": [8], "language_model.model.embed_tokens.weight": [32, 8]}
    shapes |= {"language_model.lm_head.weight": [32, 8]} if head else {}
    (folder / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    sizes = {name: 2 * shape[0] * (shape[1] if shape[1:] else 1) for name, shape in shapes.items()}
    write(folder, {name: ("BF16", shape, sizes[name]) for name, shape in shapes.items()})
    return folder


@pytest.mark.parametrize("head", [True, False])
def test_headers_say_whether_the_head_is_the_table(tmp_path: Path, *, head: bool) -> None:
    """A file with a head of its own, and one without: each is exact, and the evidence names the total."""
    path = checkpoint(tmp_path, head=head)
    found = one(path).derived
    assert found.fingerprint.params_total == TIED + 256 * head
    assert found.fingerprint.tie_word_embeddings is not head
    assert "reading" in [e.field for e in found.evidence]
    assert verify(path).check is Check.EXACT


@pytest.mark.parametrize("head", [True, False])
def test_an_index_says_so_by_its_bytes(tmp_path: Path, *, head: bool) -> None:
    """An index alone, of two bytes a weight."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    index = {"metadata": {"total_size": 2 * (TIED + 256 * head)}, "weight_map": {"a.weight": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    assert one(tmp_path).derived.fingerprint.params_total == TIED + 256 * head
