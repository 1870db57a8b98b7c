"""Families with other mixers than attention, older GPTs, and wrappers: hand counts and effective values."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive
from atlas.numbers.tabulate import layers_expanded

WIDE = {"hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}


def found(config: dict[str, Any]) -> Any:
    """The row of a config that is known to be derivable."""
    row = derive(config).fingerprint
    assert row.verdict == "known", row.refusal_reason
    return row


def test_opt_counts_two_spare_positions_and_the_narrow_embedding_of_350m() -> None:
    """OPT-350m embeds in 512, projects to 1024 and back, norms after the sum, has no final norm."""
    config = {
        "model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512, "ffn_dim": 4096, "num_hidden_layers": 24,
        "num_attention_heads": 16, "vocab_size": 50272, "do_layer_norm_before": False,
    }  # fmt: skip
    row = found(config)
    layer = 4 * (1024 * 1024 + 1024) + (2 * 1024 * 4096 + 4096 + 1024) + 2 * 2 * 1024
    # the total that the paper's repositories publish: 331,196,416
    assert row.params_total == 50272 * 512 + 2050 * 1024 + 2 * 512 * 1024 + 24 * layer == 331_196_416
    assert row.norm_placement == "post"


def test_opt_reads_the_width_of_its_first_upload() -> None:
    """d_model was the first spelling of hidden_size: the file gives the 1.3B model, not the class's default width."""
    config = {"model_type": "opt", "d_model": 2048, "ffn_dim": 8192, "num_hidden_layers": 24, "num_attention_heads": 32}
    assert found(config | {"word_embed_proj_dim": 2048}).params_total == 1_315_758_080


def test_mamba_keeps_a_convolution_and_a_state_per_channel() -> None:
    """An inner width of 2 x 64 keeps 4 columns at 2 bytes and 16 states at 4 bytes per channel and layer."""
    row = found({"model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 3, "vocab_size": 100})
    rank = 4  # 64 / 16
    mixer = 256 * 64 + 128 * 4 + 128 + (rank + 32) * 128 + 128 * rank + 128 + 128 * 16 + 128 + 64 * 128
    assert row.params_total == 100 * 64 + 3 * (mixer + 64) + 64
    assert (row.kv_bytes_per_token, row.state_bytes_constant) == (0, 3 * 128 * (4 * 2 + 16 * 4))


def test_lfm2_rounds_two_thirds_of_its_stated_width() -> None:
    """12,288 becomes 8,192: two thirds, rounded up to a multiple of 256; unadjusted it stays."""
    config = {"model_type": "lfm2", "block_ff_dim": 12288, "full_attn_idxs": [1], "num_hidden_layers": 3}
    assert found(config).d_ff == 8192
    assert found(config | {"block_auto_adjust_ff_dim": False}).d_ff == 12288
    assert found(config).layer_mix == {"conv": 2, "full_attention": 1}


def test_granite_without_experts_is_dense() -> None:
    """num_local_experts 0 leaves the shared network alone: every weight is used, and there is no router."""
    config = WIDE | {
        "model_type": "granitemoehybrid",
        "num_local_experts": 0,
        "layer_types": ["attention"] * 2,
        "num_hidden_layers": 2,
    }
    row = found(config | {"shared_intermediate_size": 128})
    assert (row.is_moe, row.d_ff, row.params_router) == (False, 128, 0)
    assert row.params_active == row.params_total
    assert row.position == "nope"
    assert found(config | {"position_embedding_type": "rope"}).position == "rope"


def test_jamba_with_one_expert_has_dense_networks_only() -> None:
    """Experts stand in odd layers, but only where there are several."""
    config = WIDE | {"model_type": "jamba", "num_key_value_heads": 2, "num_hidden_layers": 8}
    assert found(config).n_moe_layers == 4
    assert found(config | {"num_experts": 1}).n_moe_layers == 0


def test_exaone_4_letters_name_windowed_and_full_layers() -> None:
    """LLLG is three windowed layers, then a full one without positions; without a window all are full with RoPE."""
    config = WIDE | {"model_type": "exaone4", "num_key_value_heads": 2, "num_hidden_layers": 8}
    row = found(config | {"sliding_window": 16, "sliding_window_pattern": "LLLG"})
    assert (row.layer_mix, row.position) == ({"sliding_attention": 6, "full_attention": 2}, "mixed")
    row = found(config | {"sliding_window": None, "layer_types": ["full_attention"] * 8})
    assert (row.layer_mix, row.position) == ({"full_attention": 8}, "rope")


@pytest.mark.parametrize(("multi_query", "kind"), [(True, "mqa"), (False, "mha")])
def test_gpt_bigcode_shares_its_keys_by_a_switch(*, multi_query: bool, kind: str) -> None:
    """multi_query decides between one KV head and one per query head."""
    assert found({"model_type": "gpt_bigcode", "multi_query": multi_query}).attention_kind == kind


@pytest.mark.parametrize(
    "change", [{"no_bias": False}, {"attn_config": {"alibi": False}}, {"attn_config": {"qk_ln": True}}]
)
def test_mpt_refuses_what_only_its_remote_code_has(change: dict[str, Any]) -> None:
    """Biases, learned positions and query norms of MPT are in no class that could be read: no number is given."""
    assert derive({"model_type": "mpt"} | change).fingerprint.refusal_kind == "not_derivable"


VISION = {"model_type": "qwen2_5_vl", "vision_config": {"depth": 2}}
TEXT = {
    "model_type": "qwen2_5_vl_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
}  # fmt: skip


def test_a_flat_file_and_a_nested_one_are_the_same_design() -> None:
    """Older files of a wrapper state the language model's keys at the top."""
    flat = {k: v for k, v in TEXT.items() if k != "model_type"}
    assert found(VISION | flat).design_id == found(VISION | {"text_config": TEXT}).design_id
    assert found(VISION | flat).has_towers


@pytest.mark.parametrize(
    ("root", "nested", "tied"),
    [(None, None, False), (None, True, True), (False, True, True), (True, None, True), (True, False, True)],
)
def test_the_tied_head_is_looked_for_in_both_places(*, root: bool | None, nested: bool | None, tied: bool) -> None:
    """Qwen2.5-VL ties where the wrapper or its language model says so; None stands for an absent key."""
    stated = [{} if value is None else {"tie_word_embeddings": value} for value in (root, nested)]
    config = VISION | stated[0] | {"text_config": TEXT | stated[1]}
    row = found(config)
    assert row.tie_word_embeddings is tied
    assert row.params_unembedding == (0 if tied else 100 * 64)


def test_a_key_beside_the_language_model_that_nobody_reads_is_reported() -> None:
    """New keys of a wrapper are unread, as those of its language model; token numbers and repetitions are no news."""
    config = VISION | {
        "text_config": TEXT | {"new_gate": 1},
        "new_fusion": "x",
        "video_end_token_id": 3,
        "hidden_size": 64,
    }
    assert derive(config).unread == ("text_config.new_gate", "new_fusion")


def test_cross_attention_keeps_per_source_token_and_adds_nothing_per_text_token() -> None:
    """Llama 3.2 Vision: 40 layers, 8 of them look at the image; 2 x 8 KV heads x 128 x 2 bytes = 4,096 a layer."""
    config = {"model_type": "mllama", "text_config": {"model_type": "mllama_text_model", "num_hidden_layers": 40}}
    row = found(config)
    assert row.layer_mix == {"full_attention": 32, "cross_attention": 8}
    assert (row.kv_bytes_per_token, row.cross_kv_bytes_per_source_token) == (32 * 4096, 8 * 4096)
    assert row.kv_bytes_4k == 32 * 4096 * 4096
    assert (
        row.params_embedding - row.params_unembedding == 8 * 4096
    )  # rows for the image token that the head does not have
    model = derive(config).model
    assert model is not None
    assert [r.mixer for r in layers_expanded(model)][:4] == ["full_attention"] * 3 + ["cross_attention"]


def test_a_language_model_two_levels_down_is_found() -> None:
    """Qwen2.5-Omni holds its language model in the thinker; the class named last in the file has the head."""
    config = {
        "model_type": "qwen2_5_omni",
        "architectures": ["Qwen2_5OmniModel"],
        "thinker_config": {"text_config": TEXT},
    }
    text = {k: v for k, v in TEXT.items() if k != "model_type"}
    row = found(config | {"thinker_config": {"text_config": text}})
    assert (row.n_layers, row.tie_word_embeddings, row.params_unembedding) == (2, False, 6400)
    assert derive(config | {"thinker_config": {}}).fingerprint.refusal_kind == "missing_key"


@pytest.mark.parametrize("wrong", [{"text_config": []}, {"text_config": None}, {"text_config": {"model_type": 3}}])
def test_a_wrapper_without_a_language_model_is_refused(wrong: dict[str, Any]) -> None:
    """What is no object, or names no family, gives no number."""
    assert derive({"model_type": "qwen3_vl"} | wrong).fingerprint.verdict == "refused"


def test_a_class_without_a_head_ties_nothing() -> None:
    """BloomModel has no head, so that its tied embedding ties nothing; the causal class ties."""
    config = WIDE | {"model_type": "bloom", "n_layer": 2}
    assert found(config | {"architectures": ["BloomForCausalLM"]}).tie_word_embeddings is True
    assert found(config | {"architectures": ["BloomModel"]}).tie_word_embeddings is False


def test_local_layers_of_gpt_neo_are_windows() -> None:
    """Half of the layers look back window_size tokens: 12 layers x 2 x 2048 x 2 bytes grow, 12 are bounded."""
    row = found({"model_type": "gpt_neo"})
    assert (row.kv_bytes_per_token, row.sliding_window) == (12 * 2 * 2048 * 2, 256)
    assert row.kv_bytes_4k == 12 * 2 * 2048 * 2 * (4096 + 256)
