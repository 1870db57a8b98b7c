"""Derived tensors against checkpoints: real names of many families, wrong configs, wrappers, and what stands apart."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import pytest
from shrunk import checkpoints, held

from atlas.checkpoint.header import Comparison, Difference, compare
from atlas.checkpoint.packing import Stored
from atlas.interpret import derive, reader
from atlas.parse import load
from schemas.vocabulary import Check

LLAMA = checkpoints()["llama"]
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


def names(found: Comparison, kind: str) -> list[str]:
    """The tensors that differ in one way."""
    return [d.name for d in found.differences if d.kind == kind]


@pytest.mark.parametrize("model_type", checkpoints())
def test_every_family_agrees_tensor_by_tensor_with_what_transformers_saves(model_type: str) -> None:
    """Every tensor that transformers saves for the family is derived with its name and shape, and none besides."""
    one = checkpoints()[model_type]
    found = held(one.config, one.tensors)
    assert found.differences == ()
    assert found.check is Check.EXACT
    elements = sum(prod(shape) for _, shape in one.tensors.values())
    assert found.found == elements - sum(n or 0 for n in found.apart.values())


def test_one_layer_fewer_leaves_exactly_that_layer_over() -> None:
    """A config with one layer fewer than the checkpoint.

    The nine tensors of the last layer are extra, in their components.
    """
    found = held(LLAMA.config | {"num_hidden_layers": 1}, LLAMA.tensors)
    assert found.check is Check.OFF
    assert sorted(names(found, "extra")) == sorted(n for n in LLAMA.tensors if ".layers.1." in n)
    assert len(found.differences) == 9
    # 32x32 queries and output, 16x32 keys and values: 2 x 1,024 + 2 x 512
    assert found.components["attention"].found - found.components["attention"].derived == 3072


def test_another_width_is_misshaped_in_every_layer() -> None:
    """A config with another intermediate_size.

    Gate, up and down of both layers are misshaped, with both shapes told.
    """
    found = held(LLAMA.config | {"intermediate_size": 40}, LLAMA.tensors)
    assert len(found.differences) == 6
    expected = Difference("misshaped", "model.layers.0.mlp.down_proj.weight", "ffn_dense", (32, 40), (32, 48))
    assert expected in found.differences


def test_a_missing_tensor_is_named() -> None:
    """A checkpoint without one tensor: exactly that one is missing, with the shape it should have."""
    tensors = {k: v for k, v in LLAMA.tensors.items() if k != "model.layers.1.self_attn.v_proj.weight"}
    found = held(LLAMA.config, tensors)
    assert found.differences == (
        Difference("missing", "model.layers.1.self_attn.v_proj.weight", "attention", (16, 32), None),
    )


def test_a_fused_tensor_of_the_wrong_size_is_misshaped_as_one() -> None:
    """Phi-3 fuses q, k and v.

    With four KV heads the derived tensor has 3 x 32 rows, the checkpoint's (4 + 2 + 2) x 8.
    """
    one = checkpoints()["phi3"]
    found = held(one.config | {"num_key_value_heads": 4}, one.tensors)
    assert found.differences[0] == Difference(
        "misshaped", "model.layers.0.self_attn.qkv_proj.weight", "attention", (96, 32), (64, 32)
    )
    assert len(found.differences) == 2


def test_an_expert_fewer_is_extra_one_by_one_or_misshaped_as_a_stack() -> None:
    """Mixtral stores each expert: three tensors a layer are left over.

    Gpt-oss stacks them: the stacks have another length.
    """
    one = checkpoints()["mixtral"]
    found = held(one.config | {"num_local_experts": 3}, one.tensors)
    assert len(names(found, "extra")) == 6
    assert all(".experts.3." in n for n in names(found, "extra"))
    assert names(found, "misshaped") == [
        "model.layers.0.block_sparse_moe.gate.weight",
        "model.layers.1.block_sparse_moe.gate.weight",
    ]
    stacked = checkpoints()["gpt_oss"]
    misshaped = held(stacked.config | {"num_local_experts": 3}, stacked.tensors)
    assert (
        Difference("misshaped", "model.layers.0.mlp.experts.down_proj", "experts_routed", (3, 48, 32), (4, 48, 32))
        in misshaped.differences
    )


def test_a_matrix_stored_the_other_way_round_is_misshaped() -> None:
    """A matrix stored as [in, out] by a family that stores [out, in] does not pass for the derived one."""
    tensors = LLAMA.tensors | {"model.layers.0.mlp.up_proj.weight": ("F32", (32, 48))}
    assert names(held(LLAMA.config, tensors), "misshaped") == ["model.layers.0.mlp.up_proj.weight"]


def test_a_tied_head_stored_again_stands_apart() -> None:
    """Gemma ties its head: stored all the same it is counted apart (64 x 32), and the model stays exact."""
    one = checkpoints()["gemma"]
    found = held(one.config, one.tensors | {"lm_head.weight": ("F32", (64, 32))})
    assert found.check is Check.EXACT
    assert found.apart == {"tied_again": 2048}


def test_towers_and_projectors_stand_apart_and_the_language_model_is_found_inside() -> None:
    """A wrapper's checkpoint.

    The language model under language_model., a tower of 10 x 10 and a projector of 10 x 32 apart.
    """
    inside = {f"language_model.{k}": v for k, v in LLAMA.tensors.items()}
    tower = {
        "vision_tower.layers.0.fc.weight": ("F32", (10, 10)),
        "multi_modal_projector.linear.weight": ("F32", (32, 10)),
    }
    found = held(LLAMA.config, inside | tower)
    assert found.check is Check.EXACT
    assert found.apart == {"towers": 420}
    assert found.prefix == "language_model.model.layers.{i}."


@pytest.mark.parametrize("wrap", ["model.language_model.", "layers"])
def test_the_place_of_the_model_in_a_checkpoint_is_found(wrap: str) -> None:
    """Layers may stand below model.language_model., or without model. at all, as embedding models publish them."""
    moved = {k.replace("model.", "" if wrap == "layers" else wrap, 1): v for k, v in LLAMA.tensors.items()}
    assert held(LLAMA.config, moved).check is Check.EXACT


def test_drafting_layers_stand_apart() -> None:
    """DeepSeek-V3 keeps its drafting layer after the last one.

    Apart where the config states one, extra where it states none.
    """
    one = checkpoints()["deepseek_v3"]
    draft = {"model.layers.2.eh_proj.weight": ("F32", (32, 64)), "model.layers.2.enorm.weight": ("F32", (32,))}
    assert held(one.config | {"num_nextn_predict_layers": 1}, one.tensors | draft).apart["mtp"] == 32 * 64 + 32
    without = held(one.config | {"num_nextn_predict_layers": 0}, one.tensors | draft)
    assert names(without, "extra") == sorted(draft)


def test_buffers_stand_apart() -> None:
    """Rotary frequencies and causal masks of old checkpoints are no weights."""
    tensors = LLAMA.tensors | {"model.layers.0.self_attn.rotary_emb.inv_freq": ("F32", (4,))}
    assert held(LLAMA.config, tensors).apart == {"buffers": 4}
    gpt2 = checkpoints()["gpt2"]
    masks = {"h.0.attn.bias": ("F32", (1, 1, 32, 32)), "h.1.attn.masked_bias": ("F32", ())}
    published = {k.removeprefix("transformer."): v for k, v in gpt2.tensors.items()}
    found = held(gpt2.config, published | masks)
    assert (found.check, found.apart) == (Check.EXACT, {"buffers": 1025})


def test_a_bias_nobody_derived_is_extra_in_no_component() -> None:
    """A tensor that resembles nothing derived is extra and assigned to nothing."""
    found = held(LLAMA.config, LLAMA.tensors | {"model.layers.0.self_attn.q_proj.bias": ("F32", (32,))})
    assert found.differences == (
        Difference("extra", "model.layers.0.self_attn.q_proj.bias", "unassigned", None, (32,)),
    )


def test_names_that_nobody_knows_are_no_error_of_the_derivation() -> None:
    """Every matrix under another name, with as many weights: unchecked, and what is called otherwise is listed."""
    tensors = {k.replace("mlp.down_proj", "feeding.out"): v for k, v in LLAMA.tensors.items()}
    found = held(LLAMA.config, tensors)
    assert found.check is Check.UNCHECKED
    assert (len(names(found, "missing")), len(names(found, "extra"))) == (2, 2)
    # one weight fewer, and it is off
    assert held(LLAMA.config, tensors | {"model.layers.1.feeding.out.weight": ("F32", (32, 47))}).check is Check.OFF


def indexes(shared: Path) -> dict[str, dict[str, str]]:
    """The real indexes, by the name of their config."""
    found = {}
    for path in sorted((shared / "hub" / "index").glob("*.index.json")):
        ending = next(e for e in INDEXES if path.name.endswith(e))
        found[path.name.removesuffix("." + ending)] = json.loads(path.read_text("utf-8"))["weight_map"]
    return found


def test_real_indexes_name_exactly_the_derived_tensors(shared: Path) -> None:
    """Every published index at hand names the tensors derived from its config: none missing, none extra."""
    wrong = {}
    for name, weight_map in indexes(shared).items():
        raw = (shared / "hub" / "configs" / f"{name}.json").read_bytes()
        found = derive(raw)
        assert found.model is not None
        result = compare(
            found.model,
            reader(load(raw)).rules,
            dict.fromkeys(weight_map, Stored()),
            n_mtp=found.fingerprint.n_mtp_layers,
            towers=found.towers,
        )
        wrong |= {name: result.differences[:5]} if result.differences else {}
    assert wrong == {}


def test_a_real_index_without_one_layer_is_noticed(shared: Path) -> None:
    """Qwen3-4B's index against 35 of its 36 layers: the eleven tensors of the last layer are extra."""
    config = json.loads((shared / "hub" / "configs" / "Qwen--Qwen3-4B.json").read_text("utf-8")) | {
        "num_hidden_layers": 35
    }
    found = derive(config)
    assert found.model is not None
    listing = dict.fromkeys(indexes(shared)["Qwen--Qwen3-4B"], Stored())
    result = compare(found.model, reader(config).rules, listing)
    assert len(result.differences) == 11
    assert all(d.kind == "extra" and ".layers.35." in d.name for d in result.differences)
