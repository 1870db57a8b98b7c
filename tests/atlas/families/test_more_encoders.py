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


@pytest.mark.parametrize("ways", ["c2p|sideways", ["sideways"], True, 3, {"c2p": True}])
def test_another_way_of_comparing_is_refused(ways: object) -> None:
    """A word that no version reads is named, and what is no list of words is no internal error."""
    f = derive({**V3, "pos_att_type": ways}).fingerprint
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


JINA = {
    "model_type": "bert", "architectures": ["JinaBertModel"], "hidden_size": 512, "num_hidden_layers": 4,
    "num_attention_heads": 8, "intermediate_size": 2048, "max_position_embeddings": 8192, "vocab_size": 30528,
    "auto_map": {
        "AutoConfig": "jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig",
        "AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel",
    },
    "position_embedding_type": "alibi", "feed_forward_type": "geglu", "emb_pooler": "mean",
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "total"),
    [
        ({}, 32_690_688),  # jina-embeddings-v2-small-en
        ({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
         | {"vocab_size": 61056}, 160_813_824),  # jina-embeddings-v2-base-de
    ],
)  # fmt: skip
def test_jina_s_bert_has_gated_networks_and_no_table_of_positions(more: dict[str, int], total: int) -> None:
    """The totals that the Hub reports, as recorded by llmfit 1.1.17; nothing is cached."""
    found = derive({**JINA, **more}).fingerprint
    assert (found.verdict, found.params_total, found.kv_bytes_per_token) == ("known", total, None)


@pytest.mark.parametrize("key", ["auto_map", "position_embedding_type", "feed_forward_type"])
def test_what_jina_s_code_builds_without_a_switch_is_not_described(key: str) -> None:
    """Without them the code builds another network, or nothing says which of its two codes it is."""
    found = derive({k: v for k, v in JINA.items() if k != key}).fingerprint
    assert found.verdict == "refused"
    assert key in str(found.refusal_reason)


def test_jina_s_other_code_has_norms_of_queries_and_keys() -> None:
    """jina-bert-v2-qk-post-norm is refused: jina-embeddings-v2-base-code has 55,296 parameters more."""
    other = {"AutoConfig": "jinaai/jina-bert-v2-qk-post-norm--configuration_bert.JinaBertConfig"}
    assert derive({**JINA, "auto_map": other}).fingerprint.verdict == "refused"


def test_nomic_s_experts_stand_in_every_second_layer() -> None:
    """475,292,928 in the model card of mteb; six layers of eight experts of which two are taken, none caches."""
    found = derive({
        "model_type": "nomic_bert", "architectures": ["NomicBertModel"], "n_embd": 768, "n_head": 12, "n_inner": 3072,
        "n_layer": 12, "n_positions": 2048, "activation_function": "gelu", "qkv_proj_bias": True, "mlp_fc1_bias": True,
        "mlp_fc2_bias": True, "moe_every_n_layers": 2, "moe_top_k": 2, "num_experts": 8, "vocab_size": 250048,
        "type_vocab_size": 1, "rotary_emb_fraction": 1.0,
    }).fingerprint  # fmt: skip
    expert = 2 * 768 * 3072
    assert (found.verdict, found.params_total, found.kv_bytes_per_token) == ("known", 475_292_928, None)
    assert found.params_active == 475_292_928 - 6 * 6 * expert


def test_a_switch_that_must_be_stated_is_named_where_it_is_not() -> None:
    """Jais without its position_embedding_type has GPT-2's table of positions, which the row does not describe."""
    jais = {"model_type": "jais", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": 96, "vocab_size": 100}
    stated = {"activation_function": "swiglu", "position_embedding_type": "alibi"}
    assert derive(jais | stated).fingerprint.params_total == 100 * 64 + 2 * 64 + 2 * (
        4 * (64 * 64 + 64) + 3 * 64 * 96 + 2 * 96 + 64 + 4 * 64
    )
    for key in stated:
        found = derive(jais | {k: v for k, v in stated.items() if k != key}).fingerprint
        assert f"{key} is not stated" in str(found.refusal_reason)


@pytest.mark.parametrize(
    ("model_type", "cls", "outputs"),
    [
        ("bert", "BertForQuestionAnswering", 5), ("camembert", "CamembertForQuestionAnswering", 5),
        ("deberta", "DebertaForQuestionAnswering", 5), ("xlnet", "XLNetForQuestionAnsweringSimple", 5),
        ("xmod", "XmodForQuestionAnswering", 5), ("ibert", "IBertForQuestionAnswering", 5),
        ("yoso", "YosoForQuestionAnswering", 2), ("roformer", "RoFormerForQuestionAnswering", 2),
        ("nystromformer", "NystromformerForQuestionAnswering", 2), ("mra", "MraForQuestionAnswering", 2),
        ("llama", "LlamaForQuestionAnswering", 2),
    ],
)  # fmt: skip
def test_spans_have_as_many_outputs_as_labels_where_the_class_asks(model_type: str, cls: str, outputs: int) -> None:
    """BERT's kin build `qa_outputs` by num_labels, which some set to 2 first, and decoders by 2 (transformers 5.24)."""
    few, many = (derive(small(model_type, cls, num_labels=n)).fingerprint for n in (2, 5))
    assert few.params_total is not None
    assert many.params_total is not None
    assert many.params_total - few.params_total == (outputs - 2) * ((few.d_model or 0) + 1)


@pytest.mark.parametrize(
    ("cls", "share", "tie", "total"),
    [
        ("MarianMTModel", True, True, 414_307_328), ("MarianMTModel", True, False, 592_793_600),
        ("MarianMTModel", False, True, 473_802_752), ("MarianMTModel", False, False, 533_298_176),
        ("MarianModel", True, False, 533_298_176), ("MarianModel", False, False, 473_802_752),
    ],
)  # fmt: skip
def test_marian_keeps_the_stacks_own_tables_where_nothing_ties_them(
    cls: str,
    share: bool,  # noqa: FBT001
    tie: bool,  # noqa: FBT001
    total: int,
) -> None:
    """Totals of transformers 5.24's modules on the library's widths, tied tensors once."""
    config = {"model_type": "marian", "architectures": [cls], "share_encoder_decoder_embeddings": share}
    assert derive(config | {"tie_word_embeddings": tie}).fingerprint.params_total == total


@pytest.mark.parametrize(("stated", "width"), [(3072, 2048), (100, 72), (99, 72)])
def test_neobert_s_networks_are_two_thirds_as_wide_as_stated(stated: int, width: int) -> None:
    """By hand: 2/3 of 100 is 66, in eights 72; 2/3 of 99 is 66 too. A head of its own with a bias, nothing cached."""
    config = {"model_type": "neobert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config |= {"vocab_size": 100, "intermediate_size": stated}
    body = 100 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * width + 2 * 64) + 64
    head, plain = (derive(config | {"architectures": [c]}).fingerprint for c in ("NeoBERTLMHead", "NeoBERT"))
    assert (head.verdict, head.params_total) == ("known", body + 100 * 64 + 100)
    assert (plain.params_total, plain.kv_bytes_per_token) == (body, None)


@pytest.mark.parametrize(
    ("model_type", "cls", "labels", "total"),
    [
        ("modernbert", "ModernBertForQuestionAnswering", 2, 149_606_402),
        ("modernbert", "ModernBertForQuestionAnswering", 5, 149_608_709),
        ("jina_embeddings_v3", "JinaEmbeddingsV3ForSequenceClassification", 5, 559_369_221),
        ("jina_embeddings_v3", "JinaEmbeddingsV3ForQuestionAnswering", 5, 558_319_621),
        ("gte", "GteForSequenceClassification", 5, 305_962_757),
        ("xlnet", "XLNetForSequenceClassification", 5, 361_323_525),
        ("xlm", "XLMForSequenceClassification", 5, 667_099_141),
        ("flaubert", "FlaubertForSequenceClassification", 5, 667_099_141),
    ],
)
def test_classifiers_that_were_refused_are_counted(model_type: str, cls: str, labels: int, total: int) -> None:
    """Totals of transformers 5.24's modules on the library's widths."""
    found = derive({"model_type": model_type, "architectures": [cls], "num_labels": labels}).fingerprint
    assert (found.verdict, found.params_total, found.kv_bytes_per_token) == ("known", total, None)
