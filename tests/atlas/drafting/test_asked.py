"""What to look up of a config whose family has no row."""

from __future__ import annotations

from strangers import PLAIN

from atlas.drafting import draft
from atlas.families import family

HYBRID = {
    "model_type": "granitemoenew", **PLAIN, "num_local_experts": 4, "num_experts_per_tok": 2, "no_rope_layers": [1, 0],
    "layer_types": ["mamba", "full_attention"], "mamba_d_conv": 4, "flux": 3, "shared_intermediate_size": 8,
}  # fmt: skip


def question(key: str) -> tuple[int, str]:
    """Where the question about a key stands, and its text."""
    return next((i, q) for i, q in enumerate(draft(HYBRID).questions) if q.startswith(f"{key} = "))


def test_rows_that_read_a_key_are_named() -> None:
    """Of a key that the nearest row does not read, other rows are named that do; of a new one, that none does."""
    _, asked = question("mamba_d_conv")
    named = asked.partition("read by ")[2].split(", ")
    assert len(named) == 3
    assert all("mamba_d_conv" in family(m).named for m in named)
    assert question("flux")[1].endswith("no row reads it")


def test_positions_are_asked_before_shapes() -> None:
    """Layers without positions have the weights of layers with them: no total finds the list."""
    at, asked = question("no_rope_layers")
    assert "does it shape" not in asked
    assert at < question("flux")[0]


def test_a_shared_network_is_no_shared_cache() -> None:
    """The width of a shared expert shapes weights, whatever the word: a total finds it."""
    found = draft({**HYBRID, "model_type": "nobody", "shared_expert_intermediate_size": 8})
    assert not [q for q in found.questions if q.startswith("shared_") and "does it shape" not in q]


def test_words_of_layers_without_a_mixer_are_asked_about() -> None:
    """A list of layers names a mixer that the nearest row has not, and which rows have one of that name."""
    (asked,) = [q for q in draft(HYBRID).questions if q.startswith("a layer is called")]
    assert asked.startswith("a layer is called mamba: granitemoeshared has no such mixer; in ")
    assert all("mamba" in family(m).mixers for m in asked.partition("; in ")[2].split(", "))


def test_values_that_the_nearest_class_takes_of_its_own_are_asked_about() -> None:
    """An absent key is what the next class takes for it: Qwen3's heads of 128 may not be this one's."""
    asked = draft({"model_type": "qwen9", **PLAIN, "use_sliding_window": False, "max_window_layers": 2}).questions
    said = "not stated here, and qwen3 takes head_dim = 128, tie_word_embeddings = False: what does this class take?"
    assert said in asked
