"""A decoder over an encoder of any row, and one of Mamba and windows: the library's modules, and counts by hand."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

DECODES = {"is_decoder": True, "add_cross_attention": True}


def pair(encoder: dict[str, Any], decoder: dict[str, Any]) -> Any:
    """The row of EncoderDecoderModel."""
    config = {"model_type": "encoder-decoder", "architectures": ["EncoderDecoderModel"]}
    return derive({**config, "encoder": encoder, "decoder": {**decoder, **DECODES}}).fingerprint


@pytest.mark.parametrize(
    ("encoder", "decoder", "total"),
    [
        ({"model_type": "bert"}, {"model_type": "bert"}, 247_363_386),
        (
            {
                "model_type": "bert",
                "hidden_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "intermediate_size": 100,
            },
            {
                "model_type": "bert",
                "hidden_size": 128,
                "num_hidden_layers": 3,
                "num_attention_heads": 4,
                "intermediate_size": 100,
            },
            6_554_862,
        ),
        (
            {"model_type": "roberta", "num_hidden_layers": 2},
            {"model_type": "roberta", "num_hidden_layers": 3, "tie_word_embeddings": False},
            160_417_458,
        ),
        ({"model_type": "bert", "num_hidden_layers": 2}, {"model_type": "roberta", "num_hidden_layers": 2}, 97_149_273),
    ],
)
def test_an_encoder_is_read_by_its_own_row(encoder: dict[str, Any], decoder: dict[str, Any], total: int) -> None:
    """EncoderDecoderModel of transformers 5.24 on the meta device: of one family, two widths, without a tie, of two."""
    row = pair(encoder, decoder)
    assert (row.verdict, row.kind, row.params_total) == ("known", "encoder_decoder", total)


def test_the_cache_is_the_decoders() -> None:
    """Two layers of 768 keep 2 x 768 of every token, and as much of every token of the source."""
    row = pair({"model_type": "bert"}, {"model_type": "bert", "num_hidden_layers": 2})
    assert row.kv_bytes_per_token == row.cross_kv_bytes_per_source_token == 2 * 2 * 768 * 2
    source = 12 * (4 * 768**2 + 2 * 768 * 3_072) + 2 * 2 * 768**2  # the encoder, and keys and values of the source
    assert row.source_flops_per_token == 2 * source
    assert row.attention_flops_per_token_4k == 2 * 4 * 768 * 4_096


def test_stacks_that_share_their_weights_are_refused() -> None:
    """Older releases tied the two; the class of 5.24 does not know the key, and files of either kind state it."""
    config = {"model_type": "encoder-decoder", "architectures": ["EncoderDecoderModel"], "tie_encoder_decoder": True}
    bert = {"model_type": "bert"}
    row = derive({**config, "encoder": bert, "decoder": {**bert, **DECODES}}).fingerprint
    assert "tie_encoder_decoder" in (row.refusal_reason or "")


@pytest.mark.parametrize("encoder", [{"model_type": "longformer"}, {"model_type": "bert", "memory_layers": [1]}, {}])
def test_an_encoder_that_nobody_read_is_refused(encoder: dict[str, Any]) -> None:
    """Of another kind, with a key that its class does not have, without a kind."""
    assert pair(encoder, {"model_type": "bert"}).verdict == "refused"


def test_samba_takes_turns() -> None:
    """Every other layer attends to a window of 2,048; the others keep 4 columns of 4,608 and a state of 4,608 x 16.

    Columns are at 2 bytes, states at 4, as FLA's Mamba keeps them. The file's intermediate_size is Mamba's, not the
    network's, which is 2/3 of 4 x 2,304.
    """
    attn = {"layers": [1, 3], "num_heads": 18, "num_kv_heads": 9, "qkv_bias": False, "window_size": 512}
    config = {"model_type": "samba", "architectures": ["SambaForCausalLM"], "num_hidden_layers": 4, "attn": attn}
    assert derive({**config, "attn": "all"}).fingerprint.refusal_kind == "bad_value"
    row = derive(
        {**config, "intermediate_size": 4608, "time_step_rank": 144, "rescale_prenorm_residual": True}
    ).fingerprint
    assert (row.verdict, row.layer_pattern, row.d_ff) == ("known", "2x(mamba mlp . swa mlp)", 6144)
    assert row.kv_bytes_per_token_first == 2 * 2 * 9 * 128 * 2
    assert (row.kv_bytes_per_token, row.sliding_window) == (0, 512)
    assert row.state_bytes_constant == 2 * (4_608 * 4 * 2 + 4_608 * 16 * 4)


SMALL = {
    "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 96,
    "vocab_size": 500,
}  # fmt: skip
VIT = {"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}


@pytest.mark.parametrize("said", [{}, {"tie_word_embeddings": True}, {"tie_word_embeddings": False}])
@pytest.mark.parametrize(("inner", "total"), [("tied", 115_924), ("untied", 148_424)])
def test_the_decoder_alone_says_whether_its_head_is_tied(said: dict[str, bool], inner: str, total: int) -> None:
    """VisionEncoderDecoderModel and EncoderDecoderModel build the decoder by its own config, whatever stands above.

    148,424 - 115,924 = 500 x 64 of the head and 500 of a second bias (VisionEncoderDecoderModel on the meta device).
    """
    decoder = {**SMALL, **DECODES, "tie_word_embeddings": inner == "tied"}
    seen = {
        "model_type": "vision-encoder-decoder",
        "architectures": ["VisionEncoderDecoderModel"],
        "encoder": VIT,
        **said,
    }
    assert derive({**seen, "decoder": decoder}).fingerprint.params_total == total
    read = {"model_type": "encoder-decoder", "architectures": ["EncoderDecoderModel"], "encoder": SMALL, **said}
    row = derive({**read, "decoder": decoder}).fingerprint
    encoder = (500 + 512 + 2) * 64 + 2 * 64 + 4 * 65 * 64 + 2 * 64 * 96 + 96 + 64 + 4 * 64 + 65 * 64
    assert row.params_total == total + encoder


@pytest.mark.parametrize(("width", "stated"), [(32, 32), (64, 32), (32, 64)])
def test_a_width_that_no_matrix_has_is_refused(width: int, stated: int) -> None:
    """A decoder that attends to another width than its own, or to another than the encoder has: it could not run."""
    decoder = {**SMALL, "cross_attention_hidden_size": stated}
    assert pair({**SMALL, "hidden_size": width}, decoder).refusal_kind == "contradiction"
