"""A model that is found is read as its snapshot holds it."""

from __future__ import annotations

import msgspec

from atlas.interpret import derive
from atlas.proof import held
from pipeline.ask.found import Found

FLAN = msgspec.json.encode({
    "model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 1024, "d_ff": 2816, "d_kv": 64,
    "num_heads": 16, "num_layers": 24, "num_decoder_layers": 24, "vocab_size": 32128, "is_gated_act": True,
    "feed_forward_proj": "gelu", "dense_act_fn": "gelu", "tie_word_embeddings": False, "is_encoder_decoder": True,
})  # fmt: skip
STORED = 783_150_080
"""What the Hub counts of google/flan-t5-large: the 750,251,008 that its class ties, and a head of 32128 x 1024."""


def test_what_a_total_decided_is_shown_and_changed_as_that_reading() -> None:
    """The snapshot's design says which reading it was; a change of another key leaves the head where it is."""
    plain = derive(FLAN)
    kept = held(plain, STORED).fingerprint.design_id
    found = Found(name="google/flan-t5-large", source="snapshot", raw=FLAN, design_id=kept)
    assert found.derived.fingerprint.params_total == STORED
    assert found.what_if(["n_positions=1024"]).fingerprint.params_total == STORED
    as_stated = Found(name="google/flan-t5-large", source="snapshot", raw=FLAN, design_id=plain.fingerprint.design_id)
    assert as_stated.derived.fingerprint.params_total == STORED - 32128 * 1024
