"""Known wrong configs: set right with a reason, and only while the file is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.families import available, family
from atlas.interpret import derive
from atlas.reading.correct import Correction, corrected

MINICPM_V_4: dict[str, Any] = {
    "model_type": "minicpmv",
    "architectures": ["MiniCPMV"],
    "version": 4.0,
    "hidden_size": 2560,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "intermediate_size": 10240,
    "vocab_size": 73448,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "max_position_embeddings": 32768,
    "rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 32786},
}


def test_swapped_digits_are_set_right_with_a_reason() -> None:
    """MiniCPM-V-4 states 32,786 where 32,768 is meant; the evidence names the correction and the stated value.

    The mapping that the key stands in is no longer as the file states it either.
    """
    derived = derive(MINICPM_V_4)
    notes = {e.field: e for e in derived.evidence if e.origin == "correction"}
    assert (derived.fingerprint.native_context, notes["native_context"].value) == (32768, 32768)
    assert set(notes) == {"native_context", "rope_scaling"}
    assert all("32786" in note.source for note in notes.values())


def test_a_repaired_file_is_read_as_it_is() -> None:
    """Where the file no longer states what the guard expects, nothing is corrected."""
    repaired = MINICPM_V_4 | {"rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 16384}}
    derived = derive(repaired)
    assert derived.fingerprint.native_context == 16384
    assert not [e for e in derived.evidence if e.origin == "correction"]


def test_the_file_itself_is_left_alone() -> None:
    """A correction makes a copy: the object that was read stays as it was."""
    raw: dict[str, Any] = {"a": {"b": 1}, "c": 2}
    right, said = corrected(raw, (Correction("b is 3", {"c": 2}, {"a.b": 3}),))
    assert (raw["a"]["b"], right["a"]["b"]) == (1, 3)
    assert said == {"a.b": "a.b, where the file says 1: b is 3"}


@pytest.mark.parametrize("model_type", sorted(m for m in available() if not m.startswith("_")))
def test_every_correction_has_a_reason_and_a_guard(model_type: str) -> None:
    """A row of the families that corrects a file says why, and what the file must state for it."""
    for each in family(model_type).correct:
        assert all((each.reason, each.expect, each.set))
