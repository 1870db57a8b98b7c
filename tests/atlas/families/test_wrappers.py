"""Wrappers of text with speech or vision: the language model to the weight, the rest apart. Hand counts."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive
from atlas.numbers.measure import component, model_ledger
from schemas.vocabulary import Component


def row(config: dict[str, Any]) -> Any:
    """The row of a config that is known to be derivable."""
    found = derive(config).fingerprint
    assert found.verdict == "known", found.refusal_reason
    return found


OPT: dict[str, Any] = {
    "model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 96,
    "vocab_size": 100, "max_position_embeddings": 32, "word_embed_proj_dim": 64,
}  # fmt: skip


@pytest.mark.parametrize("wrapper", ["blip-2", "instructblip"])
def test_only_the_language_model_says_whether_it_is_tied(wrapper: str) -> None:
    """OPT ties by its own default although the wrapper's file says false; a language model that says false is not."""
    tied = row({"model_type": wrapper, "tie_word_embeddings": False, "text_config": OPT})
    untied = row({"model_type": wrapper, "text_config": OPT | {"tie_word_embeddings": False}})
    assert (tied.params_unembedding, untied.params_unembedding) == (0, 100 * 64)
    assert tied.has_towers


@pytest.mark.parametrize("wrapper", ["qwen2_5_omni", "qwen3_omni_moe"])
def test_the_level_that_holds_the_head_says_whether_it_is_tied(wrapper: str) -> None:
    """With transformers 5.24 on the meta device: the thinker's key ties, the file's outermost one says nothing."""
    for outermost in ({}, {"tie_word_embeddings": True}, {"tie_word_embeddings": False}):
        for thinker, tied in (
            ({}, False),
            ({"tie_word_embeddings": True}, True),
            ({"tie_word_embeddings": False}, False),
        ):
            config = {"model_type": wrapper, "thinker_config": {"text_config": {}} | thinker} | outermost
            assert row(config).tie_word_embeddings is tied


def test_a_guard_over_gemma_reads_the_language_model_s_word() -> None:
    """Transformers 5.24 on the meta device: ShieldGemma 2 is tied where it or its text_config says so."""
    text = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    for inner, tied in (({}, True), ({"tie_word_embeddings": True}, True), ({"tie_word_embeddings": False}, False)):
        config = {"model_type": "shieldgemma2", "tie_word_embeddings": False, "text_config": text | inner}
        assert row(config).tie_word_embeddings is tied
        assert row(config | {"tie_word_embeddings": True}).tie_word_embeddings


def test_blip_is_tied_where_either_level_says_so() -> None:
    """Transformers 5.24 on the meta device, class defaults: 23,472,956 weights more where both levels say false.

    A head of its own is 30,524 x 768 and a bias of 30,524.
    """
    totals: dict[str, int] = {}
    for outer in ({}, {"tie_word_embeddings": True}, {"tie_word_embeddings": False}):
        for inner in ({}, {"tie_word_embeddings": True}, {"tie_word_embeddings": False}):
            found = row({"model_type": "blip", "text_config": {"model_type": "blip_text_model"} | inner} | outer)
            untied = False in outer.values() and False in inner.values()
            assert found.tie_word_embeddings is not untied
            totals[str(untied)] = found.params_total
    assert totals["True"] - totals["False"] == 30524 * 768 + 30524 == 23472956


def test_ovis2_builds_its_head_by_its_own_numbers() -> None:
    """Untied, its head has the wrapper's rows (151,643 where none is stated) and width; another width is refused."""
    text = {"model_type": "qwen2", "hidden_size": 1536, "intermediate_size": 64, "num_hidden_layers": 1}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000}
    wrapper = {"model_type": "ovis2", "tie_word_embeddings": False, "text_config": text}
    assert (row(wrapper).params_unembedding, row(wrapper).params_embedding) == (151643 * 1536, 1000 * 1536)
    assert row(wrapper | {"vocab_size": 1000}).params_unembedding == 1000 * 1536
    assert row(wrapper | {"vocab_size": 1000, "tie_word_embeddings": True}).params_unembedding == 0
    assert derive(wrapper | {"hidden_size": 768}).fingerprint.refusal_kind == "contradiction"


def test_florence_is_a_pair_without_a_class_named() -> None:
    """Its BART has an encoder and a decoder, whichever class the file names: 2 layers each, cross-attention in one."""
    text = {"model_type": "bart", "d_model": 64, "vocab_size": 100, "max_position_embeddings": 32}
    text |= {
        f"{s}_{k}": v
        for s in ("encoder", "decoder")
        for k, v in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 96))
    }
    attention = 4 * (64 * 64 + 64)
    assert row({"model_type": "florence2", "text_config": text}).params_attention == (2 + 2 * 2) * attention
    own = text | {"model_type": "florence2_language"}  # as published with its own code, whose class keeps BART's bias
    found = [derive({"model_type": "florence2", "text_config": t}) for t in (text, own)]
    assert [component(model_ledger(d.model), Component.BUFFERS) for d in found if d.model] == [0, 100]
    assert {d.fingerprint.params_buffers for d in found} == {None}  # the towers' are unknown
    assert len({d.fingerprint.params_total for d in found}) == 1


def test_kosmos_norms_within_its_sublayers() -> None:
    """A norm of 64 before attention's output projection counts as attention, one of 96 before the way down as norm."""
    text = {"embed_dim": 64, "layers": 2, "attention_heads": 4, "ffn_dim": 96, "vocab_size": 100}
    found = row({"model_type": "kosmos-2", "text_config": text})
    assert found.params_attention == 2 * (4 * (64 * 64 + 64) + 2 * 64)
    assert found.params_norm == 2 * (2 * 64 + 2 * 64 + 2 * 96) + 2 * 64


def test_codes_of_speech_have_rows_in_the_token_table() -> None:
    """Kyutai's table holds 50 words, 3 codebooks of 8 and padding; the head only words; a tied one is refused."""
    config = {"model_type": "kyutai_speech_to_text", "hidden_size": 64, "num_attention_heads": 4, "ffn_dim": 96}
    config |= {"num_hidden_layers": 1, "vocab_size": 50, "num_codebooks": 3, "codebook_vocab_size": 8}
    found = row(config)
    assert (found.params_embedding, found.params_unembedding) == ((50 + 3 * 8 + 1) * 64, 50 * 64)
    assert derive(config | {"tie_word_embeddings": True}).fingerprint.verdict == "refused"


def test_a_decoder_over_an_image_is_counted_alone() -> None:
    """TrOCR's decoder of 2 layers: attention back and over an image 48 wide; a GPT-2 there is refused."""
    decoder = {"model_type": "trocr", "d_model": 64, "decoder_layers": 2, "decoder_attention_heads": 4}
    decoder |= {"decoder_ffn_dim": 96, "vocab_size": 100, "cross_attention_hidden_size": 48}
    whole = {"model_type": "vision-encoder-decoder", "architectures": ["VisionEncoderDecoderModel"]}
    found = row(whole | {"decoder": decoder, "encoder": {"model_type": "vit"}})
    own, source = 4 * (64 * 64 + 64), 2 * (64 * 64 + 64) + 2 * (64 * 48 + 64)
    assert (found.params_attention, found.n_layers) == (2 * (own + source), 2)
    assert derive(whole | {"decoder": {"model_type": "gpt2"}}).fingerprint.refusal_kind == "not_derivable"


def test_a_stated_rope_base_is_explicit_wherever_it_stands() -> None:
    """rope_theta within a wrapper's text_config is what the file states, not the class default."""
    text = {"model_type": "llama", "rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}
    (note,) = [e for e in derive({"model_type": "janus", "text_config": text}).evidence if e.field == "rope_theta"]
    assert (note.value, note.origin, note.source) == (7.0, "explicit", "text_config.rope_parameters.rope_theta")


def test_experts_of_images_are_stored_and_no_text_uses_them() -> None:
    """ERNIE 4.5 VL: 4 text experts of 32 and 4 of 16 for images, two routers; a text token runs 2 of the first."""
    text = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    text |= {"intermediate_size": 96, "vocab_size": 100, "moe_num_experts": 4, "moe_k": 2, "moe_num_shared_experts": 1}
    found = row({"model_type": "ernie4_5_vl_moe", "text_config": text | {"moe_intermediate_size": [32, 16]}})
    assert found.params_experts_routed == 4 * 3 * 64 * (32 + 16)
    assert (found.params_router, found.params_experts_shared) == (2 * (4 * 64 + 4), 3 * 64 * 32)
    unused = 2 * 3 * 64 * 32 + 4 * 3 * 64 * 16 + (4 * 64 + 4)
    assert found.params_total - found.params_active == unused
    assert derive({"model_type": "ernie4_5_vl_moe", "text_config": text | {"moe_intermediate_size": 32}}).model is None


def test_gated_convolutions_stand_before_the_encoder() -> None:
    """Speech2Text: 8 bands to 12 channels, halved by the gate to 6, then to twice the width of 16; kernels of 3."""
    config = {"model_type": "speech_to_text", "d_model": 16, "conv_channels": 12, "conv_kernel_sizes": [3, 3]}
    assert row(config | {"input_feat_per_channel": 8}).params_other == (12 * 8 * 3 + 12) + (32 * 6 * 3 + 32)


@pytest.mark.parametrize(("cls", "tables"), [("T5Gemma2Model", 1), ("T5Gemma2ForConditionalGeneration", 2)])
def test_t5gemma_2_has_a_table_per_stack_where_nothing_is_tied(cls: str, tables: int) -> None:
    """By transformers 5.24, untied: the second stack has a table of 100 x 64 and a mark of 64, the head a table."""
    text = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    text |= {"head_dim": 16, "intermediate_size": 96, "vocab_size": 100}
    config = {"model_type": "t5gemma2", "architectures": [cls], "decoder": text, "encoder": {"text_config": text}}
    tied, untied = (row(config | {"tie_word_embeddings": t}).params_total for t in (True, False))
    assert untied - tied == tables * 100 * 64 + 64


def test_deepseek_vl2_s_tiles_and_its_stated_head_say_nothing_new() -> None:
    """The smallest release, as published: plain heads in 12 layers, a head beside the table.

    By hand: four matrices of 1280 x 1280 and two norms a layer, a dense network of 6,848 in the first; in the others 64
    experts of 896, two shared ones and a gate; two tables of 129,280 x 1280 and two vectors of 1280.
    """
    language = {
        "architectures": ["DeepseekV2ForCausalLM"], "first_k_dense_replace": 1, "hidden_size": 1280,
        "intermediate_size": 6848, "kv_lora_rank": None, "lm_head": True, "max_position_embeddings": 4096,
        "model_type": "deepseek_v2", "moe_intermediate_size": 896, "n_group": 1, "n_routed_experts": 64,
        "n_shared_experts": 2, "num_attention_heads": 10, "num_experts_per_tok": 6, "num_hidden_layers": 12,
        "num_key_value_heads": 10, "q_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "rm_head": False,
        "topk_group": 1, "topk_method": "greedy", "use_mla": False, "v_head_dim": 0, "vocab_size": 129280,
    }  # fmt: skip
    config = {"model_type": "deepseek_vl_v2", "language_config": language, "tile_tag": "2D", "global_view_pos": "head"}
    experts = (64 + 2) * 3 * 1280 * 896 + 64 * 1280
    layers = 12 * (4 * 1280 * 1280 + 2 * 1280) + 3 * 1280 * 6848 + 11 * experts
    found = row(config | {"candidate_resolutions": [[384, 384], [384, 768]], "vision_config": {"layers": 27}})
    assert found.params_total == layers + 2 * 129280 * 1280 + 1280 + 2 * 1280
    assert found.kv_bytes_per_token == 12 * 2 * 1280 * 2
