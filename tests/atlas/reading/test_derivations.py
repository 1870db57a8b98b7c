"""Fields that follow from other keys, by the rules that rows name; the arithmetic stands beside each."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.derived import Derived
from atlas.interpret import derive

SMALL = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "tie_word_embeddings": True,
}


def made(model_type: str, **keys: Any) -> Derived:
    """A small config of this family."""
    return derive({"model_type": model_type, **SMALL, **keys})


def answer(found: Derived, field: str) -> tuple[object, str, str]:
    """Value, origin and rule of a field."""
    return next((e.value, e.origin, e.source) for e in found.evidence if e.field == field)


@pytest.mark.parametrize(("switch", "window"), [({"use_bidirectional_attention": True}, 512 // 2 + 1), ({}, 512)])
def test_a_window_that_looks_both_ways_has_half_of_it_behind(switch: dict[str, bool], window: int) -> None:
    """Gemma 3 with a window of 512: 512 / 2 and the token itself = 257 behind, where attention looks both ways."""
    found = made("gemma3_text", sliding_window=512, head_dim=16, **switch)
    assert answer(found, "window")[:2] == (window, "derived")
    assert found.fingerprint.sliding_window == window


def test_a_size_before_the_current_token_counts_one_less() -> None:
    """MiMo: sliding_window_size 127 counts the tokens before the current one, so that 128 are seen."""
    found = made("mimo_v2_flash", sliding_window_size=127, num_key_value_heads=1, head_dim=16, v_head_dim=16)
    assert answer(found, "window")[0] == 128


@pytest.mark.parametrize(
    ("switches", "kv"),
    [
        ({"multi_query": True}, 1),
        ({"multi_query": False}, 4),
        ({"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 2}, 2),
    ],
)
def test_kv_heads_follow_from_switches(switches: dict[str, Any], kv: int) -> None:
    """Falcon with 4 query heads: one KV head, one for each, or as many as the new decoder states."""
    assert made("falcon", **switches).fingerprint.n_kv_heads == kv


def test_positions_follow_from_a_switch() -> None:
    """Falcon takes ALiBi where `alibi` is true, RoPE where not."""
    assert made("falcon", alibi=True).fingerprint.position == "alibi"
    assert made("falcon", alibi=False).fingerprint.position == "rope"


def test_norms_stand_where_the_switch_says() -> None:
    """OPT has a final norm only where norms stand first: 2 more vectors (weight and bias) of 64."""
    first, last = made("opt", do_layer_norm_before=True), made("opt", do_layer_norm_before=False)
    assert (first.fingerprint.norm_placement, last.fingerprint.norm_placement) == ("pre", "post")
    assert (first.fingerprint.params_norm or 0) - (last.fingerprint.params_norm or 0) == 2 * 64


def test_the_name_of_a_projection_says_gate_and_activation() -> None:
    """T5: gated-gelu is a gate with the tanh form of GELU; a stated is_gated_act goes before it."""
    named = derive({"model_type": "t5", "feed_forward_proj": "gated-gelu"}).fingerprint
    assert (named.is_gated_ffn, named.activation) == (True, "gelu_tanh")
    stated = derive({"model_type": "t5", "feed_forward_proj": "gated-gelu", "is_gated_act": False}).fingerprint
    assert stated.is_gated_ffn is False


def test_a_width_is_rounded_up_to_a_multiple() -> None:
    """xLSTM: 2.667 x 64 = 170.7, rounded up to a multiple of 64: 192."""
    found = derive({"model_type": "xlstm", "hidden_size": 64, "num_heads": 4, "num_blocks": 2, "vocab_size": 100})
    assert answer(found, "intermediate_size")[0] == 192


def test_what_no_key_says_is_refused() -> None:
    """Baichuan has RoPE at one width and ALiBi at another; at a third nothing says which."""
    refused = made("baichuan").fingerprint
    assert refused.refusal_kind == "not_derivable"
    assert "RoPE at 4096 and ALiBi at 5120" in (refused.refusal_reason or "")
