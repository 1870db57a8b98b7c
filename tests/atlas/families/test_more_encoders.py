"""Encoders of later rows, class by class, against transformers' own modules built on the meta device."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

V3 = {
    "model_type": "deberta-v2", "architectures": ["DebertaV2ForMaskedLM"], "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "relative_attention": True, "position_buckets": 256,
    "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p", "position_biased_input": False,
    "max_relative_positions": -1, "type_vocab_size": 0, "vocab_size": 128100,
}  # fmt: skip
V1 = {
    "model_type": "deberta", "architectures": ["DebertaForSequenceClassification"], "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"], "position_biased_input": False, "max_relative_positions": -1,
    "num_hidden_layers": 3,
}  # fmt: skip
BLIP = {
    "model_type": "blip", "architectures": ["BlipForConditionalGeneration"], "vision_config": {"hidden_size": 768},
    "text_config": {"model_type": "blip_text_model", "hidden_size": 768, "encoder_hidden_size": 768},
}  # fmt: skip


def small(model_type: str, cls: str, **more: object) -> dict[str, Any]:
    """Two layers of a class's defaults; a head over a vocabulary is untied."""
    tied = not cls.endswith("ForMaskedLM")
    return {
        "model_type": model_type,
        "architectures": [cls],
        "num_hidden_layers": 2,
        "tie_word_embeddings": tied,
        **more,
    }


@pytest.mark.parametrize(
    ("config", "total"),
    [
        (V3, 184_551_780),
        ({**V3, "share_att_key": False}, 198_725_988),
        ({**V3, "conv_kernel_size": 3, "position_buckets": -1}, 186_716_772),
        ({**V3, "pos_att_type": ["c2p"], "share_att_key": False, "legacy": False}, 191_638_884),
        (V1, 64_786_178),
        ({**V1, "talking_head": True, "max_relative_positions": 128, "type_vocab_size": 2}, 64_198_754),
        (small("deberta-v2", "DebertaV2Model"), 254_214_144),
        (small("deberta-v2", "DebertaV2ForMaskedLM"), 453_595_848),
        (small("deberta-v2", "DebertaV2ForTokenClassification"), 254_217_218),
        (small("longformer", "LongformerModel"), 42_147_072),
        (small("longformer", "LongformerForMaskedLM"), 65_650_548),
        (small("longformer", "LongformerForQuestionAnswering"), 41_558_018),
        (small("ibert", "IBertForSequenceClassification"), 38_605_058),
        (small("ibert", "IBertForMaskedLM"), 62_106_996),
        (small("layoutlm", "LayoutLMForTokenClassification"), 41_750_786),
        (small("nystromformer", "NystromformerForSequenceClassification"), 38_205_722),
        (small("nystromformer", "NystromformerForMaskedLM"), 61_305_720),
        ({"model_type": "flaubert", "architectures": ["FlaubertForTokenClassification"], "n_layers": 2}, 163_510_274),
        (small("jina_embeddings_v3", "JinaEmbeddingsV3ForMaskedLM"), 538_751_268),
    ],
)
def test_a_class_stores_what_the_library_builds(config: dict[str, Any], total: int) -> None:
    """Totals of named_parameters() of transformers 5.24's class on the same config; no cache is kept."""
    f = derive(config).fingerprint
    assert (f.verdict, f.params_total, f.kv_bytes_per_token) == ("known", total, None)


def test_positions_are_compared_with_all_rows_of_the_table() -> None:
    """512 rows of 768, both ways, in 12 layers: 2 x 768 x 512 x 2 x 12 FLOPs a token beside attention's own."""
    plain = derive({**V3, "relative_attention": False}).fingerprint
    with_positions = derive(V3).fingerprint
    assert plain.attention_flops_per_token_4k is not None
    assert with_positions.attention_flops_per_token_4k is not None
    more = with_positions.attention_flops_per_token_4k - plain.attention_flops_per_token_4k
    assert more == 2 * 768 * 512 * 2 * 12


def test_another_way_of_comparing_is_refused() -> None:
    """A word that no version reads is named."""
    f = derive({**V3, "pos_att_type": "c2p|sideways"}).fingerprint
    assert (f.verdict, f.refusal_kind) == ("refused", "bad_value")


def test_the_captioning_class_is_a_language_model_over_an_image() -> None:
    """BLIP: 137,881,148 weights of the text, and a tower that makes it the 223,971,644 of the library's class."""
    f = derive(BLIP).fingerprint
    assert (f.verdict, f.params_total, f.params_towers) == ("known", 137_881_148, 223_971_644 - 137_881_148)


def test_files_of_another_code_than_the_row_was_read_from_are_refused() -> None:
    """RWKV-7 without the mode of flash-linear-attention may store a bottleneck more: no number."""
    f = derive({"model_type": "rwkv7", "architectures": ["RWKV7ForCausalLM"], "hidden_size": 768}).fingerprint
    assert (f.verdict, f.refusal_kind) == ("refused", "not_derivable")


def test_untied_blocks_of_zamba_are_refused() -> None:
    """The library builds each shared block anew where the head is not tied, which no published file does."""
    for model_type in ("zamba", "zamba2"):
        assert derive({"model_type": model_type, "tie_word_embeddings": False}).fingerprint.verdict == "refused"


def test_heads_that_olmo_hybrid_does_not_state_follow_from_attention() -> None:
    """16 heads of 0.75 x 3840 / 16 = 180 keys and 360 values: the library's 1,503,153,768 with 8 value heads."""
    config = {
        "model_type": "olmo_hybrid", "architectures": ["OlmoHybridForCausalLM"], "num_attention_heads": 16,
        "num_hidden_layers": 4, "linear_num_value_heads": 8,
    }  # fmt: skip
    assert derive(config).fingerprint.params_total == 1_503_153_768
