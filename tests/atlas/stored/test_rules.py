"""Every scheme's rule on one small model, counted by hand.

The model: 3 layers of width 128, 2 query heads and 1 KV head of 64, a feed-forward width of 384, 320 words, no tied
head. A layer has the matrices q, o 128 x 128; k, v 64 x 128; gate, up 384 x 128; down 128 x 384: 16,384 x 2 + 8,192 x 2
+ 49,152 x 3 = 196,608 weights, N = 589,824 in 21 matrices, whose outputs are 3 x (128 x 2 + 64 x 2 + 384 x 2 + 128) =
3,840. Beside them: two tables of 320 x 128 = 40,960 and 7 norms of 128, together 82,816.
"""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive
from atlas.stored.held import by_dtype
from atlas.stored.settings import settings_of

N, OUTS, MATRICES, REST, TABLES, NORMS = 589_824, 3_840, 21, 82_816, 81_920, 896
MODEL: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "intermediate_size": 384,
    "vocab_size": 320,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
    "transformers_version": "5.24.0",
}


def compressed(form: str, weights: dict[str, Any], inputs: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Settings of compressed-tensors with one group for every linear layer but the head."""
    group = {"targets": ["Linear"], "format": form, "weights": {"type": "int", "symmetric": True, **weights}}
    return {
        "quant_method": "compressed-tensors",
        "version": "0.19.0",
        "format": form,
        "ignore": ["lm_head"],
        "config_groups": {"group_0": {**group, "input_activations": inputs}},
        **more,
    }


def modelopt(algorithm: str, **more: Any) -> dict[str, Any]:
    """Settings of ModelOpt that leave the head alone."""
    return {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head"], **more}


BNB = {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": "nf4"}
OWN = {"quant_method": "fp8", "modules_to_convert": None, "modules_to_not_convert": None}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
GROUP_64 = {"num_bits": 4, "strategy": "group", "group_size": 64}

# name: settings, and elements by type. Blocks of 128 x 128: q, k, v, o 1 each, gate, up, down 3 each: 13 a layer, 39.
# Groups of 128 inputs times outputs: q, o 128, k, v 64, gate, up 384, down 3 x 128: 1,536 a layer, 4,608.
# GPTQ's zeros, groups x outputs / 8: 16, 8, 8, 16, 48, 48, 3 x 16: 192 a layer, 576; inputs 6 x 128 + 384: 3,456.
RULES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "fp8 block": (
        {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]},
        {"F8_E4M3": N, "F32": 39, "BF16": REST},
    ),
    "fp8 tensor": ({**OWN, "weight_block_size": None}, {"F8_E4M3": N, "F32": MATRICES, "BF16": REST}),
    # 64 rows are half a block: transformers keeps k and v (2 x 8,192 a layer) as they were, and still writes scales
    "fp8 block by transformers": (
        {**OWN, "weight_block_size": [128, 128]},
        {"F8_E4M3": N - 49_152, "F32": 39, "BF16": REST + 49_152},
    ),
    "fp8 channel": (
        compressed("float-quantized", {"type": "float", "num_bits": 8, "strategy": "channel"}),
        {"F8_E4M3": N, "BF16": REST + OUTS},
    ),
    "fp8 tensor, static inputs, cache": (
        compressed(
            "float-quantized",
            {"type": "float", "num_bits": 8, "strategy": "tensor"},
            {"dynamic": False, "num_bits": 8},
            kv_cache_scheme={"num_bits": 8},
        ),
        {"F8_E4M3": N, "BF16": REST + 2 * MATRICES + 2 * 3},
    ),
    # four bits that are not packed take a byte each
    "int4 as int-quantized": (compressed("int-quantized", GROUP_64), {"I8": N, "BF16": REST + N // 64}),
    "int4 packed": (
        compressed("pack-quantized", GROUP_64),
        {"I32": N // 8, "I64": 2 * MATRICES, "BF16": REST + N // 64},
    ),
    # three bits densely: 128 x 3 / 32 = 12 int32 a row, 384 x 3 / 32 = 36
    "int3 packed": (
        compressed("pack-quantized", {**GROUP_64, "num_bits": 3}),
        {"I32": 3 * N // 32, "I64": 2 * MATRICES, "BF16": REST + N // 64},
    ),
    # up to 0.17 ten numbers of three bits to an int32: 13 words for 128, 39 for 384, so a layer has (128 x 2 + 64 x 2 +
    # 384 x 2) x 13 + 128 x 39 = 19,968; a file that names no release is older (I32 for the true shape)
    "int3 packed, old": (
        compressed("pack-quantized", {**GROUP_64, "num_bits": 3}, version="0.17.1"),
        {"I32": 3 * 19_968, "I64": 2 * MATRICES, "BF16": REST + N // 64},
    ),
    "int3 packed, oldest": (
        compressed("pack-quantized", {**GROUP_64, "num_bits": 3}, version=None),
        {"I32": 3 * 19_968 + 2 * MATRICES, "BF16": REST + N // 64},
    ),
    # a scale that is worked out for every step is not stored
    "fp8 channel, dynamic cache": (
        compressed(
            "float-quantized",
            {"type": "float", "num_bits": 8, "strategy": "channel"},
            kv_cache_scheme={"num_bits": 8, "dynamic": True},
        ),
        {"F8_E4M3": N, "BF16": REST + OUTS},
    ),
    # as transformers reads files from before the method had a name: a scale per output, a mark for each matrix
    "bitsandbytes without a name": ({"load_in_8bit": True}, {"I8": N, "F32": OUTS, "U8": MATRICES, "BF16": REST}),
    # as one that states the scales' type writes them
    "int8 channel, wide scales": (
        compressed("int-quantized", {"num_bits": 8, "strategy": "channel", "scale_dtype": "torch.float32"}),
        {"I8": N, "F32": OUTS, "BF16": REST},
    ),
    # zeros of groups of 128: 576 words as GPTQ's
    "int4 packed, asymmetric": (
        compressed("pack-quantized", {**GROUP_64, "group_size": 128, "symmetric": False}),
        {"I32": N // 8 + 576, "I64": 2 * MATRICES, "BF16": REST + N // 128},
    ),
    "nvfp4": (
        compressed(
            "nvfp4-pack-quantized", {"type": "float", "num_bits": 4, "strategy": "tensor_group"}, {"num_bits": 4}
        ),
        {"U8": N // 2, "F8_E4M3": N // 16, "F32": 2 * MATRICES, "BF16": REST},
    ),
    "mxfp4": (
        compressed("mxfp4-pack-quantized", {"type": "float", "num_bits": 4, "strategy": "group", "group_size": 32}),
        {"U8": N // 2 + N // 32, "BF16": REST},
    ),
    "modelopt nvfp4": (
        modelopt("NVFP4", kv_cache_scheme={"num_bits": 8}),
        {"U8": N // 2, "F8_E4M3": N // 16, "F32": 2 * MATRICES + 2 * 3, "BF16": REST},
    ),
    "modelopt fp8": (modelopt("FP8"), {"F8_E4M3": N, "F32": 2 * MATRICES, "BF16": REST}),
    "modelopt fp8 channel": (modelopt("FP8_PER_CHANNEL_PER_TOKEN"), {"F8_E4M3": N, "F32": OUTS, "BF16": REST}),
    # the inputs of o (128) and down (384) have a scale each: 3 x 512
    "modelopt awq": (
        modelopt("W4A16_AWQ", group_size=128, pre_quant_scale=True),
        {"U8": N // 2, "F32": 4_608, "BF16": REST + 1_536},
    ),
    "modelopt mixed": (
        {
            "quant_method": "modelopt",
            "quant_algo": "MIXED_PRECISION",
            "quantized_layers": {"model.layers.0.mlp.down_proj": {"quant_algo": "FP8"}},
        },
        {"F8_E4M3": 49_152, "F32": 2, "BF16": REST + N - 49_152},
    ),
    "gptq": (GPTQ, {"I32": N // 8 + 576 + 3_456, "F16": 4_608, "BF16": REST}),
    # layer 2 has 8 bits: 196,608 / 4 words for 196,608 / 8, and 384 zeros for 192
    "gptq, a layer of 8 bits": (
        {**GPTQ, "dynamic": {r"+:model\.layers\.2\..*": {"bits": 8}}},
        {"I32": N // 8 + 576 + 3_456 + 24_576 + 192, "F16": 4_608, "BF16": REST},
    ),
    "awq": ({**GPTQ, "quant_method": "awq", "version": "gemm"}, {"I32": N // 8 + 576, "F16": 4_608, "BF16": REST}),
    "autoround": (
        {**GPTQ, "quant_method": "auto-round", "packing_format": "auto_round:auto_gptq"},
        {"I32": N // 8 + 576, "F16": 4_608, "BF16": REST},
    ),
    # scales of 64 weights, 16 values a matrix; texts of 80 bytes where the shape has 8 digits and signs, [64, 128] 79
    "nf4": (BNB, {"U8": N // 2 + 80 * MATRICES - 6, "F32": N // 64 + 16 * MATRICES, "BF16": REST}),
    "int8": (
        {"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": True},
        {"I8": N, "F32": OUTS, "U8": MATRICES, "BF16": REST},
    ),
    # MLX packs the tables too
    "mlx": (
        {"bits": 4, "group_size": 64},
        {"U32": (N + TABLES) // 8, "BF16": NORMS + 2 * (N + TABLES) // 64},
    ),
    "mlx mxfp4": (
        {"bits": 4, "group_size": 32, "mode": "mxfp4"},
        {"U32": (N + TABLES) // 8, "U8": (N + TABLES) // 32, "BF16": NORMS},
    ),
    # the token table in 6 bits: 40,960 x 6 / 32 words, the rest in 4
    "mlx mixed": (
        {"bits": 4, "group_size": 64, "model.embed_tokens": {"bits": 6, "group_size": 64}},
        {"U32": (N + 40_960) // 8 + 7_680, "BF16": NORMS + 2 * (N + TABLES) // 64},
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_scheme_stores_what_a_hand_count_gives(name: str) -> None:
    """Elements of every type by rule are those of the hand count, and the bytes follow from them."""
    settings, expected = RULES[name]
    key = "quantization" if name.startswith("mlx") else "quantization_config"
    found = derive({**MODEL, key: settings})
    assert found.stored.reason is None
    assert by_dtype(found.stored.rows) == expected
    widths = {"F8_E4M3": 1, "U8": 1, "I8": 1, "BF16": 2, "F16": 2, "F32": 4, "I32": 4, "U32": 4, "I64": 8}
    assert found.fingerprint.weight_bytes_checkpoint == sum(widths[d] * n for d, n in expected.items())


# 64 words more in both tables: 2 x 64 x 128 = 16,384 weights, in 16 bits; MLX packs them with 2 values a group of 64
MORE_WORDS: dict[str, dict[str, int]] = {
    "fp8 block": {"BF16": 16_384},
    "fp8 channel": {"BF16": 16_384},
    "mlx": {"U32": 2_048, "BF16": 512},
    "mlx mixed": {"U32": 1_024 + 1_536, "BF16": 512},
}


@pytest.mark.parametrize("name", MORE_WORDS)
def test_another_vocabulary_changes_the_tables_alone(name: str) -> None:
    """What is kept of a design between its ends is right beside ends of any size."""
    settings, expected = RULES[name]
    key = "quantization" if name.startswith("mlx") else "quantization_config"
    for words in (320, 384, 320, 448):
        found = derive({**MODEL, "vocab_size": words, key: settings})
        more = {d: n * (words - 320) // 64 for d, n in MORE_WORDS[name].items()}
        assert by_dtype(found.stored.rows) == {d: n + more.get(d, 0) for d, n in expected.items()}


SAYS_TOO_LITTLE: dict[str, tuple[dict[str, Any], str]] = {
    "no list": (modelopt("NVFP4", ignore=[]), "the list of modules left in 16 bits is empty"),
    "no algorithm": ({"quant_method": "modelopt", "ignore": ["lm_head"]}, "quant_algo is missing"),
    "an algorithm of tomorrow": (modelopt("NVFP3"), "'NVFP3' of ModelOpt is not described"),
    "a format of tomorrow": (compressed("fancy-quantized", GROUP_64), "'fancy-quantized'"),
    "a method of tomorrow": ({"quant_method": "vptq"}, "'vptq' is not described"),
    "names of another model": (
        compressed("pack-quantized", GROUP_64, ignore=["model.layers.0.attn.wq"]),
        "no module of the structure",
    ),
    "rotations": (
        compressed("pack-quantized", GROUP_64, transform_config={"config_groups": {"u": {"type": "hadamard"}}}),
        "transform_config adds rotations",
    ),
    "a cache with a scale per head": (
        compressed("pack-quantized", GROUP_64, kv_cache_scheme={"strategy": "attn_head"}),
        "scales of a cache that are not one a tensor",
    ),
    "one zero for a whole matrix": (
        compressed("pack-quantized", {"num_bits": 4, "strategy": "tensor", "symmetric": False}),
        "are not packed",
    ),
    "eight bits in a format of four": (
        compressed("nvfp4-pack-quantized", {"type": "float", "num_bits": 8}),
        "states num_bits 8, which the format never holds",
    ),
    "a type of scales that is none": (
        compressed("int-quantized", {"num_bits": 8, "strategy": "channel", "scale_dtype": "x"}),
        "scale_dtype 'x'",
    ),
    "a cache's settings as a text": (compressed("pack-quantized", GROUP_64, kv_cache_scheme="fp8"), "is no object"),
    "an algorithm and a group of other bits": (
        modelopt("NVFP4", config_groups={"group_0": {"weights": {"num_bits": 8}}}),
        "quant_algo is NVFP4, and a group states num_bits 8",
    ),
    "an algorithm and another group": (
        modelopt("NVFP4", config_groups={"group_0": {"weights": {"num_bits": 4, "group_size": 32}}}),
        "states group_size 32",
    ),
    "blocks of a tower": (
        {
            **GPTQ,
            "quant_method": "auto-round",
            "packing_format": "auto_round",
            "block_name_to_quantize": "visual.blocks,model.layers",
        },
        "names blocks of a tower",
    ),
    "a table packed by name": (
        {
            **GPTQ,
            "quant_method": "auto-round",
            "packing_format": "auto_round",
            "extra_config": {"model.embed_tokens": {"bits": 4}},
        },
        "extra_config packs model.embed_tokens",
    ),
    "an activation scheme of tomorrow": ({"quant_method": "fp8", "activation_scheme": "x"}, "activation_scheme 'x'"),
    "wide again": ({**OWN, "dequantize": True}, "may have been saved wide"),
    "Marlin's layout": ({**GPTQ, "is_marlin_format": True}, "laid out for the Marlin kernel"),
    "weights that stay wide": (
        {"quant_method": "bitsandbytes", "load_in_8bit": True, "llm_int8_has_fp16_weight": True},
        "keeps the weights wide",
    ),
    "bits that are none": ({**GPTQ, "bits": "4"}, "bits is none of"),
    "quanto": ({"quant_method": "quanto", "weights": "int8"}, "quanto keeps its weights in no form"),
    "mxfp4 without a list": ({"quant_method": "mxfp4", "modules_to_not_convert": None}, "is empty"),
    "a pattern that could run for ever": (
        {**GPTQ, "dynamic": {"-:(a+)+b": {}}},
        "a pattern of the settings is not read",
    ),
}


@pytest.mark.parametrize("name", SAYS_TOO_LITTLE)
def test_settings_that_say_too_little_give_no_number(name: str) -> None:
    """There is no number, and the reason names what is missing."""
    settings, said = SAYS_TOO_LITTLE[name]
    found = derive({**MODEL, "quantization_config": settings})
    assert found.fingerprint.weight_bytes_checkpoint is None
    assert said in str(found.stored.reason)


def test_a_width_that_its_groups_do_not_fill_is_not_rounded() -> None:
    """72 inputs are no multiple of 16: no half of a scale is left out without a word."""
    narrow = {"hidden_size": 72, "quantization_config": modelopt("NVFP4")}
    found = derive({**MODEL, **narrow})
    assert found.fingerprint.weight_bytes_checkpoint is None
    assert "72 is no multiple of 16" in str(found.stored.reason)


@pytest.mark.parametrize(
    ("config", "file", "said"),
    [
        (GPTQ, ("quantize_config.json", {"bits": 8, "group_size": 128}), "bits is 4 in the config and 8"),
        (GPTQ, ("quantize_config.json", {"bits": 4, "group_size": 32}), "group_size is 128 in the config and 32"),
        (BNB, ("quantize_config.json", {"bits": 4, "group_size": 128}), "names bitsandbytes"),
        (GPTQ, ("quantize_config.json", {"bits": 4, "group_size": 128, "damp_percent": 0.1}), None),
        (modelopt("NVFP4"), ("hf_quant_config.json", {"quantization": {"quant_algo": "FP8"}}), "quant_algo is NVFP4"),
        (modelopt("NVFP4"), ("hf_quant_config.json", {"quantization": {"quant_algo": "NVFP4"}}), None),
    ],
)
def test_two_places_that_contradict_each_other_give_no_number(
    config: dict[str, Any], file: tuple[str, dict[str, Any]], said: str | None
) -> None:
    """A file left over beside a config that was quantized anew; where both agree, the config's rule holds."""
    name, held = file
    data = {**MODEL, "quantization_config": config}
    found = settings_of(data, {name: held})
    assert found is not None
    assert (found.dispute is None) if said is None else (said in str(found.dispute))


def test_two_objects_of_a_config_that_differ_give_no_number() -> None:
    """MLX writes its settings twice, alike; an edited one is refused."""
    mlx = {"bits": 4, "group_size": 64}
    alike, edited = ({**MODEL, "quantization": mlx, "quantization_config": mlx | more} for more in ({}, {"bits": 8}))
    assert derive(alike).fingerprint.weight_bytes_checkpoint is not None
    found = derive(edited)
    assert found.fingerprint.weight_bytes_checkpoint is None
    assert "quantization_config and quantization of the config differ" in str(found.stored.reason)


def test_a_config_that_says_nothing_is_no_proof_of_16_bits() -> None:
    """A stated dtype alone proves nothing: no bytes, and the reason says so."""
    found = derive(MODEL)
    assert found.fingerprint.weight_bytes_checkpoint is None
    assert "no proof of 16 bits" in str(found.stored.reason)


def test_the_length_of_a_nested_scales_text_is_data() -> None:
    """Double quantization writes a mean in decimal: all but 21 texts are known, and the number stays open.

    U8: N / 2 weights and N / 64 = 9,216 scales; F32: 16 + 256 values a matrix, and a scale for 256 scales: k, v 128
    blocks, q, o 256, gate, up, down 768: 1 + 1 + 1 + 1 + 3 + 3 + 3 = 13 a layer.
    """
    found = derive({**MODEL, "quantization_config": {**BNB, "bnb_4bit_use_double_quant": True}})
    assert found.fingerprint.weight_bytes_checkpoint is None
    assert by_dtype(found.stored.rows) == {"U8": N // 2 + 9_216, "F32": MATRICES * 272 + 39, "BF16": REST}
    assert "21 texts" in str(found.stored.reason)
