"""What one step, one source token and one prompt cost: figures counted by hand from published shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.measure import attention_flops, prefill_attention_flops
from atlas.numbers.structure import Read, Tensor
from schemas.vocabulary import Component

OPTIONAL = st.none() | st.integers(1, 40)


def row(**config: Any) -> Fingerprint:
    """The fingerprint of a config, which is not refused."""
    found = derive(config).fingerprint
    assert found.verdict != "refused", found.refusal_reason
    return found


@given(st.integers(1, 9), OPTIONAL, OPTIONAL, st.integers(0, 90))
def test_a_prompt_is_the_sum_of_its_positions(stride: int, window: int | None, limit: int | None, tokens: int) -> None:
    """The closed form for a whole prompt equals adding the entries at t for t from 1 to T."""
    read = Read(1, 1, stride, window, limit)
    assert read.entries_in_prompt(tokens) == sum(read.entries_at(t) for t in range(1, tokens + 1))


def test_a_prompt_looked_at_both_ways_is_a_square() -> None:
    """Each of T tokens looks at all T, or at its window; a state and a source are no part of a prompt."""
    assert Read(1, 1, both_ways=True).entries_in_prompt(100) == 100 * 100
    assert Read(1, 1, window=30, both_ways=True).entries_in_prompt(100) == 100 * 30
    assert Read(1, 1, stride=0).entries_in_prompt(100) == 0
    assert Read(1, 1, over="source").entries_in_prompt(100) == Read(1, 1, over="source").entries_at(100) == 0


DEEPSEEK = {
    "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "vocab_size": 129_280,
    "hidden_size": 7168, "intermediate_size": 18_432, "moe_intermediate_size": 2048, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "n_shared_experts": 1, "n_routed_experts": 256,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "hidden_act": "silu", "max_position_embeddings": 163_840,
    "tie_word_embeddings": False, "num_nextn_predict_layers": 1,
}  # fmt: skip


def test_deepseek_v3_reads_its_latent_and_expands_a_prompt() -> None:
    """61 layers x 2 x 128 heads: a decoded token reads 512 + 64 and 512, a prompt's expanded 192 and 128 per entry."""
    found = row(**DEEPSEEK)
    assert found.attention_flops_per_token_4k == 61 * 2 * 128 * (512 + 64 + 512) * 4096
    assert found.prefill_attention_flops_4k == 4_997_120 * 4096 * 4097 // 2
    assert found.prefill_attention_flops_128k == 4_997_120 * 131_072 * 131_073 // 2


WHISPER = {
    "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 1280,
    "encoder_layers": 32, "decoder_layers": 4, "encoder_attention_heads": 20, "decoder_attention_heads": 20,
    "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "vocab_size": 51_866, "num_mel_bins": 128,
    "max_source_positions": 1500, "max_target_positions": 448,
}  # fmt: skip


def test_whisper_decodes_with_its_decoder_alone() -> None:
    """Per layer 4 d^2 of its own attention, q and o of the other (2 d^2) and 8 d^2; the tied head once.

    A source token runs through 32 layers of 12 d^2 and makes keys and values for 4 layers (2 d^2). A decoded token
    looks at it with 4 x 20 heads x 64 in each of 4 layers.
    """
    found, d = row(**WHISPER), 1280
    assert found.params_active_compute == 4 * 14 * d * d + 51_866 * d
    assert found.flops_per_token == 316_277_760
    assert found.source_flops_per_token == 2 * (32 * 12 + 4 * 2) * d * d == 1_284_505_600
    assert found.cross_attention_flops_per_source_token == 4 * 4 * 20 * 64
    assert found.attention_flops_per_token_4k == 4 * 4 * 1280 * 4096
    assert found.attention_mask == "causal"


def test_bert_looks_at_all_tokens_and_pools_once() -> None:
    """12 layers x 4 x 768 per token looked at; 12 x 12 d^2 multiply, the pooler's d^2 runs once a sequence."""
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768, "num_hidden_layers": 12}
    found = row(**config, num_attention_heads=12, intermediate_size=3072, vocab_size=30_522, type_vocab_size=2)
    assert found.attention_flops_per_token_4k == 36_864 * 4096
    assert found.prefill_attention_flops_4k == 36_864 * 4096 * 4096
    assert found.params_active_compute == 12 * 12 * 768 * 768
    assert (found.attention_mask, found.kv_bytes_per_token, found.growth_bytes_per_token) == (
        "bidirectional",
        None,
        None,
    )


def test_a_short_convolution_is_counted_once() -> None:
    """LFM2's convolutions are matmul weights and look back for nothing: 1 attention layer of 2 heads of 64."""
    config = {"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "hidden_size": 128, "num_hidden_layers": 2}
    widths = {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 256, "vocab_size": 100}
    found = row(
        **config, **widths, layer_types=["conv", "full_attention"], conv_L_cache=3, block_auto_adjust_ff_dim=False
    )
    assert found.attention_flops_per_token_4k == 4 * 128 * 4096


def test_empty_experts_make_a_mean_and_a_most() -> None:
    """Of 768 choices 256 are empty: of 12 taken, 12 x 512 / 768 = 8 compute on average."""
    expert = Tensor("e", (6144, 2048), Component.EXPERTS_ROUTED, stored=512, touched=12, choices=768)
    assert expert.used == 8 * 6144 * 2048
    odd = Tensor("e", (1, 1), Component.EXPERTS_ROUTED, stored=2, touched=1, choices=3)
    assert odd.used == 1  # 2 / 3, to the nearest whole weight


def test_longcat_uses_eight_experts_on_average_and_twelve_at_most() -> None:
    """28 layers x 3 matrices of 6,144 x 2,048: most and mean differ by 4 experts in each layer."""
    config = {"model_type": "longcat_flash", "architectures": ["LongcatFlashForCausalLM"], "num_layers": 28}
    found = row(
        **config, hidden_size=6144, expert_ffn_hidden_size=2048, n_routed_experts=512, zero_expert_num=256, moe_topk=12
    )
    assert found.params_active is not None
    assert found.params_active_max == found.params_active + 28 * 4 * 3 * 6144 * 2048


@pytest.mark.parametrize(
    ("context", "grows"),
    [(32_768, 0), (4_096, 2 * 2 * 8 * 128 * 2), (2_048, 2 * 2 * 8 * 128 * 2), (None, 0)],
)
def test_a_window_that_is_never_reached_is_no_bound(context: int | None, grows: int) -> None:
    """Two layers with a window of 4,096 keep 2 x 8 x 128 elements of 2 bytes a token, and no more beyond it."""
    config = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "num_hidden_layers": 2}
    found = row(**config, sliding_window=4096, num_key_value_heads=8, max_position_embeddings=context)
    assert found.growth_bytes_per_token == grows
    assert (found.source_flops_per_token, found.cross_attention_flops_per_source_token) == (None, None)
    assert found.growth_bytes_per_token_first == 2 * 2 * 8 * 128 * 2


def test_measures_at_a_context_are_the_columns() -> None:
    """The functions that answer for any context give the columns at theirs."""
    derived = derive(DEEPSEEK)
    assert derived.model is not None
    assert attention_flops(derived.model, 4096) == derived.fingerprint.attention_flops_per_token_4k
    assert prefill_attention_flops(derived.model, 4096) == derived.fingerprint.prefill_attention_flops_4k


STEPS = {
    # layers x FLOPs per element x elements of the state, and what attention beside them reads of 4,096 tokens
    "mamba2": 64 * 6 * 8192 * 128,
    "falcon_mamba": 32 * 6 * 1536 * 16,
    "rwkv": 32 * 8 * 4096,
    "xlstm": 32 * 6 * 2048 * 4096 // 8,
    "qwen3_next": 36 * 8 * 32 * 128 * 128 + 12 * 4 * 16 * 256 * 4096,
    "minimax": 16 * 6 * 32 * 128 * 128 + 16 * 4 * 32 * 128 * 4096,
    "kimi_linear": 21 * 8 * 32 * 128 * 128 + 6 * 2 * 32 * (576 + 512) * 4096,
    "recurrent_gemma": 18 * 4 * 2560 + 8 * 4 * 10 * 256 * 2048,
    # 61 layers score every token with 64 heads of 128 and read 2,048 latents of 512 + 64
    "deepseek_v32": 61 * (2 * 64 * 128 * 4096 + 2 * 128 * (576 + 512) * 2048),
    # 23 layers read 128 entries and one per 128 tokens; 20 read 128, the best 512 of one per 4, and score all of those
    "deepseek_v4": 43 * 4 * 64 * 512 * 128 + 23 * 4 * 64 * 512 * 32 + 20 * (4 * 64 * 512 * 512 + 2 * 64 * 128 * 1024),
}


@pytest.mark.parametrize("model_type", STEPS)
def test_work_without_weights_of_one_step(model_type: str) -> None:
    """Library defaults counted by hand: state work per element of the state, scores and values per token read."""
    assert row(model_type=model_type).attention_flops_per_token_4k == STEPS[model_type]


def test_an_indexer_over_blocks_lets_16_blocks_of_128_through() -> None:
    """MiniMax-M3, every layer sparse: 4 index heads of 128 score every token, 64 heads of 128 read 2,048 of them."""
    sparse = {"sparse_attention_freq": [1] * 60, "sparse_topk_blocks": 16, "sparse_block_size": 128}
    found = row(model_type="minimax_m3_vl_text", sparse_attention_config=sparse)
    assert found.attention_flops_per_token_4k == 60 * (2 * 4 * 128 * 4096 + 4 * 64 * 128 * 2048)


def test_a_pooled_indexer_scores_one_key_per_pool(shared: Path) -> None:
    """GLM-5-Next's default pools 16 tokens: 4,096 are 256 scores; a key, a gate and a mark of each are loaded."""
    config = json.loads((shared / "hub" / "defaults" / "glm5_next.json").read_text("utf-8"))
    derived = derive(config)
    assert derived.model is not None
    reads = [r for each in derived.model.counted() for p in each.parts for r in p.reads]
    pooled = [r for r in reads if r.width is not None and r.stride > 1]
    assert pooled
    for read in pooled:
        assert read.entries_at(4096) == 4096 // 16
        assert read.elements == 16 * (2 * 128 + 1)


def test_a_decoder_of_future_tokens_runs_a_stream_for_each() -> None:
    """ProphetNet, width 32, 3 layers, 2 future tokens: 3 streams in every layer, 2 through the head.

    Per stream and layer q, k, v, o (4,096), relative positions (8 buckets x 4 heads x 32), q and o of the source
    (2,048) and 2 x 32 x 48; the library's own step agrees (FlopCounterMode, transformers 5.24: 228,608 a token of 8
    beside 6 of a source, of which 9,216 make keys and values and 22,272 are reads).
    """
    config = {"model_type": "prophetnet", "architectures": ["ProphetNetForConditionalGeneration"], "ngram": 2}
    widths = {"hidden_size": 32, "num_encoder_layers": 2, "num_decoder_layers": 3, "vocab_size": 100, "num_buckets": 8}
    more = {"num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "decoder_ffn_dim": 48}
    found = row(**config, **widths, **more, encoder_ffn_dim=64, max_position_embeddings=128)
    assert found.params_active_compute == 3 * 3 * (4096 + 1024 + 2048 + 3072) + 2 * 100 * 32
    assert found.flops_per_token == 228_608 - 9_216 - 22_272
    assert found.attention_flops_per_token_4k == 3 * 3 * 4 * 32 * 4096
    assert found.cross_attention_flops_per_source_token == 3 * 3 * 4 * 32


def test_permutation_attention_scores_positions_before_and_behind() -> None:
    """XLNet: T scores of content, 2T of positions, T values, 2 x 32 each, in 2 layers; their matrix runs twice a token.

    FlopCounterMode over transformers 5.24 with these widths: 49,152 a token at 16 tokens, 73,728 at 64.
    """
    config = {"model_type": "xlnet", "architectures": ["XLNetModel"], "vocab_size": 100, "d_model": 32, "n_layer": 2}
    found = row(**config, n_head=4, d_inner=64)
    per_entry = 2 * (1 + 2 + 1) * 2 * 32
    assert found.attention_flops_per_token_4k == per_entry * 4096
    assert (
        found.flops_per_token
        == 2 * 2 * (6 * 32 * 32 + 2 * 32 * 64)
        == 49_152 - 16 * per_entry
        == 73_728 - 64 * per_entry
    )
    assert found.attention_mask == "bidirectional"


def test_a_pair_under_a_wrapper_has_its_source_in_every_step() -> None:
    """A BERT decoder over an image encoder looks at it in every step: q and o (2 d^2) beside 4 d^2 and 8 d^2.

    The same decoder by itself passes cross-attention by. Keys and values are made once per token of the source.
    """
    decoder = {"model_type": "bert", "is_decoder": True, "add_cross_attention": True, "hidden_size": 32}
    decoder |= {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100}
    head = 32 * 32 + 100 * 32  # a square transform, then the tied table
    pair = row(
        model_type="vision-encoder-decoder", architectures=["VisionEncoderDecoderModel"], decoder=decoder, encoder={}
    )
    alone = row(**decoder, architectures=["BertLMHeadModel"])
    assert pair.params_active_compute == 2 * 14 * 32 * 32 + head
    assert alone.params_active_compute == 2 * 12 * 32 * 32 + head
    assert pair.source_flops_per_token == alone.source_flops_per_token == 2 * 2 * 2 * 32 * 32
