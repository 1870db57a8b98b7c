"""SpeechT5: an encoder of text and a decoder of frames, against the library's modules and counts by hand."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

SMALL = {
    "hidden_size": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 2, "encoder_layers": 3,
    "decoder_layers": 2, "encoder_ffn_dim": 100, "decoder_ffn_dim": 120, "num_mel_bins": 100, "reduction_factor": 3,
    "speaker_embedding_dim": 192, "speech_decoder_prenet_layers": 3, "speech_decoder_postnet_layers": 2,
    "speech_decoder_postnet_units": 64, "speech_decoder_postnet_kernel": 3, "encoder_max_relative_position": 20,
}  # fmt: skip


def found(cls: str = "SpeechT5ForTextToSpeech", **keys: Any) -> Any:
    """The row of a class."""
    return derive({"model_type": "speecht5", "architectures": [cls], **keys}).fingerprint


@pytest.mark.parametrize(
    ("cls", "keys", "total", "buffers"),
    [
        ("SpeechT5ForTextToSpeech", {}, 144_431_684, 2_213),
        ("SpeechT5ForTextToSpeech", SMALL, 442_709, 330),
        ("SpeechT5ForTextToSpeech", {"num_hidden_layers": 3, "num_attention_heads": 4}, 80_681_796, 2_213),
        ("SpeechT5Model", SMALL, 188_764, 0),
    ],
)
def test_the_total_is_that_of_the_library(cls: str, keys: dict[str, Any], total: int, buffers: int) -> None:
    """Classes of transformers 5.24 on the meta device; running means, variances and counts of five norms are kept."""
    row = found(cls, **keys)
    assert (row.verdict, row.params_total, row.params_buffers) == ("known", total, buffers)


def test_a_file_without_a_class_is_refused() -> None:
    """The library builds SpeechT5ForSpeechToText then, whose encoder hears."""
    row = derive({"model_type": "speecht5"}).fingerprint
    assert row.refusal_kind == "unknown_class"
    assert "no class is named" in (row.refusal_reason or "")


def test_a_step_runs_the_decoder_and_the_layers_around_frames() -> None:
    """Six layers of 8 x 768^2 less keys and values of the text, 2 x 768 x 3,072; 80 -> 256 -> 256 -> 768 before them.

    768 + 512 -> 768 with the speaker; two frames of 80 and two stops behind them. The text's 12 layers score a position
    beside every key: 6 products of 768 for each of them.
    """
    row = found()
    layer = 4 * 768**2 + 2 * 768**2 + 2 * 768 * 3_072
    before = 80 * 256 + 256 * 256 + 256 * 768 + (768 + 512) * 768
    assert row.params_active_compute == 6 * layer + before + 162 * 768
    assert row.source_flops_per_token == 2 * (12 * (4 * 768**2 + 2 * 768 * 3_072) + 6 * 2 * 768**2)
    assert row.kv_bytes_per_token == row.cross_kv_bytes_per_source_token == 6 * 2 * 768 * 2
    assert (row.kind, row.params_embedding) == ("encoder_decoder", 81 * 768 + 1)


@pytest.mark.parametrize("cls", ["SpeechT5ForSpeechToText", "SpeechT5ForSpeechToSpeech", "SpeechT5HifiGan"])
def test_classes_that_hear_are_refused(cls: str) -> None:
    """Convolutions over sound stand before their encoder, and no row describes them."""
    assert found(cls).refusal_kind == "unknown_class"
