"""Files that are no plain model of their class: shapes elsewhere, heads and adapters alone, labels over a pair."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

TEXT: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 100, "tie_word_embeddings": False,
}  # fmt: skip
LLAMA = TEXT | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}


def row(config: dict[str, Any]) -> Any:
    """The fingerprint of a config."""
    return derive(config).fingerprint


class TestShapesInside:
    """A shape that stands where the class does not look."""

    @pytest.mark.parametrize(
        "inside",
        [
            {"model": {"hidden_size": 64, "num_hidden_layers": 2}},
            {"model": {"config": {"hidden_size": 64, "num_hidden_layers": 2}}},
            {"text_config": {"hidden_size": 64, "num_hidden_layers": 2}, "vocab_size": 100},
            {"text_config": {"num_hidden_layers": 2}, "hidden_size": 64},
        ],
    )
    def test_an_object_of_any_name_is_no_place_for_it(self, inside: dict[str, Any]) -> None:
        """One level down or two, wholly or in part: class defaults are not what such a file says."""
        found = row({"model_type": "llama", **inside})
        assert (found.refusal_kind, "alone" in found.refusal_reason) == ("contradiction", True)

    def test_a_pair_is_asked_too(self) -> None:
        """BART under its own spelling."""
        assert row({"model_type": "bart", "text_config": {"d_model": 64, "decoder_layers": 2}}).refusal_kind is not None

    @pytest.mark.parametrize(
        ("more", "kind"),
        [
            ({"text_config": {"text_config": TEXT}}, "contradiction"),
            ({"text_config": {}, **TEXT}, "contradiction"),
            ({"text_config": [TEXT]}, "bad_value"),
            ({"text_config": "owner/name"}, "bad_value"),
            (
                {"text_config": TEXT | {"architectures": ["My"], "auto_map": {"AutoModel": "m.My"}}},
                "unknown_class",
            ),
            ({"text_config": TEXT | {"architectures": ["VLlama3ForCausalLM"]}}, None),
        ],
    )
    def test_a_wrapper_refuses_what_its_language_model_cannot_be(self, more: dict[str, Any], kind: str | None) -> None:
        """An object inside the object, a flat shape beside an empty one, another type, a class of a file's own code."""
        assert row({"model_type": "qwen2_vl", **more}).refusal_kind == kind

    def test_an_empty_object_leaves_the_shape_to_another(self) -> None:
        """text_config names the family, llm_config has the shape."""
        found = row({"model_type": "qwen2_vl", "text_config": {"model_type": "qwen2"}, "llm_config": TEXT})
        assert (found.d_model, found.n_layers) == (64, 2)

    @pytest.mark.parametrize(
        ("key", "told"), [("per_layer_config", {"0": {"head_dim": 32}}), ("block_configs", [{"attention": {}}] * 2)]
    )
    def test_numbers_of_single_layers_are_read_or_refused(self, key: str, told: Any) -> None:
        """Layers with numbers of their own under a class whose rules read none."""
        found = row(LLAMA | {key: told})
        assert (found.refusal_kind, key in found.refusal_reason) == ("not_derivable", True)
        assert row(LLAMA | {key: type(told)()}).verdict == "known"

    def test_a_wrapper_that_says_it_looks_both_ways_is_doubted(self) -> None:
        """The library asks the language model alone, and the file says it beside."""
        found = row({"model_type": "qwen2_vl", "text_config": TEXT, "is_causal": False})
        assert (found.verdict, "is_causal" in found.doubt) == ("assumed", True)


@pytest.mark.parametrize("name", ["medusa", "hydra"])
def test_heads_without_a_model_say_what_they_need(name: str) -> None:
    """The published files state how many heads there are and the model they are for, and none of its widths."""
    found = row({f"{name}_num_heads": 5, f"{name}_num_layers": 1, "base_model_name_or_path": "lmsys/vicuna-7b-v1.3"})
    assert (found.kind, found.refusal_kind) == ("draft", "missing_key")
    assert "lmsys/vicuna-7b-v1.3" in found.refusal_reason


def test_an_adapter_of_another_library_is_no_model() -> None:
    """Its file states the model's type and width, and the shape of the adapter under `config`."""
    own = {"config": {"non_linearity": "relu", "reduction_factor": 16}, "model_class": "BertModel"}
    found = row(own | {"model_type": "bert", "hidden_size": 768, "model_name": "bert-base-uncased"})
    assert (found.kind, "bert-base-uncased" in found.refusal_reason) == ("adapter", True)


# An encoder and a decoder of two layers, width 16, networks of 32, tables of 100 tokens and 18 positions.
PAIR: dict[str, Any] = {
    "model_type": "mbart", "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 100,
    "max_position_embeddings": 16,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "head"),
    [
        ({"architectures": ["MBartForSequenceClassification"], "num_labels": 5}, 16 * 16 + 16 + 5 * 16 + 5),
        ({"architectures": ["MBartForSequenceClassification"]}, 16 * 16 + 16 + 2 * 16 + 2),
        ({"architectures": ["MBartForQuestionAnswering"], "num_labels": 5}, 2 * 16 + 2),
    ],
)
def test_a_pair_may_end_in_labels(more: dict[str, Any], head: int) -> None:
    """A dense layer and the labels of a text; the two ends of a span, whatever num_labels says."""
    found, bare = row(PAIR | more), row(PAIR | {"architectures": ["MBartModel"]})
    assert (found.kind, found.params_total - bare.params_total) == ("classifier", head)


@pytest.mark.parametrize(
    ("more", "outputs"),
    [
        ({}, 2),
        ({"num_labels": 5, "id2label": {"0": "a"}}, 5),
        ({"id2label": {"0": "a", "1": "b", "2": "c"}}, 3),
        ({"num_labels": None, "id2label": {"0": "a"}}, 1),
        ({"num_labels": 0}, None),
        ({"id2label": {}}, None),
    ],
)
def test_labels_are_counted_or_named(more: dict[str, Any], outputs: int | None) -> None:
    """num_labels goes first; of none at all transformers 5.24 builds a matrix without rows, which is no classifier."""
    assert row(LLAMA | more).params_total == row(LLAMA).params_total  # and none of them speaks of a language model
    found = row(LLAMA | {"architectures": ["LlamaForSequenceClassification"]} | more)
    assert found.params_other == (None if outputs is None else outputs * 64)
    assert (found.refusal_kind == "bad_value") is (outputs is None)


def test_bart_has_three_labels_and_eurobert_a_dense_layer_before_them() -> None:
    """With transformers 5.24 on class defaults: 407,344,131 with 3 labels; 212,358,146 with 2."""
    bart = row({"model_type": "bart", "architectures": ["BartForSequenceClassification"]})
    euro = row({"model_type": "eurobert", "architectures": ["EuroBertForSequenceClassification"]})
    assert (bart.params_total, euro.params_total) == (407_344_131, 212_358_146)


@pytest.mark.parametrize(("name", "total"), [("T5", 35_333_381), ("MT5", 146_943_173), ("UMT5", 146_944_517)])
def test_labels_of_tokens_stand_behind_the_encoder_alone(name: str, total: int) -> None:
    """With transformers 5.24 on class defaults and five labels: the encoder, a matrix and a bias; nothing is kept."""
    found = row({"model_type": name.lower(), "architectures": [f"{name}ForTokenClassification"], "num_labels": 5})
    assert (found.params_total, found.params_other, found.kind) == (total, 512 * 5 + 5, "classifier")
    assert (found.kv_bytes_per_token, found.attention_mask) == (None, "bidirectional")


@pytest.mark.parametrize(
    ("more", "kind"),
    [({"expand_k": None}, "missing_key"), ({"expand_v": 0}, "bad_value"), ({"expand_k": -1}, "bad_value")],
)
def test_a_width_that_is_null_or_none_is_no_number(more: dict[str, Any], kind: str) -> None:
    """Shares of linear attention's widths."""
    assert row({"model_type": "gla", **more}).refusal_kind == kind


def test_heads_fill_the_state_where_norms_or_outputs_are_as_wide() -> None:
    """OLMoE norms queries over the hidden size: 4 heads of 32 do not fill 64."""
    olmoe = {"model_type": "olmoe", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    assert [row(olmoe | {"head_dim": n}).refusal_kind for n in (16, 32)] == [None, "contradiction"]


def test_attentions_are_two_a_layer_in_longcat() -> None:
    """num_hidden_layers counts attentions, num_layers layers; the latter goes first."""
    depths = [row({"model_type": "longcat_flash", **n}).n_layers for n in (
        {"num_hidden_layers": 8}, {"num_layers": 4}, {"num_layers": 4, "num_hidden_layers": 4},
    )]  # fmt: skip
    assert depths == [4, 4, 4]


def test_a_head_width_follows_where_the_class_has_no_number_for_it() -> None:
    """Qwen3-VL-MoE takes the hidden size over heads where head_dim is absent: 64 / 4."""
    text = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    assert row({"model_type": "qwen3_vl_moe", "text_config": text}).head_dim == 16
