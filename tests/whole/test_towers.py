"""Towers against the reference made from transformers' own modules, wrapper by wrapper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracle import BY_NAME, TOWERS_INSIDE, records

from atlas.families.towers import available, tower_row
from atlas.interpret import derive
from pipeline.sources import catalogue

EXACT = {
    "published": """
        Qwen--Qwen-Image-Edit-2509--text_encoder Qwen--Qwen2-Audio-7B-Instruct Qwen--Qwen2-VL-2B-Instruct
        Qwen--Qwen2.5-VL-3B-Instruct Qwen--Qwen2.5-VL-7B-Instruct Qwen--Qwen3-VL-235B-A22B-Instruct
        Qwen--Qwen3-VL-2B-Instruct Qwen--Qwen3-VL-32B-Instruct Qwen--Qwen3-VL-32B-Thinking
        Qwen--Qwen3.5-122B-A10B-FP8 Qwen--Qwen3.5-27B Qwen--Qwen3.5-2B Qwen--Qwen3.5-35B-A3B
        Qwen--Qwen3.5-397B-A17B Qwen--Qwen3.5-9B google--gemma-3-27b-it google--gemma-4-26B-A4B
        google--gemma-4-26B-A4B-it google--gemma-4-31B-it google--gemma-4-E4B-it llava-hf--llava-1.5-7b-hf
        meta-llama--Llama-3.2-11B-Vision-Instruct meta-llama--Llama-4-Maverick-17B-128E-Instruct-FP8
        moonshotai--Kimi-K2.5 nvidia--Gemma-4-26B-A4B-NVFP4 nvidia--Gemma-4-31B-IT-NVFP4
        nvidia--Kimi-K2.5-NVFP4 nvidia--Kimi-K2.6-NVFP4 nvidia--Kimi-K2.7-Code-NVFP4
        nvidia--Qwen3.5-122B-A10B-NVFP4 nvidia--Qwen3.5-397B-A17B-NVFP4 nvidia--Qwen3.6-27B-NVFP4
        nvidia--Qwen3.6-35B-A3B-NVFP4 omni-research--Tarsier2-7b-0115 zai-org--GLM-4.1V-9B-Thinking
        ibm-granite--granite-docling-258M
    """,
    "defaults": """
        aria audioflamingo3 blip blip-2 cohere2_vision cosmos3_edge cosmos3_omni deepseek_vl
        deepseek_vl_hybrid ernie4_5_vl_moe fun_asr_nano gemma3 glm46v glm4v glm4v_moe glm5_next glm_ocr glmasr glmga
        got_ocr2 granite_docling granite_speech granite_speech_plus hy_v4_vl hyperclovax_vision_v2 idefics2
        idefics3 inkling2 inkling2_loop internvl janus kimi_k25 kosmos-2 kosmos-2.5 lfm3_vl lighton_ocr llama4 llava
        kyutai_speech_to_text apertus1p5 dots3_note nemo_speechlm nemotron_h_omni speech-encoder-decoder
        llava_next llava_next_video llava_onevision minicpm_ocr minicpmv4_7 mistral_large4 molmo2
        moss_transcribe_diarize muse_spark musicflamingo omniasr ovis2 paddleocr_vl paligemma pp_chart2table qianfan_ocr
        qwen2_5_omni_thinker qwen2_5_vl qwen2_audio qwen2_vl qwen3_5 qwen3_5_moe qwen3_asr
        qwen3_omni_moe_thinker qwen3_vl qwen3_vl_moe shieldgemma2 smolvlm step3p7 t5gemma2 unlimited_ocr video_llama_3
        video_llava vipllava vision-encoder-decoder voxtral_realtime
    """,
}
"""Files whose towers equal the reference to the weight, by name: none may be lost."""


@pytest.mark.parametrize("which", ["published", "defaults"])
def test_no_tower_differs_from_the_reference(shared: Path, which: str) -> None:
    """params_towers is params.total - params.lm of the record, or null with a reason; those named are exact.

    What the record books with the language model by its name is added (see `oracle.TOWERS_INSIDE`).
    """
    exact: set[str] = set()
    for record in records(shared, which):
        if record["status"] != "ok":
            continue
        name, params = record["name"], record["params"]
        folder = {"published": "configs", "defaults": "defaults"}[which]
        derived = derive((shared / "hub" / folder / f"{name}.json").read_bytes())
        found = derived.fingerprint.params_towers
        wanted = params["total"] - params["lm"] + TOWERS_INSIDE.get(name, 0) - BY_NAME.get(name, ("", 0))[1]
        if derived.model is None or not wanted:  # refused, or a record of the language model's own class
            continue
        assert found in (wanted, None), name
        if found is None:
            assert next(e.source for e in derived.evidence if e.field == "params_towers")
        elif found:
            exact.add(name)
    assert exact >= set(EXACT[which].split())


@pytest.mark.parametrize(("model_type", "weights"), [("exaone4_5", 2_671_868_672), ("minicpmv4_6", 157_399_552)])
def test_towers_of_class_defaults(model_type: str, weights: int) -> None:
    """Towers of a class's defaults are what transformers 5.24 builds of them on the meta device."""
    found = derive({"model_type": model_type, "text_config": {}, "vision_config": {}})
    assert found.fingerprint.params_towers == weights


@pytest.mark.parametrize(("patch", "width"), [(30, 4096), (14, 512)])
def test_fuyu_has_one_matrix_over_the_pixels_of_a_patch(patch: int, width: int) -> None:
    """Three channels of patch x patch pixels to the width, with a bias: 11,063,296 as transformers 5.24 builds it."""
    text = {"hidden_size": width, "num_attention_heads": 8}
    found = derive({"model_type": "fuyu", "patch_size": patch, "text_config": text}).fingerprint
    assert found.params_towers == patch * patch * 3 * width + width


def test_patches_and_sound_that_are_projected_count() -> None:
    """Gemma 4 12B as transformers 5.24 builds it: what embeds patches of 48 x 48 x 3 = 6,912, and frames of 640."""
    raw = next(e.raw for e in catalogue.load() if e.repo == "google/gemma-4-12B-it")
    d, patch, frame = 3840, 48 * 48 * 3, 640
    vision = 2 * patch + (patch * d + d) + 2 * d + 1120 * 2 * d + 2 * d + d * d
    assert derive(raw).fingerprint.params_towers == vision + frame * d == 49_922_304 + 2_457_600


@pytest.mark.parametrize("given", ["vision_config", "audio_config"])
def test_a_tower_that_no_rule_reads_is_never_nothing(given: str) -> None:
    """A Llama that states an encoder holds weights that no rule counts: null with the reason; a plain one has 0."""
    plain = next(json.loads(e.raw) for e in catalogue.load() if e.repo == "meta-llama/Llama-3.1-8B")
    assert derive(plain).fingerprint.params_towers == 0
    found = derive(plain | {given: {"hidden_size": 64}})
    assert (found.fingerprint.has_towers, found.fingerprint.params_towers) == (True, None)
    assert "no rules for the towers" in next(e.source for e in found.evidence if e.field == "params_towers")


def test_mimo_counts_the_encoders_that_it_states() -> None:
    """MiMo-V2.5 has 989,721,600 weights of encoders, by the Hub's total; without their configs it has none."""
    plain = next(json.loads(e.raw) for e in catalogue.load() if e.repo == "XiaomiMiMo/MiMo-V2.5")
    assert derive(plain).fingerprint.params_towers == 989_721_600
    bare = {key: value for key, value in plain.items() if not key.endswith("_config")}
    found = derive(bare).fingerprint
    assert (found.has_towers, found.params_towers) == (False, 0)


def test_every_row_of_a_wrapper_has_a_tower() -> None:
    """A row that lists nothing would say that nothing is there."""
    rows = {name: tower_row(name) for name in available()}
    assert [name for name, row in rows.items() if not (row.towers or row.stacks)] == []
