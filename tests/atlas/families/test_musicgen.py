"""MusicGen: codes of several codebooks, alone, over an encoder of text and beside states of a melody."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

TEXT = {"model_type": "t5", "d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "d_kv": 64}
LARGE = {
    "model_type": "musicgen_decoder", "hidden_size": 1536, "num_attention_heads": 24, "ffn_dim": 6144,
    "num_hidden_layers": 48,
}  # fmt: skip


def whole(kind: str, decoder: dict[str, Any], text: dict[str, Any]) -> Any:
    """A wrapper's row; a codec stands beside."""
    cls = {"musicgen": "Musicgen", "musicgen_melody": "MusicgenMelody"}[kind]
    held = {"model_type": f"{kind}_decoder", **decoder}
    config = {"model_type": kind, "architectures": [f"{cls}ForConditionalGeneration"], "decoder": held}
    return derive({**config, "text_encoder": text, "audio_encoder": {"model_type": "encodec"}}).fingerprint


def test_a_step_reads_and_writes_one_code_of_every_book() -> None:
    """Four tables of 2,049 x 1,024, four heads of 2,048 x 1,024; attention without biases; a step multiplies all four.

    A layer alone multiplies 4 x 1,024^2 of attention and 2 x 1,024 x 4,096; its attention over a text needs one.
    """
    row = derive({"model_type": "musicgen_decoder", "architectures": ["MusicgenForCausalLM"]}).fingerprint
    assert (row.verdict, row.params_total) == ("known", 419_584_000)
    assert (row.params_embedding, row.params_unembedding) == (4 * 2_049 * 1_024, 4 * 2_048 * 1_024)
    assert row.params_active_compute == 24 * (4 * 1_024**2 + 2 * 1_024 * 4_096) + 4 * 2_048 * 1_024
    assert row.kv_bytes_per_token == 24 * 2 * 1_024 * 2
    model = derive({"model_type": "musicgen_decoder", "architectures": ["MusicgenModel"]}).fingerprint
    assert model.params_total == 419_584_000 - 4 * 2_048 * 1_024


@pytest.mark.parametrize(
    ("decoder", "text", "total"),
    [
        ({}, TEXT, 530_000_000),
        (LARGE, {**TEXT, "feed_forward_proj": "gated-gelu"}, 1_976_678_016),
        ({"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 2}, TEXT, 144_245_376),
    ],
)
def test_the_encoder_of_the_text_belongs_to_the_total(
    decoder: dict[str, Any], text: dict[str, Any], total: int
) -> None:
    """MusicgenForConditionalGeneration of transformers 5.24 on the meta device, less its codec.

    A matrix stands between two widths.
    """
    row = whole("musicgen", decoder, text)
    assert (row.verdict, row.kind, row.params_total) == ("known", "encoder_decoder", total)
    assert row.has_towers
    assert row.source_flops_per_token


def test_states_of_a_melody_are_tokens_before_the_codes() -> None:
    """The decoder attends to nothing else: its text encoder feeds a decoder alone and is no part of the total."""
    row = whole("musicgen_melody", {}, TEXT)
    assert (row.verdict, row.kind, row.params_total) == ("known", "causal_lm", 318_871_552)
    assert row.cross_kv_bytes_per_source_token is None


@pytest.mark.parametrize(
    ("decoder", "text", "words"),
    [
        ({}, {"model_type": "bert"}, "what joins the two is not described"),
        ({}, {**TEXT, "num_memory_slots": 8}, "text_encoder.num_memory_slots"),
        ({}, {**TEXT, "d_model": "768"}, "d_model"),
        ({"tie_word_embeddings": True}, TEXT, "tie_word_embeddings"),
    ],
)
def test_an_encoder_that_is_not_understood_is_refused(
    decoder: dict[str, Any], text: dict[str, Any], words: str
) -> None:
    """Another kind of encoder, a key nobody read, a value of another type, a head that no class ties."""
    row = whole("musicgen", decoder, text)
    assert row.verdict == "refused"
    assert words in (row.refusal_reason or "")
