"""GigaChat 3.5: gated norms everywhere, latent attention with a gate in the listed layers, delta rules elsewhere."""

from __future__ import annotations

from typing import Any

from atlas.interpret import derive

GIGA: dict[str, Any] = {
    "model_type": "gigachat3_5", "architectures": ["GigaChat35ForCausalLM"], "hidden_size": 64,
    "intermediate_size": 96, "moe_intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
    "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
    "kv_lora_rank": 24, "q_lora_rank": 40, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
    "vocab_size": 100, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
    "linear_value_head_dim": 16, "layernorm_type": "pre_post", "full_attention_layers": [2],
}  # fmt: skip


def gated(width: int) -> int:
    """A norm and its way down to 16 and up again."""
    return width + 2 * 16 * width


def test_every_norm_has_a_low_rank_gate() -> None:
    """By hand, after ports of its code: one latent layer, two delta rules; one dense network, experts in two layers."""
    latent = 64 * 40 + gated(40) + 40 * 4 * 24 + 64 * (24 + 8) + gated(24) + 24 * 4 * (16 + 16) + 2 * 64 * 64
    keys, values = 2 * 16, 4 * 16
    delta = 64 * (2 * keys + 2 * values) + 64 * 2 * 4 + 4 * (2 * keys + values) + 2 * 4 + 16 + values * 64
    experts = (8 + 1) * 3 * 64 * 32 + 64 * 8 + 8
    total = latent + 2 * delta + 3 * 64 * 96 + 2 * experts + (3 * 4 + 1) * gated(64) + 2 * 100 * 64
    found = derive(GIGA).fingerprint
    assert (found.verdict, found.params_total) == ("known", total)
    assert found.kv_bytes_per_token == 2 * (24 + 8)  # one latent and its rotary part in one layer


def test_published_totals_are_the_trunk_and_one_two_or_three_drafting_layers() -> None:
    """What the Hub reports for -base, -bf16 and -Reasoning-bf16, as recorded by llmfit 1.1.17.

    A drafting layer is a latent layer with a dense network, a matrix over token and state, and three norms more; the
    first two releases store embedding and head once more, the third once more for each of its layers.
    """
    trunk, head, h = 430_586_965_760, 128_256 * 7_168, 7_168
    drafting = 159_909_888 + 3 * h * 18_432 + 7 * gated(h) + 2 * h * h
    assert trunk + drafting + 2 * head == 433_086_331_648
    assert trunk + 2 * drafting + 2 * head == 433_747_019_520
    assert trunk + 3 * (drafting + 2 * head) == 438_085_063_424


def test_the_two_lists_of_layers_agree() -> None:
    """`layer_types` is read where no layers are listed; both must name the same."""
    types = ["linear_attention", "linear_attention", "full_attention"]
    plain = derive(GIGA).fingerprint.params_total
    unlisted = {k: v for k, v in GIGA.items() if k != "full_attention_layers"}
    assert derive(unlisted | {"layer_types": types}).fingerprint.params_total == plain
    assert derive(GIGA | {"layer_types": types}).fingerprint.params_total == plain
    assert derive(GIGA | {"layer_types": types[::-1]}).fingerprint.refusal_kind == "contradiction"
    assert derive(GIGA | {"full_attention_layers": [3]}).fingerprint.refusal_kind == "contradiction"
    assert derive(GIGA | {"layernorm_type": None}).fingerprint.verdict == "refused"
