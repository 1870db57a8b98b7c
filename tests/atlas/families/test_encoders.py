"""Encoders, encoder-decoders and the decoder of one alone: which stacks a class has, what is kept, hand counts."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.families import available, family
from atlas.interpret import derive
from atlas.layouts import FFN_LAYOUTS, FOLLOWING, MIXER_LAYOUTS
from atlas.layouts.stacks import STACKS
from atlas.readers import FFNS, MIXERS

SMALL = {
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 10,
    "max_position_embeddings": 5,
}  # fmt: skip
LAYER = 4 * (8 * 8 + 8) + (2 * 8 * 16 + 16 + 8) + 2 * 2 * 8
"""Four projections and two of a network, all with biases, and two LayerNorms: 600."""
TABLES = (10 + 5 + 2) * 8 + 2 * 8
"""Tokens, positions and segments, and their norm: 152."""


def found(config: dict[str, Any]) -> Any:
    """The row of a config that is known to be derivable."""
    row = derive(config).fingerprint
    assert row.verdict == "known", row.refusal_reason
    return row


def bert(cls: str, **more: Any) -> Any:
    """A small BERT of this class."""
    return found({"model_type": "bert", "architectures": [cls], **SMALL, **more})


def test_an_encoder_keeps_nothing() -> None:
    """BERT has no cache: every column of the cache is null, not 0."""
    row = bert("BertModel")
    assert (row.kv_bytes_per_token, row.kv_bytes_4k, row.state_bytes_constant, row.decode_bytes_per_token_4k) == (
        None,
    ) * 4
    assert row.n_layers == 2
    assert row.flops_per_token is not None


def test_each_class_of_bert_has_its_own_head() -> None:
    """A pooler in the model and before a classifier; a transform and a bias with the tied head of a masked one."""
    body, square = TABLES + 2 * LAYER, 8 * 8 + 8
    assert bert("BertModel").params_total == body + square
    assert bert("BertForSequenceClassification", num_labels=3).params_total == body + square + 3 * 8 + 3
    assert bert("BertForTokenClassification", num_labels=3).params_total == body + 3 * 8 + 3
    assert bert("BertForQuestionAnswering", num_labels=7).params_total == body + 7 * 8 + 7
    assert bert("BertForMaskedLM").params_total == body + square + 2 * 8 + 10
    # untied, the head is a matrix with a second bias
    untied = bert("BertForMaskedLM", tie_word_embeddings=False).params_total
    assert untied == body + square + 2 * 8 + 10 + (10 * 8 + 10)


def test_bert_as_a_decoder_keeps_keys_and_values() -> None:
    """is_decoder makes it look back: 2 x 8 elements of 2 bytes in each of 2 layers; over a source as much, apart."""
    row = bert("BertLMHeadModel", is_decoder=True)
    assert (row.kv_bytes_per_token, row.cross_kv_bytes_per_source_token) == (2 * 2 * 8 * 2, None)
    sourced = bert("BertLMHeadModel", is_decoder=True, add_cross_attention=True)
    assert (sourced.kv_bytes_per_token, sourced.cross_kv_bytes_per_source_token) == (64, 64)
    assert sourced.params_total - row.params_total == 2 * (4 * (8 * 8 + 8) + 2 * 8)
    assert sourced.layer_mix == {"full_attention": 2, "cross_attention": 2}


def test_a_class_with_an_unknown_head_is_refused() -> None:
    """XLM's head over starts, ends and answers in beams is described nowhere: no number is given."""
    row = derive({"model_type": "xlm", "architectures": ["XLMForQuestionAnswering"]}).fingerprint
    assert (row.verdict, row.refusal_kind) == ("refused", "unknown_class")


BART = {
    "model_type": "bart", "d_model": 8, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 12, "decoder_ffn_dim": 16, "vocab_size": 10,
    "max_position_embeddings": 5,
}  # fmt: skip


def bart(cls: str, **more: Any) -> Any:
    """A small BART of this class."""
    return found({**BART, "architectures": [cls], **more})


def test_the_encoder_of_a_pair_belongs_to_the_total() -> None:
    """One table of tokens, two of positions with two spare rows each, a norm over each; the source's cache apart."""
    row = bart("BartForConditionalGeneration")
    encoder = 4 * (8 * 8 + 8) + (2 * 8 * 12 + 12 + 8) + 2 * 2 * 8
    decoder = 2 * 4 * (8 * 8 + 8) + (2 * 8 * 16 + 16 + 8) + 3 * 2 * 8
    around = (5 + 2) * 8 + 2 * 8
    assert row.params_total == 10 * 8 + 2 * around + encoder + 2 * decoder
    assert row.params_buffers == 10  # final_logits_bias, one per token
    assert row.n_layers == 2  # the decoder describes the model
    assert (row.kv_bytes_per_token, row.cross_kv_bytes_per_source_token) == (2 * 2 * 8 * 2, 2 * 2 * 8 * 2)


def test_the_causal_class_is_the_decoder_alone() -> None:
    """BartForCausalLM has no encoder, but its layers keep the weights of attention to one."""
    decoder = 2 * 4 * (8 * 8 + 8) + (2 * 8 * 16 + 16 + 8) + 3 * 2 * 8
    expected = 10 * 8 + (5 + 2) * 8 + 2 * 8 + 2 * decoder
    assert bart("BartForCausalLM").params_total == expected
    # where no class is named, the model_type's causal class is meant
    assert found(BART).params_total == expected


T5 = {
    "model_type": "t5", "d_model": 8, "d_kv": 3, "d_ff": 16, "num_layers": 1, "num_decoder_layers": 2, "num_heads": 2,
    "vocab_size": 10, "relative_attention_num_buckets": 4,
}  # fmt: skip
ATTENTION = 4 * 8 * 6


def t5(cls: str = "T5ForConditionalGeneration", **more: Any) -> Any:
    """A small T5 of this class."""
    return found({**T5, "architectures": [cls], **more})


def test_t5_holds_relative_positions_in_the_first_layer_of_each_stack() -> None:
    """Heads of a width of their own, 4 buckets x 2 heads once per stack, RMSNorms, one tied table."""
    encoder = ATTENTION + 2 * 8 * 16 + 2 * 8
    decoder = 2 * ATTENTION + 2 * 8 * 16 + 3 * 8
    assert t5().params_total == 10 * 8 + (encoder + 8 + 4 * 2) + (2 * decoder + 8 + 4 * 2)
    assert t5("T5EncoderModel").params_total == 10 * 8 + encoder + 8 + 4 * 2
    assert t5("T5EncoderModel").kv_bytes_per_token is None


def test_t5_takes_a_gate_from_either_key() -> None:
    """`gated-gelu` adds a third matrix; FLAN-T5's file states gelu and, beside it, is_gated_act true."""
    gates = 3 * 8 * 16  # one in each of three layers
    assert t5(feed_forward_proj="gated-gelu").params_total == t5().params_total + gates
    flan = t5(feed_forward_proj="gelu", is_gated_act=True, dense_act_fn="gelu")
    assert (flan.params_total, flan.is_gated_ffn, flan.activation) == (t5().params_total + gates, True, "gelu")


def test_t5_is_tied_whatever_it_states() -> None:
    """The class ties the head although FLAN's files state false: the evidence names the rule."""
    derived = derive({**T5, "architectures": ["T5ForConditionalGeneration"], "tie_word_embeddings": False})
    assert derived.fingerprint.params_unembedding == 0
    assert any(e.field == "tie_word_embeddings" and e.origin == "derived" for e in derived.evidence)


def test_whisper_has_no_bias_on_keys() -> None:
    """Two convolutions of width 3 before the encoder; keys have no bias, in self- and in cross-attention."""
    row = found({
        **BART, "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "num_mel_bins": 3,
        "max_source_positions": 6, "max_target_positions": 4,
    })  # fmt: skip
    attention = 4 * 8 * 8 + 3 * 8
    encoder = attention + (2 * 8 * 12 + 12 + 8) + 2 * 2 * 8
    decoder = 2 * attention + (2 * 8 * 16 + 16 + 8) + 3 * 2 * 8
    convolutions = (8 * 3 * 3 + 8) + (8 * 8 * 3 + 8)
    assert row.params_total == 10 * 8 + (6 + 4) * 8 + 2 * 2 * 8 + convolutions + encoder + 2 * decoder
    assert row.params_other == convolutions


def test_evidence_of_the_encoder_stands_under_its_own_name() -> None:
    """Both stacks ask for num_hidden_layers: the encoder's answer is noted as encoder.num_hidden_layers."""
    notes = {e.field: e.value for e in derive({**BART, "architectures": ["BartModel"]}).evidence}
    assert (notes["num_hidden_layers"], notes["encoder.num_hidden_layers"]) == (2, 1)


PAIRS = sorted(t for t in available() if not t.startswith("_") and family(t).encoder is not None)


@pytest.mark.parametrize("model_type", PAIRS)
def test_what_the_encoder_of_a_row_names_exists(model_type: str) -> None:
    """Layouts and parts of the encoder's half of a row are there, and its stacks are known."""
    rules = family(model_type).encoder
    assert rules is not None
    assert family(model_type).stacks in STACKS
    assert rules.layout in MIXER_LAYOUTS
    assert rules.ffn_layout in FFN_LAYOUTS.keys() | FOLLOWING.keys()
    assert {s.part for specs in rules.mixers.values() for s in specs} <= MIXERS.keys()
    assert {s.part for specs in rules.ffns.values() for s in specs} <= FFNS.keys()
