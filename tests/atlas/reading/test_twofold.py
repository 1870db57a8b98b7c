"""Files that can be read in two ways, and what decides between them."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.interpret import derive
from atlas.proof import alike, held, published
from atlas.reading.twofold import HEAD, Held

TEXT: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 1000,
}  # fmt: skip
# two layers: q and o 64 x 64, k and v 64 x 32, three matrices 64 x 128, two norms; a last norm; one table, or two
TIED = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64 + 1000 * 64
UNTIED = TIED + 1000 * 64
EAGLE: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 1, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "tie_word_embeddings": False,
}  # fmt: skip
# the target's table, one layer with the norm before its network alone, a matrix over token and state
DRAFT = 128256 * 4096 + 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 4096 + 2 * 4096 * 4096
PLAIN = 2 * 128256 * 4096 + 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 3 * 4096


def mistral3(**tie: bool) -> dict[str, Any]:
    """A wrapper that states no tie itself, and whose class takes true."""
    wrapper = {"model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"]}
    return wrapper | {"text_config": TEXT | {"model_type": "mistral"} | tie}


def sources(derived: Any, field: str) -> list[str]:
    """What is noted of a field."""
    return [e.source for e in derived.evidence if e.field == field]


@pytest.mark.parametrize(("tie", "ours", "other"), [({}, TIED, UNTIED), ({"tie_word_embeddings": False}, UNTIED, TIED)])
def test_a_total_chooses_between_two_levels(tie: dict[str, bool], ours: int, other: int) -> None:
    """Without a total one level decides and both are named; a total of either reading gives that reading."""
    derived = derive(mistral3(**tie))
    assert derived.fingerprint.params_total == ours
    assert "takes" in sources(derived, "tie_word_embeddings")[0]
    for total in (ours, other):
        chosen = held(derived, total)
        assert (chosen.fingerprint.params_total, chosen.fingerprint.check) == (total, "exact")
        assert "own total" in sources(chosen, "reading")[0]
        assert chosen.fingerprint.tie_word_embeddings is (total == TIED)
    assert held(derived, other + 1).fingerprint.check == "off"


def test_a_language_model_that_contradicts_its_wrapper_s_class_is_assumed() -> None:
    """Transformers 5.24 builds Mistral3 tied and Qwen3-VL untied here; files of 4.x store what the inner key says."""
    untied = derive(mistral3(tie_word_embeddings=False))
    assert untied.fingerprint.verdict == "assumed"
    assert "takes true and its language model says false" in str(untied.fingerprint.doubt)
    assert [held(untied, total).fingerprint.verdict for total in (TIED, UNTIED)] == ["known", "known"]
    assert held(untied, TIED + 1).fingerprint.verdict == "assumed"
    qwen = {"model_type": "qwen3_vl", "text_config": TEXT | {"tie_word_embeddings": True}}
    assert derive(qwen).fingerprint.verdict == "assumed"


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "mistral3", "text_config": TEXT},
        mistral3(tie_word_embeddings=True),
        mistral3(tie_word_embeddings=False) | {"tie_word_embeddings": False},
        {"model_type": "qwen2_5_vl", "text_config": TEXT | {"tie_word_embeddings": True}},
    ],
    ids=["a bare model_type", "agrees", "wrapper states it", "the class lifts it"],
)
def test_levels_that_do_not_contradict_are_known(config: dict[str, Any]) -> None:
    """A bare model_type, an inner key that agrees or is lifted: transformers 5.24 builds the same."""
    assert derive(config).fingerprint.verdict == "known"


@pytest.mark.parametrize("outer", [{"tie_word_embeddings": True}, {"tie_word_embeddings": False}])
def test_a_wrapper_that_states_it_has_one_reading(outer: dict[str, bool]) -> None:
    """Nothing is left open where the outer key stands."""
    assert derive(mistral3(tie_word_embeddings=False) | outer).readings == ()


def test_one_wide_layer_is_a_llama_or_a_draft_by_its_total() -> None:
    """Assumed as it stands; its total makes it a plain Llama, or an EAGLE draft with or without the bias of 4,096."""
    derived = derive(EAGLE)
    assert (derived.fingerprint.verdict, derived.fingerprint.params_total) == ("assumed", PLAIN)
    assert "EAGLE" in str(derived.fingerprint.doubt)
    found = [held(derived, total).fingerprint for total in (PLAIN, DRAFT, DRAFT + 4096)]
    assert [(f.kind, f.verdict) for f in found] == [("causal_lm", "known"), ("draft", "known"), ("draft", "known")]
    assert [f.params_total for f in found] == [PLAIN, DRAFT, DRAFT + 4096]
    assert {f.architecture_class for f in found} == {"LlamaForCausalLM"}


def test_narrow_or_deeper_files_are_plain() -> None:
    """One layer of 512, and two of 4,096, are Llamas."""
    for more in ({"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 4}, {"num_hidden_layers": 2}):
        assert derive(EAGLE | more).fingerprint.verdict == "known"


def test_the_key_of_an_eagle_draft_tells_it() -> None:
    """`bias` is of the matrix over token and state, which a class of the draft's own has to state."""
    assert derive(EAGLE | {"bias": False}).fingerprint.params_total == DRAFT
    assert derive(EAGLE | {"bias": True}).fingerprint.params_total == DRAFT + 4096
    named = EAGLE | {"architectures": ["LlamaForCausalLMEagle"]}
    assert derive(named).fingerprint.refusal_kind == "missing_key"
    assert derive(named | {"bias": False, "qkv_bias": True}).fingerprint.params_total == DRAFT + 4096 + 2 * 1024


FLAN: dict[str, Any] = {
    "model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 1024, "d_ff": 2816, "d_kv": 64,
    "num_heads": 16, "num_layers": 24, "num_decoder_layers": 24, "vocab_size": 32128, "is_gated_act": True,
    "feed_forward_proj": "gelu", "dense_act_fn": "gelu", "tie_word_embeddings": False, "is_encoder_decoder": True,
}  # fmt: skip


def test_a_t5_with_a_head_of_its_own_is_told_by_its_total() -> None:
    """Transformers 5.24 builds google/flan-t5-large tied, 750,251,008; the Hub counts a head of 32128 x 1024 more."""
    tied, stored = 750_251_008, 783_150_080
    assert stored - tied == 32128 * 1024
    derived = derive(FLAN)
    assert (derived.fingerprint.params_total, derived.fingerprint.verdict) == (tied, "assumed")
    assert "another head is not tied" in sources(derived, "tie_word_embeddings")[0]
    for total in (tied, stored):
        chosen = held(derived, total)
        assert (chosen.fingerprint.params_total, chosen.fingerprint.check) == (total, "exact")
        assert (chosen.fingerprint.verdict, chosen.fingerprint.tie_word_embeddings) == ("known", total == tied)
    assert derive(FLAN | {"tie_word_embeddings": True}).readings == ()
    assert derive(FLAN | {"architectures": ["T5EncoderModel"]}).readings == ()


def test_no_file_can_state_a_reading() -> None:
    """The key under which a reading is told apart is a stranger's in a file: not believed, and named as unread."""
    for value in (True, str(Held.APART.value), 1):
        stranger = derive(FLAN | {HEAD: value, "tie_word_embeddings": True})
        assert (stranger.fingerprint.params_total, stranger.fingerprint.params_unembedding) == (750_251_008, 0)
        assert stranger.unread == (HEAD,)
        assert stranger.fingerprint.verdict == ("known" if isinstance(value, str) else "assumed")  # as any unread key


def test_the_reading_of_a_snapshot_is_found_again_by_its_design() -> None:
    """What a total decided is the design that a snapshot holds: the same text gives it again, and no other one."""
    plain = derive(FLAN)
    untied = held(plain, 783_150_080)
    again = published(plain, untied.fingerprint.design_id)
    assert (again.fingerprint.params_total, again.fingerprint.verdict) == (783_150_080, "known")
    assert "own total" in sources(again, "reading")[0]
    for design_id in (None, plain.fingerprint.design_id, "of no reading"):
        assert published(plain, design_id) is plain


def test_a_changed_config_is_read_as_the_one_it_was_changed_from() -> None:
    """Half the vocabulary halves the head of its own, 16064 x 1024, and the token table; a tie that is set ties."""
    plain = derive(FLAN)
    untied = held(plain, 783_150_080)
    half = derive(FLAN | {"vocab_size": 16064})
    assert alike(half, untied).fingerprint.params_total == 783_150_080 - 2 * 16064 * 1024
    assert alike(half, plain) is half
    tied = derive(FLAN | {"tie_word_embeddings": True})
    assert alike(tied, untied) is tied
