"""Corners of rules that no published total shows, each by what the class says."""

from __future__ import annotations

import pytest

from atlas.interpret import derive
from atlas.numbers.caches import caches
from atlas.numbers.structure import Model
from atlas.numbers.tabulate import layers_expanded
from atlas.parts.drafting import markov
from schemas.vocabulary import Role


def model(**config: object) -> Model:
    """The structure of a config."""
    made = derive(config).model
    assert made is not None
    return made


def test_a_cross_cache_holds_nothing_of_the_sequence() -> None:
    """Keys and values of a source are there before the first token: after 100 tokens they count nothing here."""
    cross = [c for c in caches(model(model_type="t5")) if c.kind == "cross"]
    assert cross
    assert {c.bytes_at(100) for c in cross} == {0}


def test_beam_takes_its_networks_from_a_list() -> None:
    """BeamConfig of transformers 5.24: mlp_layer_types names each layer's network, whatever the first three are."""
    found = derive({"model_type": "beam", "mlp_layer_types": ["dense"] * 5 + ["sparse"] * 47}).fingerprint
    assert (found.n_dense_ffn_layers, found.n_moe_layers) == (5, 47)


def test_a_gemma_4_drafter_reads_every_cache_of_its_target() -> None:
    """Layers that keep a cache of their own are not described: 0, the depth or nothing is stated, or it is refused."""
    base = {"model_type": "gemma4_assistant_text"}
    depth = derive(base).fingerprint.n_layers
    assert depth is not None
    totals = {derive({**base, "num_kv_shared_layers": n}).fingerprint.params_total for n in (0, depth)}
    assert totals == {derive(base).fingerprint.params_total}
    assert derive({**base, "num_kv_shared_layers": 1}).fingerprint.refusal_kind == "not_derivable"
    assert {e.value for e in derive(base).evidence if e.field == "num_kv_shared_layers"} == {0}


def test_a_confidence_is_a_vector_and_the_tables_of_a_chain_are_looked_up() -> None:
    """The chain's two tables are rows by token; a confidence is one product of d + rank = 8 + 2 numbers, no matrix."""
    roles = {t.name: (t.role, t.shape) for t in markov(8, 100, 2).tensors}
    assert roles["confidence.weight"] == (Role.VECTOR, (10,))
    assert roles["markov.embed.weight"] == roles["markov.head.weight"] == (Role.LOOKUP, (100, 2))
    assert roles["main_norm.weight"] == roles["norm.weight"] == (Role.VECTOR, (8,))
    assert roles["main_proj.weight"] == (Role.MATMUL, (8, 24))


MOTIF: dict[str, object] = {
    "model_type": "Motif", "architectures": ["MotifForCausalLM"], "attention_cls": "gdla", "vocab_size": 100,
    "hidden_size": 64, "intermediate_size": 128, "moe_intermediate_size": 32, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_noise_heads": 2, "q_lora_rank": 16, "kv_lora_rank": 16,
    "qk_rope_head_dim": 8, "v_head_dim": 8, "head_dim": 24, "num_experts": 4, "experts_top_k": 2,
    "num_shared_experts": 1, "n_dense_first_layers": 1, "mhc_expansion_rate": 4, "hidden_act": "poly_norm",
    "use_sliding_window": True, "sliding_window": 128, "sliding_window_pattern": "interleave",
    "sliding_window_period": 2, "elementwise_attn_output_gate": True, "mhc_enabled": True,
    "interleave_moe_layer_step": 1, "max_position_embeddings": 4096, "tie_word_embeddings": False,
    "rope_theta": 10000.0,
}  # fmt: skip


def test_a_window_of_motif_is_one_longer_than_stated() -> None:
    """The vLLM port of Motif-3 hands `sliding_window + 1` on: the token itself and 128 before it.

    Every second layer of four is windowed where the pattern interleaves, all where it says so, none when switched off.
    """
    found = derive(MOTIF).fingerprint
    assert (found.sliding_window, found.layer_mix) == (129, {"full_attention": 2, "sliding_attention": 2})
    found = derive({**MOTIF, "sliding_window_pattern": "all"}).fingerprint
    assert (found.sliding_window, found.layer_mix) == (129, {"sliding_attention": 4})
    found = derive({**MOTIF, "use_sliding_window": False}).fingerprint
    assert (found.sliding_window, found.layer_mix) == (None, {"full_attention": 4})


def test_experts_of_values_are_not_the_layers_experts() -> None:
    """Eight tokens touch 16 (1 - (1 - 2/16)^8) = 10.502 of 16 networks; attention's 64 are others."""
    experts = {"num_experts": 16, "num_experts_per_tok": 2, "mova_num_experts": 64, "mova_num_experts_per_tok": 4}
    found = derive({"model_type": "k2_horizon", **experts}).fingerprint
    assert found.n_routed_experts == 16
    assert found.experts_touched_b8 == pytest.approx(16 * (1 - 0.875**8))


def test_zamba_2_attends_in_nine_layers_of_its_own_list() -> None:
    """Zamba2Config of transformers 5.24: of 54 layers 6, 12, 18, 24, 30, 36, 42, 47 and 51 are hybrid."""
    layers = layers_expanded(model(model_type="zamba2"))
    found = [row.index for row in layers if row.mixer == "full_attention"]
    assert found == [6, 12, 18, 24, 30, 36, 42, 47, 51]
