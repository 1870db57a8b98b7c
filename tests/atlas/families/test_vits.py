"""VITS: an encoder of text, and what makes sound of its states, against the library's modules and counts by hand."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive

VITS = {"model_type": "vits", "architectures": ["VitsModel"]}
LOW = {
    "vocab_size": 43, "hidden_size": 96, "ffn_dim": 384, "upsample_initial_channel": 256, "flow_size": 96,
    "num_speakers": 4, "speaker_embedding_size": 64, "window_size": 10, "use_bias": False,
}  # fmt: skip
PLAIN = {
    "use_stochastic_duration_prediction": False, "ffn_kernel_size": 5, "upsample_rates": [8, 8, 4],
    "upsample_kernel_sizes": [16, 16, 8], "resblock_kernel_sizes": [3, 5],
    "resblock_dilation_sizes": [[1, 2], [2, 6, 7]],
    "speaker_embedding_size": 256, "num_speakers": 109, "prior_encoder_num_wavenet_layers": 1,
}  # fmt: skip


def found(**keys: Any) -> Any:
    """The row of VITS with these keys."""
    row = derive(VITS | keys).fingerprint
    assert row.verdict == "known", row.refusal_reason
    return row


@pytest.mark.parametrize(("keys", "total"), [({}, 36_284_592), (LOW, 9_577_744), (PLAIN, 28_381_889)])
def test_the_total_is_that_of_the_library(keys: dict[str, Any], total: int) -> None:
    """VitsModel of transformers 5.24 on the meta device: the published shape, a small one, one of plain durations."""
    assert found(**keys).params_total == total


def test_the_text_encoder_is_what_a_token_costs() -> None:
    """Attention, a network of convolutions, distances; a matrix to the flow; durations but for one step of their flow.

    A layer multiplies 4 x 192^2, 2 x 192 x 768 x 3 and for each of 2 heads 2 x 9 x 96. The way to the flow is
    192 x 384, the durations 2 x 192^2, 3 x (3 x 192 + 192^2), and three steps of 192 + 29 x 192 and those 3 again.
    """
    row = found()
    layer = 4 * 192**2 + 2 * 192 * 768 * 3 + 2 * 2 * 9 * 96
    convolved = 3 * (3 * 192 + 192**2)
    assert row.params_active_compute == 6 * layer + 192 * 384 + 2 * 192**2 + convolved + 3 * (30 * 192 + convolved)
    assert row.params_attention == 6 * (4 * (192**2 + 192) + 2 * 9 * 96)
    assert (row.kind, row.attention_mask, row.position) == ("encoder", "bidirectional", "relative")
    assert (row.kv_bytes_per_token, row.has_towers, row.params_unembedding) == (None, False, 0)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"window_size": 0}, "relative_reach"),
        ({"num_speakers": 4}, "speakers that have a width"),
        ({"upsample_rates": [8, 8]}, "as many kernels as rates"),
        ({"architectures": ["VitsModelForPreTraining"]}, "VitsModelForPreTraining"),
        ({"depth_separable_channels": 4}, "two channels"),
        ({"use_stochastic_duration_prediction": 2}, "must be true or false"),
        ({"num_speakers": "4"}, "num_speakers"),
        ({"use_stochastic_duration_prediction": "yes"}, "true or false"),
        ({"window_size": None}, "window_size"),
        ({"ffn_kernel_size": None}, "ffn_kernel_size"),
        ({"flow_size": False}, "flow_size is False, but must be a number"),
        ({"wavenet_kernel_size": 0}, "no tensor has such a side"),
        ({"spectrogram_bins": 512.5}, "a whole number"),
        ({"prior_encoder_num_flows": -1}, "0 or more"),
    ],
)
def test_what_the_class_cannot_run_is_refused(keys: dict[str, Any], words: str) -> None:
    """Distances and sides that are none, speakers without a width, lists that do not fit, a discriminator."""
    row = derive(VITS | keys).fingerprint
    assert row.verdict == "refused"
    assert words in (row.refusal_reason or "")
