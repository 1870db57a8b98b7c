"""Forms and lists of single tools, counted by hand on small models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import SHARED

from atlas.interpret import derive
from atlas.numbers.storage import Storage
from atlas.stored.held import by_dtype

CONFIGS = SHARED / "hub" / "configs"

# Two layers: q and o 64 x 64, k and v 32 x 64, gate and up 128 x 64, down 64 x 128; table and head 256 x 64.
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
    "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "hidden_act": "silu",
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "5.24.0",
}  # fmt: skip
LAYER = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64  # 36,864 weights in seven modules
ROWS = 2 * 64 + 2 * 32 + 2 * 128 + 64  # 512 outputs
PLAIN = 2 * 256 * 64 + 5 * 64  # table, head and five norms: 33,088


def _stored(quantization: dict[str, Any], **keys: Any) -> Storage:
    return derive({**LLAMA, **keys, "quantization_config": quantization}).stored


def _group(weights: dict[str, Any], targets: list[str], inputs: Any = None, outputs: Any = None) -> dict[str, Any]:
    return {"targets": targets, "weights": weights, "input_activations": inputs, "output_activations": outputs}


def _compressed(form: str, ignore: list[str], *groups: dict[str, Any]) -> dict[str, Any]:
    named = {f"group_{n}": {**g, "format": form} for n, g in enumerate(groups)}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "version": "0.20",
        "ignore": ignore,
        "config_groups": named,
    }


_INT8 = {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}
_FLOAT8 = {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True}


def test_static_inputs_have_a_scale_and_a_zero_where_they_are_not_symmetric() -> None:
    """W8A8 with static inputs: I8 weights, a BF16 scale an output, and for each of 14 modules a scale and a zero."""
    inputs = {"num_bits": 8, "type": "int", "strategy": "tensor", "symmetric": False, "dynamic": False}
    found = _stored(_compressed("int-quantized", ["lm_head"], _group(_INT8, ["Linear"], inputs)))
    assert by_dtype(found.rows) == {"I8": 2 * LAYER + 14, "BF16": PLAIN + 2 * ROWS + 14}


def test_static_outputs_have_a_scale_too() -> None:
    """FP8 a tensor with static inputs and outputs: three BF16 scales for each of 14 modules."""
    static = {**_FLOAT8, "dynamic": False}
    found = _stored(_compressed("float-quantized", ["lm_head"], _group(_FLOAT8, ["Linear"], static, static)))
    assert by_dtype(found.rows) == {"F8_E4M3": 2 * LAYER, "BF16": PLAIN + 3 * 14}


def test_a_layer_named_in_a_target_is_not_the_layer_named_in_the_list_of_what_stays() -> None:
    """Layer 0's gate is a target, layer 1's is ignored: one module is packed, not two."""
    target = _group(_INT8, ["model.layers.0.mlp.gate_proj"])
    stays = ["model.layers.1.mlp.gate_proj", "lm_head"]
    found = _stored(_compressed("int-quantized", stays, target))
    assert by_dtype(found.rows) == {"I8": 128 * 64, "BF16": PLAIN + 2 * LAYER - 128 * 64 + 128}


def test_a_pattern_with_a_number_takes_the_layers_it_fits() -> None:
    """A pattern of layer 0 leaves that layer alone: seven modules of layer 1 are quantized."""
    stays = ["re:.*layers\\.0\\..*", "lm_head"]
    found = _stored(_compressed("int-quantized", stays, _group(_INT8, ["Linear"])))
    assert by_dtype(found.rows) == {"I8": LAYER, "BF16": PLAIN + LAYER + ROWS}


EXPERTS = {
    **LLAMA, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "head_dim": 16, "num_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "norm_topk_prob": True, "transformers_version": "4.57.0",
}  # fmt: skip


def test_single_experts_may_stay() -> None:
    """Of four experts of three modules of 32 x 64, layer 0 keeps the gate of expert 1 as it was."""
    stays = ["lm_head", "re:.*mlp.gate$", "model.layers.0.mlp.experts.1.gate_proj"]
    quantization = _compressed("int-quantized", stays, _group(_INT8, ["Linear"]))
    found = derive({**EXPERTS, "quantization_config": quantization}).stored
    attention, experts = 2 * 64 * 64 + 2 * 32 * 64, 4 * 3 * 32 * 64
    assert by_dtype(found.rows)["I8"] == 2 * (attention + experts) - 32 * 64


def test_what_a_list_leaves_out_depends_on_the_version_that_read_it() -> None:
    """`layers.1` stands inside the names of layer 1 for transformers 4, and begins no name for transformers 5."""
    settings = {"quant_method": "bitsandbytes", "load_in_8bit": True, "llm_int8_skip_modules": ["layers.1", "lm_head"]}
    assert by_dtype(_stored(settings).rows)["I8"] == 2 * LAYER
    assert by_dtype(_stored(settings, transformers_version="4.57.0").rows)["I8"] == LAYER


def test_a_head_that_no_list_leaves_out_is_quantized() -> None:
    """With a list of its own, bitsandbytes leaves nothing else: the head too is I8, but a tied head is not settled."""
    settings = {"quant_method": "bitsandbytes", "load_in_8bit": True, "llm_int8_skip_modules": ["down_proj"]}
    assert by_dtype(_stored(settings).rows)["I8"] == 2 * (LAYER - 64 * 128) + 256 * 64
    assert "tied" in str(_stored(settings, tie_word_embeddings=True).reason)


def test_a_tied_head_that_settings_take_is_refused() -> None:
    """compressed-tensors with an empty list of what stays takes the head, which shares the table's weights."""
    settings = _compressed("int-quantized", [], _group(_INT8, ["Linear"]))
    assert _stored(settings, tie_word_embeddings=True).bytes is None
    assert by_dtype(_stored(settings).rows)["I8"] == 2 * LAYER + 256 * 64


def test_fbgemm_has_a_scale_for_every_output() -> None:
    """F8 weights and F32 scales per output; a list that names some layers' attention and not all is cut short."""
    settings: dict[str, Any] = {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]}
    assert by_dtype(_stored(settings).rows) == {"F8_E4M3": 2 * LAYER, "F32": 2 * ROWS, "BF16": PLAIN}
    cut = {**settings, "modules_to_not_convert": ["lm_head", "model.layers.0.self_attn.q_proj"]}
    assert "cut short" in str(_stored(cut).reason)


def test_mistral_keeps_static_scales_as_bf16_scalars() -> None:
    """Ministral 3 in FP8: for each of 14 modules a scalar for the weights and one for the inputs."""
    settings = {
        "quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None,
        "modules_to_not_convert": ["model.vision_tower", "model.multi_modal_projector", "lm_head"],
    }  # fmt: skip
    keys = {"architectures": ["Ministral3ForCausalLM"], "model_type": "ministral3", "head_dim": 16}
    assert by_dtype(_stored(settings, **keys).rows) == {"F8_E4M3": 2 * LAYER, "BF16": PLAIN + 2 * 14}
    assert "static scales" in str(_stored(settings).reason)


GPT2 = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4,
    "n_positions": 128, "vocab_size": 256, "torch_dtype": "bfloat16", "transformers_version": "5.24.0",
}  # fmt: skip


def test_layers_that_are_no_linear_ones_by_their_class_stay() -> None:
    """Of GPT-2, whose layers are of their own class, torchao takes nothing and bitsandbytes all."""
    int8 = {"default": {"_type": "Int8WeightOnlyConfig", "_data": {"group_size": None}}}
    found = derive({**GPT2, "quantization_config": {"quant_method": "torchao", "quant_type": int8}}).stored
    assert by_dtype(found.rows).keys() == {"BF16"}
    other = derive({**GPT2, "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}).stored
    assert by_dtype(other.rows)["I8"] == 2 * 12 * 64 * 64


def _of_v4(name: str, quantization: Any = None) -> Storage:
    config = json.loads((CONFIGS / f"{name}.json").read_text("utf-8"))
    return derive(config if quantization is None else {**config, "quantization_config": quantization}).stored


@pytest.mark.skipif(not CONFIGS.is_dir(), reason=f"{CONFIGS} is not there")
def test_deepseek_v4_has_four_bit_experts_with_scales_that_are_powers_of_two() -> None:
    """All elements are the Hub's for V4-Flash and V4-Pro; the Pro's scales are the published 49,150,268,416."""
    flash = _of_v4("deepseek-ai--DeepSeek-V4-Flash")
    assert sum(by_dtype(flash.rows).values()) == 158_069_433_298
    settings = json.loads((CONFIGS / "deepseek-ai--DeepSeek-V4-Flash.json").read_text("utf-8"))["quantization_config"]
    pro = by_dtype(_of_v4("nvidia--DeepSeek-V4-Pro-NVFP4", settings).rows)
    assert pro["F8_E8M0"] == 49_150_268_416
    assert sum(pro.values()) == 861_608_274_846


@pytest.mark.skipif(not CONFIGS.is_dir(), reason=f"{CONFIGS} is not there")
@pytest.mark.parametrize(
    ("name", "elements", "modules"),
    [
        ("nvidia--DeepSeek-V4-Flash-NVFP4", 166_726_476_754, 43 * 256 * 3),
        ("nvidia--DeepSeek-V4-Pro-NVFP4", 909_964_405_662, 61 * 384 * 3),
    ],
)
def test_experts_quantized_anew_leave_the_drafting_layer_as_published(name: str, elements: int, modules: int) -> None:
    """NVFP4 where it is named, the publisher's four bits in the drafting layer; scalars are not counted."""
    assert sum(by_dtype(_of_v4(name).rows).values()) == elements + 2 * modules
