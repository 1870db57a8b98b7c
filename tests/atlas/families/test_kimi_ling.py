"""Kimi K3, and Ling before version 3: totals of the Hub, states by hand, and what one key more or less changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import FIXTURES

from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint

WIDTHS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "widths.json").read_text("utf-8"))
KIMI_K3 = WIDTHS["moonshotai/Kimi-K3"]["text_config"]
LING_LITE, LING_MINI = WIDTHS["inclusionAI/Ling-lite-1.5"], WIDTHS["inclusionAI/Ling-mini-2.0"]
TOWER = 447_358_976
"""Vision tower and projector of Kimi K3: 2,779,931,837,184 with them (unsloth/Kimi-K3), 2,779,484,478,208 without."""


def k3(**changed: Any) -> Fingerprint:
    """The row of Kimi K3, some keys of its language model changed."""
    return derive({"model_type": "kimi_k3", "text_config": KIMI_K3 | changed}).fingerprint


@pytest.mark.parametrize(
    ("experts", "total"),
    [
        (896, 2_779_931_837_184),
        (720, 2_244_991_665_088),  # anuppillai/Kimi-K3-REAP-720-MXFP4
        (672, 2_099_098_890_880),  # vultr/VultronCoderAtlas-Kimi-K3-2T
        (448, 1_418_265_944_576),  # mgoin/Kimi-K3-pruned50
        (224, 737_432_998_272),  # mgoin/Kimi-K3-pruned75
    ],
)
def test_kimi_k3_with_fewer_experts_is_what_the_hub_counts(experts: int, total: int) -> None:
    """Five checkpoints that differ in their experts alone, each to the weight."""
    assert k3(num_experts=experts).params_total == total - TOWER


def test_kimi_k3_keeps_latents_in_24_layers_and_squares_in_69() -> None:
    """A token adds 24 latents of 512 + 64; a sequence keeps 69 x 96 squares of 128 in fp32, 4 columns of 3 x 12,288."""
    found = k3()
    assert found.kv_bytes_per_token == 24 * (512 + 64) * 2
    assert found.state_bytes_constant == 69 * (96 * 128 * 128 * 4 + 4 * 3 * 12_288 * 2)


def test_what_kimi_k3_adds_is_there_only_where_its_keys_are() -> None:
    """Gates, latent experts and block residuals each weigh what their shapes say; the last layer's norm counts, too."""
    d, whole = 7168, k3().params_total
    assert whole is not None
    assert whole - (k3(mla_use_output_gate=False).params_total or 0) == 24 * d * 96 * 128
    assert whole - (k3(attn_res_block_size=None).params_total or 0) == (93 * 2 + 1) * 2 * d
    assert whole - (k3(latent_moe_use_norm=False).params_total or 0) == 92 * 3584


def test_more_heads_than_columns_are_refused_where_decays_are_stored_by_column() -> None:
    """Kimi K3 stores 128 decays for 96 heads of 128 columns; how many there would be for 256 heads is not known."""
    linear = KIMI_K3["linear_attn_config"] | {"num_heads": 256}
    assert k3(linear_attn_config=linear).refusal_kind == "not_derivable"


def test_the_second_ling_must_say_whether_it_norms_queries_and_keys() -> None:
    """The first class has no such norms; the second is refused where it does not say."""
    assert derive(LING_LITE).fingerprint.has_qk_norm is False
    assert derive(LING_MINI).fingerprint.has_qk_norm is True
    silent = {k: v for k, v in LING_MINI.items() if k != "use_qk_norm"}
    assert derive(silent).fingerprint.refusal_kind == "missing_key"


def test_ling_with_biases_everywhere_is_refused() -> None:
    """use_bias has no published example that would show what is stored."""
    assert derive(LING_LITE | {"use_bias": True}).fingerprint.refusal_kind == "not_derivable"


def test_ling_3_under_the_class_of_its_own_code() -> None:
    """Ling-3.0-tiny: 6 latents of 512 and 64 at 2 bytes; what the class asks for must be stated.

    vLLM's bailing_moe_v3.py: layers behind the last whole group have full attention, where the library's class has not.
    """
    tiny = WIDTHS["inclusionAI/Ling-3.0-tiny"]
    found = derive(tiny).fingerprint
    assert (found.verdict, found.kv_bytes_per_token) == ("known", 6 * (512 + 64) * 2)
    deeper = derive(tiny | {"num_hidden_layers": 26}).fingerprint
    assert deeper.layer_mix == {"linear_attention": 18, "full_attention": 8}
    for key in ("no_kda_lora", "gated_attention_proj_granularity_type"):
        stated = {k: v for k, v in tiny.items() if k != key}
        assert f"{key} is not stated" in str(derive(stated).fingerprint.refusal_reason)
