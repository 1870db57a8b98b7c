"""Tensors of towers in a checkpoint: found under either prefix, missing ones and strangers noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from atlas.checkpoint.header import Comparison, compare
from atlas.checkpoint.packing import Stored
from atlas.checkpoint.towers import expected
from atlas.interpret import derive, reader

CONFIG: dict[str, Any] = {
    "model_type": "llava",
    "architectures": ["LlavaForConditionalGeneration"],
    "text_config": {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 100,
        "num_attention_heads": 4, "num_key_value_heads": 2,
    },
    "vision_config": {
        "model_type": "clip_vision_model", "hidden_size": 8, "intermediate_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
    },
}  # fmt: skip
PUBLISHED, SAVED = "vision_tower.vision_model.", "model.vision_tower."


def towers(at: str) -> dict[str, Stored]:
    """The tower's tensors under a prefix, the projector's as published."""
    found = expected(derive(CONFIG).towers, ())
    return {g.names[0].replace(PUBLISHED, at): Stored(g.wanted, "BF16") for g in found}


def language() -> dict[str, Stored]:
    """The language model's tensors as published."""
    found = derive(CONFIG)
    assert found.model is not None
    blank = compare(found.model, reader(CONFIG).rules, {})
    return {
        ("language_model." + d.name.removeprefix("language_model.")): Stored(d.wanted, "BF16")
        for d in blank.differences
    }


def held(listing: dict[str, Stored]) -> Comparison:
    """The comparison with a listing."""
    found = derive(CONFIG)
    assert found.model is not None
    return compare(found.model, reader(CONFIG).rules, listing, towers=found.towers)


def test_towers_are_found_under_either_prefix() -> None:
    """The published names and those the library saves both agree, tensor by tensor, and count as beside the model."""
    for at in (PUBLISHED, SAVED):
        result = held(language() | towers(at))
        assert result.differences == ()
        assert result.check == "exact"
        assert result.apart["towers"] == derive(CONFIG).fingerprint.params_towers


def test_a_tower_with_a_layer_less_or_a_stranger_is_off() -> None:
    """What the class of the tower does not make, or makes and is not there, is a difference by name."""
    full = language() | towers(PUBLISHED)
    less = {k: v for k, v in full.items() if "layers.1.mlp.fc1.bias" not in k}
    assert [(d.kind, d.component) for d in held(less).differences] == [("missing", "towers")]
    more = held(full | {"vision_tower.vision_model.encoder.layers.2.mlp.fc1.bias": Stored((32,), "BF16")})
    assert [d.kind for d in more.differences] == ["extra"]
    wide = held(full | {"vision_tower.vision_model.embeddings.class_embedding": Stored((16,), "BF16")})
    assert [d.kind for d in wide.differences] == ["misshaped"]
    assert less.keys() != full.keys()
    assert {held(less).check, more.check, wide.check} == {"off"}


def test_files_without_a_tower_hold_the_language_model_alone() -> None:
    """A language model taken out of its wrapper is whole: not one tensor of a tower is in the files."""
    assert held(language()).differences == ()


def test_adapters_stand_around_the_matrices_they_change() -> None:
    """Phi-4-multimodal's files name a changed matrix `base_layer`; its adapters are found with the towers.

    The names are those that transformers' own conversion of these files takes apart.
    """
    widths = json.loads((Path(__file__).parents[2] / "fixtures" / "widths.json").read_text("utf-8"))
    config = widths["microsoft/Phi-4-multimodal-instruct"] | {"num_hidden_layers": 2}
    listing = {"model.embed_tokens.weight": (200_064, 3_072), "model.norm.weight": (3_072,)}
    for at in ("model.layers.0.", "model.layers.1."):
        listing |= {
            f"{at}self_attn.qkv_proj.base_layer.weight": (5_120, 3_072),
            f"{at}self_attn.o_proj.base_layer.weight": (3_072, 3_072),
            f"{at}mlp.gate_up_proj.base_layer.weight": (16_384, 3_072),
            f"{at}mlp.down_proj.base_layer.weight": (3_072, 8_192),
            f"{at}input_layernorm.weight": (3_072,),
            f"{at}post_attention_layernorm.weight": (3_072,),
            f"{at}self_attn.qkv_proj.lora_A.vision.weight": (256, 3_072),
            f"{at}self_attn.qkv_proj.lora_B.vision.weight": (5_120, 256),
        }
    found = derive(config)
    assert found.model is not None
    stored = {g.names[0]: Stored(g.wanted, "BF16") for g in expected(found.towers, ())}
    whole = stored | {name: Stored(shape, "BF16") for name, shape in listing.items()}
    result = compare(found.model, reader(config).rules, whole, towers=found.towers)
    assert result.differences == ()
    assert result.check == "exact"
