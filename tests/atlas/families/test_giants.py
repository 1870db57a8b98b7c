"""Families whose layers differ from each other, with what their checkpoints hold beside the model: counts by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas.families import family
from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.measure import attention_flops, kv_bytes

MB = 1 << 20


def published(shared: Path, name: str, **changed: Any) -> Fingerprint:
    """The row of a published config, some keys changed."""
    raw = json.loads((shared / "hub" / "configs" / f"{name}.json").read_text("utf-8"))
    return derive(raw | changed).fingerprint


HUB_TOTALS = {
    # what the Hub reports for the checkpoint = model + drafting layer + buffers; no scales are in these totals
    "deepseek-ai--DeepSeek-R1": 684_489_845_504,
    "deepseek-ai--DeepSeek-V3.2": 685_355_329_792,
    "deepseek-ai--DeepSeek-V4-Flash": 290_944_616_402,
    "zai-org--GLM-5": 753_864_139_008,
    "zai-org--GLM-5.3": 753_329_940_480,
    "Qwen--Qwen3.8-2.4T-A95B": 2_446_182_725_504,
    "Qwen--Qwen3-Next-80B-A3B-Instruct": 81_324_862_720,
    "MiniMaxAI--MiniMax-M2": 228_689_764_864,
    "moonshotai--Kimi-Linear-48B-A3B-Instruct": 49_122_681_728,
}


@pytest.mark.parametrize("name", HUB_TOTALS)
def test_model_and_drafting_layer_make_up_the_checkpoint(shared: Path, name: str) -> None:
    """The model, its drafting layer and its buffers add up to the checkpoint that the Hub reports, to the weight."""
    found = published(shared, name)
    assert found.params_total is not None
    assert found.params_mtp is not None
    assert found.params_buffers is not None
    assert found.params_total + found.params_mtp + found.params_buffers == HUB_TOTALS[name]


def test_deepseek_v3_drafts_with_a_whole_layer_and_its_own_ends(shared: Path) -> None:
    """Layer 61 is a layer with experts behind a 2d x d projection, with three norms and copies of embedding and head.

    Attention 187,107,328, two norms 14,336, router 1,835,008 and 256 biases, 256 experts 11,274,289,152, shared
    44,040,192; the
    projection 2 x 7168 x 7168, three norms of 7168, and 2 x 129,280 x 7168 for the copies.
    """
    one_layer = 187_107_328 + 14_336 + 1_835_008 + 256 + 11_274_289_152 + 44_040_192
    around = 2 * 7168 * 7168 + 3 * 7168 + 2 * 129_280 * 7168
    found = published(shared, "deepseek-ai--DeepSeek-V3")
    assert (found.n_mtp_layers, found.params_mtp) == (1, one_layer + around)
    assert found.params_total == 671_026_419_200


def test_the_drafting_layer_of_glm_4_5_has_embedding_and_head(shared: Path) -> None:
    """GLM-4.5's layer beside its own embedding and head makes up the Hub's 358,337,791,296 weights.

    Attention 2 x 12,288 x 5,120 + 2 x 1,024 x 5,120 + 12,288 + 2 x 1,024 + 2 x 128 = 136,329,472; 161 experts of
    3 x 1,536 x 5,120; a router of 160 x 5,121; two norms; projection, three norms and two tables of 151,552 x 5,120.
    """
    layer = 136_329_472 + 161 * 23_592_960 + 160 * 5_121 + 2 * 5_120
    around = 2 * 5_120 * 5_120 + 3 * 5_120 + 2 * 151_552 * 5_120
    glm = published(shared, "zai-org--GLM-4.5")
    assert (glm.n_mtp_layers, glm.params_mtp) == (1, layer + around)
    assert (glm.params_total or 0) + layer + around == 358_337_791_296


def test_drafting_weights_that_are_not_known_are_null(shared: Path) -> None:
    """GLM-4.6 and 4.7 have one context and differ in what they store of their layer.

    MiMo-V2 states none and has some.
    """
    config = json.loads((shared / "hub" / "configs" / "zai-org--GLM-4.5.json").read_text("utf-8"))
    later = derive(config | {"max_position_embeddings": 202_752}).fingerprint
    mimo = published(shared, "XiaomiMiMo--MiMo-V2-Flash")
    assert (later.n_mtp_layers, later.params_mtp) == (1, None)
    assert (mimo.n_mtp_layers, mimo.params_mtp) == (None, None)


def test_three_drafting_layers_have_a_head_each() -> None:
    """Step-3.5-Flash: three windowed dense layers with a head each make up the checkpoint that the Hub reports.

    Each: queries, output and gate of 96 heads, keys and values of 8, norms, network 3 x 4096 x 11264,
    projection and three norms,
    a head of 128,896 x 4096.
    """
    layers = (["full_attention"] + ["sliding_attention"] * 3) * 12
    config = {
        "model_type": "step3p5",
        "vocab_size": 128896,
        "layer_types": layers,
        "num_nextn_predict_layers": 3,
        "sliding_window": 512,
        "attention_other_setting": {"num_attention_heads": 96},
        "moe_layers_enum": ",".join(str(i) for i in range(3, 45)),
    }
    attention = 4096 * (2 * 96 * 128 + 96 + 2 * 8 * 128) + 2 * 128
    one = attention + 3 * 4096 * 11264 + 2 * 4096 + 2 * 4096 * 4096 + 3 * 4096 + 128_896 * 4096
    found = derive(config).fingerprint
    assert (found.n_mtp_layers, found.params_mtp) == (3, 3 * one)
    assert (found.params_total or 0) + 3 * one == 199_384_301_376


def test_drafting_layers_keep_and_cost_nothing(shared: Path) -> None:
    """Without its drafting layer a model has the same cache, the same FLOPs and the same number of layers."""
    with_it, without = (published(shared, "deepseek-ai--DeepSeek-V3", num_nextn_predict_layers=n) for n in (1, 0))
    assert without.params_mtp == 0
    for column in (
        "n_layers",
        "layer_mix",
        "kv_bytes_128k",
        "attention_flops_per_token_128k",
        "params_active_compute",
        "layer_pattern",
    ):
        assert getattr(with_it, column) == getattr(without, column)


def test_an_indexer_keeps_a_second_cache_and_bounds_what_is_read(shared: Path) -> None:
    """DeepSeek-V3.2 keeps latent 576 and index key 128 a layer, scores every position, attends to 2048.

    At 4,096 tokens a layer costs 4096 x 2 x 64 x 128 for the scores and 2048 x 2 x 128 x (576 + 512) for the reads.
    """
    found = published(shared, "deepseek-ai--DeepSeek-V3.2")
    assert found.kv_bytes_per_token == 61 * 576 * 2
    assert found.index_bytes_per_token == 61 * 128 * 2
    assert found.attention_flops_per_token_4k == 61 * (4096 * 2 * 64 * 128 + 2048 * 2 * 128 * (576 + 512))
    assert found.layer_mix == {"sparse_attention": 61}


def test_layers_that_share_an_indexer_keep_no_index(shared: Path) -> None:
    """In GLM-5.2 only layers with an indexer of their own keep an index.

    21 of 78 layers own an indexer; sharing saves 57 x (32x128x2048 + 128x6144 + 32x6144 + 2x128) weights.
    """
    found, all_own = published(shared, "zai-org--GLM-5.2-FP8"), published(shared, "zai-org--GLM-5-FP8")
    assert found.index_bytes_per_token == 21 * 128 * 2
    assert found.kv_bytes_per_token == 78 * 576 * 2
    saved = 57 * (32 * 128 * 2048 + 128 * 6144 + 32 * 6144 + 2 * 128)
    assert (all_own.params_attention or 0) - (found.params_attention or 0) == saved


def test_deepseek_v4_compresses_its_cache(shared: Path) -> None:
    """DeepSeek-V4-Flash: 21 sparse layers keep 512 per 4 tokens and an index of 128, 20 heavy ones 512 per 128 tokens.

    Every one of 43 layers also keeps the last 128 entries of 512, key and value in one; sparse layers keep what
    overlaps.
    """
    raw = json.loads((shared / "hub" / "configs" / "deepseek-ai--DeepSeek-V4-Flash.json").read_text("utf-8"))
    derived = derive(raw)
    found, model, tokens = derived.fingerprint, derived.model, 131_072
    assert model is not None
    assert found.kv_bytes_per_token == 21 * 512 * 2 // 4 + 20 * 512 * 2 // 128
    assert found.index_bytes_per_token == 21 * 128 * 2 // 4
    window, overlap = 43 * 128 * 512 * 2, 21 * 4 * (512 + 128) * (2 + 4)
    entries = (21 * (512 + 128) // 4 + 20 * 512 // 128) * 2 * tokens
    assert kv_bytes(model, tokens) == window + overlap + entries
    per_entry, window_reads = 4 * 64 * 512, 43 * 128
    reads = window_reads + 21 * 512 + 20 * tokens // 128
    assert attention_flops(model, tokens) == reads * per_entry + 21 * (tokens // 4) * 2 * 64 * 128
    assert found.params_buffers == 3 * 129_280 * 6


def test_gemma_4_reads_earlier_caches(shared: Path) -> None:
    """In Gemma 4 E4B the last layers read earlier caches.

    The last 18 of 42 layers keep nothing and store no K, V; 4 full layers keep 2 x 2 x 512 elements each.
    """
    found = published(shared, "google--gemma-4-E4B-it")
    assert (found.n_layers, found.n_kv_shared_layers) == (42, 18)
    assert found.kv_bytes_per_token == 4 * 2 * 2 * 512 * 2
    assert found.kv_bytes_per_token_first == 4 * 2 * 2 * 512 * 2 + 20 * 2 * 2 * 256 * 2
    assert (found.head_dim, found.is_heterogeneous) == (512, True)


def test_gemma_4_takes_values_from_keys_where_told(shared: Path) -> None:
    """Gemma 4 26B has 2 KV heads of 512 and no V projection in its 5 full layers, by one switch.

    Without attention_k_eq_v the stated two KV heads have no effect either: K and V of 8 heads, 4096 x 2816 each.
    """
    raw = json.loads((shared / "hub" / "configs" / "google--gemma-4-26B-A4B.json").read_text("utf-8"))
    on = derive(raw).fingerprint
    raw["text_config"]["attention_k_eq_v"] = False
    off = derive(raw).fingerprint
    assert (off.params_attention or 0) - (on.params_attention or 0) == 5 * 2816 * (2 * 8 * 512 - 2 * 512)
    assert on.kv_bytes_per_token == 5 * 2 * 2 * 512 * 2
    assert off.kv_bytes_per_token == 5 * 2 * 8 * 512 * 2


def test_wide_networks_stand_where_caches_are_shared() -> None:
    """Doubling 20 networks of 3 x 1536 x 6144 adds as much again; the others stay."""
    config = {
        "model_type": "gemma4_text",
        "hidden_size": 1536,
        "intermediate_size": 6144,
        "num_hidden_layers": 35,
        "num_attention_heads": 8,
        "num_key_value_heads": 1,
        "num_kv_shared_layers": 20,
    }
    plain, wide = (derive(config | {"use_double_wide_mlp": w}).fingerprint for w in (False, True))
    assert (wide.params_ffn_dense or 0) - (plain.params_ffn_dense or 0) == 20 * 3 * 1536 * 6144


def test_zero_experts_are_scored_and_have_no_weights() -> None:
    """In LongCat-Flash the router scores experts that have no weights.

    512 experts and 256 that do nothing; the router has 768 rows and 768 biases, the total is the Hub's.
    """
    found = derive({"model_type": "longcat_flash"}).fingerprint
    assert found.params_total == 560_664_980_480
    assert found.params_router == 28 * (768 * 6144 + 768)
    assert found.params_experts_routed == 28 * 512 * 3 * 6144 * 2048
    assert (found.n_layers, found.layer_mix) == (28, {"full_attention": 56})


def test_a_shared_block_is_stored_once_and_used_often() -> None:
    """In Zamba one block is stored once, multiplies and keeps a cache wherever it is used.

    One block of 192,905,216 + 165,347,328 weights stands before 13 layers; each use keeps 2 x 16 x 464
    elements.
    """
    found = derive({"model_type": "zamba"}).fingerprint
    block = 192_905_216 + 165_347_328
    assert (found.params_attention or 0) + (found.params_ffn_dense or 0) == block
    assert found.kv_bytes_per_token == 13 * 2 * 16 * 464 * 2
    assert found.params_active is not None
    assert found.params_active_compute is not None
    assert found.params_active_compute > found.params_active + 11 * block


def test_zamba2_blocks_take_turns_and_adapters_do_not() -> None:
    """A second block adds its own weights, while the nine adapters of rank 128 stay nine.

    Queries, keys and values 3 x 5120 x 5120, output 2560 x 5120, network 3 x 2560 x 10240, norms of 5120 and 2560.
    """
    one, two = (derive({"model_type": "zamba2", "num_mem_blocks": n}).fingerprint for n in (1, 2))
    block = 3 * 5120 * 5120 + 2560 * 5120 + 3 * 2560 * 10240 + 5120 + 2560
    assert (two.params_total or 0) - (one.params_total or 0) == block


def test_a_window_counts_the_current_token() -> None:
    """MiMo-V2: sliding_window_size counts the tokens before, sliding_window all of them."""
    before, all_of_them = (
        derive({"model_type": "mimo_v2_flash", k: 128}).fingerprint for k in ("sliding_window_size", "sliding_window")
    )
    assert (before.sliding_window, all_of_them.sliding_window) == (129, 128)


def test_lightning_attention_has_a_state(shared: Path) -> None:
    """MiniMax: 16 of 32 layers keep 32 squares of 128 in two bytes an element, 16 MiB, whatever the tokens."""
    raw = json.loads((shared / "hub" / "defaults" / "minimax.json").read_text("utf-8"))
    assert derive(raw).fingerprint.state_bytes_constant == 16 * MB


def test_latent_attention_is_not_assumed_of_a_model_type() -> None:
    """DeepSeek-VL2's smallest language model says use_mla is false: 10 heads of 128, not a latent."""
    inner = {
        "model_type": "deepseek_v2",
        "hidden_size": 1280,
        "num_hidden_layers": 12,
        "num_attention_heads": 10,
        "use_mla": False,
        "num_key_value_heads": 10,
        "kv_lora_rank": None,
        "q_lora_rank": None,
        "v_head_dim": 0,
        "n_routed_experts": 64,
        "num_experts_per_tok": 6,
        "first_k_dense_replace": 1,
        "moe_intermediate_size": 896,
        "intermediate_size": 6848,
    }
    found = derive({"model_type": "deepseek_vl_v2", "language_config": inner}).fingerprint
    assert (found.attention_kind, found.head_dim, found.kv_bytes_per_token) == ("mha", 128, 12 * 2 * 1280 * 2)


def test_an_earlier_line_under_the_same_name_is_told_apart_by_its_class() -> None:
    """Ling 2.5 states bailing_hybrid too, but its linear attention is another: its class leads to rules of its own.

    A bare file of that class states no widths, and there are no class defaults to take: refused, for want of a key.
    """
    found = derive({"model_type": "bailing_hybrid", "architectures": ["BailingMoeV2_5ForCausalLM"]}).fingerprint
    assert (found.verdict, found.refusal_kind) == ("refused", "missing_key")


def test_rounds_of_a_loop_keep_a_cache_each() -> None:
    """In Inkling 2 Loop every round of the loop keeps a cache.

    24 layers of which 12 run three rounds hold 48 caches; 8 of these are full, 2 x 8 x 128 elements each.
    """
    found = derive({"model_type": "inkling2_loop_text"}).fingerprint
    assert (found.n_layers, found.kv_bytes_per_token) == (48, 8 * 2 * 8 * 128 * 2)
    assert found.params_total == 26_068_156_416 + 24 * 128


@pytest.mark.parametrize(
    ("config", "total"),
    [
        (
            {
                "model_type": "minimax_m1",
                "vocab_size": 200064,
                "hidden_size": 6144,
                "intermediate_size": 9216,
                "head_dim": 128,
                "num_hidden_layers": 80,
                "num_attention_heads": 64,
                "num_key_value_heads": 8,
                "num_local_experts": 32,
                "num_experts_per_tok": 2,
                "attn_type_list": ([0] * 7 + [1]) * 10,
            },
            456_089_655_296,
        ),
        (
            {
                "model_type": "laguna",
                "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 10,
                "num_attention_heads_per_layer": [48, 64, 64, 64] * 10,
            },
            33_442_617_088,
        ),
        ({"model_type": "hy_v3", "num_nextn_predict_layers": 1}, 298_786_155_776 - 3_752_612_288),
        ({"model_type": "bailing_hybrid"}, 127_486_405_600 - 3_072_194_048),
        ({"model_type": "glm4_moe_lite"}, 31_221_488_576 - 1_278_094_656),
    ],
)
def test_totals_are_those_of_the_hub(config: dict[str, Any], total: int) -> None:
    """MiniMax-M1, Laguna XS.2, and Hunyuan 3, Ling 3.0 and GLM-4.7-Flash less their drafting layers."""
    found = derive(config).fingerprint
    assert found.params_total == total


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("deepseek_v4", "compress_ratios", [0, None, 4]),
        ("glm_moe_dsa", "indexer_types", ["shared"] * 78),
        ("kimi_linear", "linear_attn_config", {"full_attn_layers": [4], "kda_layers": [1, 2]}),
        ("gemma4_text", "num_kv_shared_layers", 30),
        ("gemma4_text", "per_layer_config", {"99": {"head_dim": 512}}),
        ("mimo_v2_flash", "moe_layer_freq", 2),
        ("longcat_flash", "moe_topk", 600),
        ("zamba2", "num_hidden_layers", 50),
    ],
)
def test_lists_that_cannot_be_true_are_refused(model_type: str, key: str, value: Any) -> None:
    """A layer list that names no layer, too few or the wrong ones gives a reason and no numbers."""
    found = derive({"model_type": model_type, key: value}).fingerprint
    assert found.verdict == "refused"
    assert found.refusal_reason


def test_a_row_says_what_a_drafting_layer_repeats() -> None:
    """The words of a drafting layer are words of the row."""
    for name in (
        "deepseek_v3",
        "deepseek_v32",
        "deepseek_v4",
        "glm_moe_dsa",
        "qwen3_next",
        "qwen3_5_text",
        "nemotron_h",
        "hy_v3",
    ):
        rules = family(name)
        assert rules.mtp is not None
        for mixer, ffn in rules.mtp.layers:
            assert mixer in rules.mixers or mixer == "none"
            assert ffn in rules.ffns or ffn == "none"
