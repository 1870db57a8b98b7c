"""Towers from configs: counted by hand, by published totals, by the library; null where not understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas.derived import Derived
from atlas.families.towers import available, tower_row
from atlas.interpret import derive, reader
from atlas.numbers.structure import design_id
from atlas.readers.towers import read_towers
from atlas.reading.arithmetic import size
from atlas.refusal import Refused

TEXT = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 100,
    "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
}  # fmt: skip
CLIP = {
    "model_type": "clip_vision_model", "hidden_size": 8, "intermediate_size": 32, "num_hidden_layers": 3,
    "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
}  # fmt: skip
BUILT = Path(__file__).parents[2] / "fixtures" / "towers_built.jsonl"
WIDTHS = json.loads((Path(__file__).parents[2] / "fixtures" / "widths.json").read_text("utf-8"))
VARIANTS = Path(__file__).parents[2] / "fixtures" / "tower_variants.jsonl"


def llava(vision: Any = CLIP, **keys: Any) -> Derived:
    """LLaVA over a small Llama."""
    stated = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": TEXT}
    return derive(stated | {"vision_config": vision} | keys)


def reason(found: Derived) -> str:
    """Why the towers are not known."""
    assert found.fingerprint.params_towers is None
    assert found.fingerprint.params_total is not None
    return next(e.source for e in found.evidence if e.field == "params_towers")


def test_clip_and_its_projector_are_counted_by_hand() -> None:
    """Three layers of width 8: each 4 x (64 + 8) + 2 x 256 + 32 + 8 + 2 x 16 = 872; ends 8 + 1,176 x 4 + 5 x 8 + 32.

    The patches' kernel is 8 x 3 x 14 x 14 = 4,704; the projector 64 x 8 + 64 + 64 x 64 + 64 = 4,736.
    """
    found = llava().fingerprint
    assert found.has_towers
    assert found.params_towers == 3 * (4 * 72 + 2 * 256 + 40 + 32) + (8 + 4_704 + 5 * 8 + 32) + 4_736


def test_towers_are_no_part_of_the_design() -> None:
    """Another tower leaves the language model's identity, weights and cache as they are."""
    one, other = llava(), llava(CLIP | {"num_hidden_layers": 9})
    assert one.model is not None
    assert other.model is not None
    assert design_id(one.model) == design_id(other.model)
    assert one.fingerprint.params_total == other.fingerprint.params_total == derive(TEXT).fingerprint.params_total
    assert one.fingerprint.params_towers != other.fingerprint.params_towers


def test_every_layer_of_a_tower_is_in_the_structure() -> None:
    """The layers stand in runs of stack "tower"; their sizes sum to params_towers."""
    found = llava()
    runs = [r for t in found.towers for r in t.runs]
    assert {r.stack for r in runs} == {"tower"}
    assert [r.repeats for r in runs] == [1, 3, 1]
    assert sum(t.elements for t in found.towers) == found.fingerprint.params_towers


@pytest.mark.parametrize(
    ("vision", "words"),
    [
        (CLIP | {"window_layers": 2}, "no rule reads vision_config.window_layers"),
        (CLIP | {"model_type": "dinov9"}, "no rules for it"),
        (CLIP | {"hidden_size": "8"}, "whole number"),
        (CLIP | {"hidden_size": -8}, "0 or more"),
        (CLIP | {"num_hidden_layers": 10**9}, "no tower has as many layers"),
        (None, "vision_config is not in the file"),
    ],
)
def test_a_tower_that_is_not_understood_is_null_with_its_reason(vision: Any, words: str) -> None:
    """The language model stays exact; counts of the tower, its buffers too, are null, and a sentence says why."""
    found = llava(vision)
    assert words in reason(found)
    assert found.fingerprint.params_buffers is None


def kyutai(**keys: Any) -> Derived:
    """Kyutai's speech-to-text of its class's defaults, with keys of the codec's config."""
    named = {"model_type": "kyutai_speech_to_text", "architectures": ["KyutaiSpeechToTextForConditionalGeneration"]}
    return derive(named | {"codec_config": {"model_type": "mimi"} | keys})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"use_conv_shortcut": 2}, "true or false"),
        ({"use_conv_shortcut": "false"}, "true or false"),
        ({"num_filters": True}, "must be a number"),
        ({"compress": 0.5}, "a whole number"),
        ({"kernel_size": 0}, "no tensor has such a side"),
        ({"num_filters": -64}, "0 or more"),
        ({"num_attention_heads": 9}, "no multiple of num_attention_heads"),
        ({"num_key_value_heads": 16}, "evenly"),
    ],
)
def test_a_key_of_a_tower_is_of_its_defaults_kind(keys: dict[str, Any], words: str) -> None:
    """A switch of 2 is no two copies, a size no switch, no fraction and not 0: the library's class takes none of them.

    One copy of the shortcuts is what 1 and true give: 64^2 + 128^2 + 256^2 + 512^2 and their 960 biases each way.
    """
    assert words in reason(kyutai(**keys))
    one, other, plain = (kyutai(use_conv_shortcut=x).fingerprint.params_towers for x in (1, True, False))
    assert one == other
    assert one is not None
    assert plain is not None
    assert one - plain == 2 * (64**2 + 128**2 + 256**2 + 512**2 + 960)


def test_a_stated_width_of_frames_goes_before_the_one_that_follows() -> None:
    """Dots3 Note's class lets a file's conv_output_size stand, though it works one out of two other keys.

    transformers 5.24 on the meta device: 15,360 in place of 480 x 16 = 7,680 adds 1,280 x 7,680 weights.
    """
    named = {"model_type": "dots3_note", "architectures": ["Dots3NoteForConditionalGeneration"]}
    found = [
        derive(named | {"text_config": {}, "vision_config": {}, "audio_config": audio}).fingerprint.params_towers
        for audio in ({}, {"conv_output_size": 15_360}, {"conv_output_size": 7_680, "feature_size": 256})
    ]
    assert found == [7_757_476_992, 7_757_476_992 + 1_280 * 7_680, 7_757_476_992]


def test_a_switch_is_no_side_and_a_number_no_copies() -> None:
    """Where a row has no default to tell by: a rank of true is none, and a norm switched on by 2 is there once."""
    phi = WIDTHS["microsoft/Phi-4-multimodal-instruct"]
    assert "whole number" in reason(derive(phi | {"speech_lora": phi["speech_lora"] | {"r": True}}))
    lm = WIDTHS["facebook/Perception-LM-1B"]
    vision, counts = lm["vision_config"], list[int | None]()
    for stated in (False, True, 2):
        args = vision["model_args"] | {"use_post_transformer_norm": stated}
        counts.append(derive(lm | {"vision_config": vision | {"model_args": args}}).fingerprint.params_towers)
    assert counts == [297_710_592, 297_710_592 + 2 * 1_024, 297_710_592 + 2 * 1_024]


def test_a_list_is_no_single_number() -> None:
    """Emu3's class asks whether a stage is in attn_resolutions: a number there is no list of one."""
    keys = {"model_type": "emu3", "architectures": ["Emu3ForConditionalGeneration"], "text_config": {}}
    assert "must be a list" in reason(derive(keys | {"vq_config": {"attn_resolutions": 3}}))


def test_speech_that_masks_features_has_the_same_encoder() -> None:
    """Wav2Vec2's embedding of masked frames is there for either probability, the second of which may go unasked."""
    decoder = {"model_type": "bert", "is_decoder": True, "add_cross_attention": True}
    stated = {
        "model_type": "speech-encoder-decoder",
        "architectures": ["SpeechEncoderDecoderModel"],
        "decoder": decoder,
    }
    found = [
        derive(stated | {"encoder": {"model_type": "wav2vec2", "mask_time_prob": a, "mask_feature_prob": b}})
        for a, b in ((0.05, 0.0), (0.05, 0.25), (0.0, 0.25), (0.0, 0.0))
    ]
    assert [f.fingerprint.params_towers for f in found] == [94_371_712] * 3 + [94_371_712 - 768]


def test_a_wrapper_without_rows_for_its_towers_says_so() -> None:
    """A wrapper whose towers nobody described has none, with that reason; a model without towers has 0."""
    assert "no rules for the towers" in reason(derive(TEXT | {"vision_config": {"hidden_size": 8}}))
    assert derive(TEXT).fingerprint.params_towers == 0


def test_moshi_builds_its_text_decoder_alone() -> None:
    """The class that the causal-LM mapping names has no codec and no depth decoder, though its config describes both.

    transformers 5.24 on the meta device: MoshiForCausalLM has embed_tokens, layers, norm and lm_head, no more.
    """
    text = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 96, "vocab_size": 50}
    beside = {"audio_encoder_config": {"model_type": "mimi"}, "depth_decoder_config": {"hidden_size": 32}}
    found = derive({"model_type": "moshi"} | text | beside).fingerprint
    assert (found.verdict, found.has_towers, found.params_towers) == ("known", False, 0)


def test_glm_4v_and_hunyuan_ocr_are_counted_by_hand(shared: Path) -> None:
    """GLM-4V-9B: 63 layers of width 1,792, and a gated projector over merged patches. HunyuanOCR: its published total.

    GLM's layer is 4 x 1,792 + 3 x 1,792 x 1,793 + 1,792 x 1,793 + 2 x 1,792 x 15,360 + 15,360 + 1,792 = 67,926,784.
    The Hub's 1,119,925,744 of HunyuanOCR are its language model, 539,010,048, its table again, 120,818 x 1,024, and
    457,198,064 of the encoder.
    """
    glm = derive((shared / "hub" / "configs" / "THUDM--glm-4v-9b.json").read_bytes()).fingerprint
    ends = 1_792 * 589 + 1_792 + 6_401 * 1_792 + 4 * 1_792 * 4_096 + 4_096
    assert glm.params_towers == 63 * 67_926_784 + ends + 4_096 * 4_096 + 3 * 4_096 * 13_696 + 4 * 4_096
    text = {
        "model_type": "hunyuan_vl_text", "hidden_size": 1_024, "intermediate_size": 3_584, "num_hidden_layers": 24,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 120_818,
        "tie_word_embeddings": True,
    }  # fmt: skip
    ocr = {"model_type": "hunyuan_vl", "architectures": ["HunYuanVLForConditionalGeneration"], "text_config": text}
    found = derive(ocr | {"vision_config": {"model_type": "hunyuan_vl", "text_hidden_size": 1_024}}).fingerprint
    assert (found.params_total or 0) + (found.params_towers or 0) + 120_818 * 1_024 == 1_119_925_744


def test_deepseek_ocr_makes_up_its_published_total() -> None:
    """The Hub's 3,336,106,240 are the language model with its two marks, SAM's encoder, CLIP's and a projection."""
    text = {
        "model_type": "deepseek_v2", "hidden_size": 1_280, "intermediate_size": 6_848, "moe_intermediate_size": 896,
        "num_hidden_layers": 12, "num_attention_heads": 10, "num_key_value_heads": 10, "vocab_size": 129_280,
        "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
        "use_mla": False, "kv_lora_rank": None, "q_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0,
        "v_head_dim": 0, "topk_method": "greedy", "n_group": 1, "topk_group": 1,
    }  # fmt: skip
    config = {
        "model_type": "deepseek_vl_v2",
        "architectures": ["DeepseekOCRForCausalLM"],
        "language_config": text,
        "projector_config": {"projector_type": "linear", "input_dim": 2_048, "n_embed": 1_280},
        "vision_config": {
            "model_type": "vision",
            "model_name": "deeplip_b_l",
            "image_size": 1_024,
            "mlp_ratio": 3.7362,
        },
    }
    found = derive(config).fingerprint
    assert (found.params_total or 0) + (found.params_towers or 0) == 3_336_106_240


def test_deepseek_vl2_has_an_encoder_with_its_pooling() -> None:
    """The Hub's total of deepseek-vl2-small less its language model: 428,225,600 and a projector of 13,635,584."""
    vision = {"model_name": "siglip_so400m_patch14_384", "width": 1_152, "layers": 27, "mlp_ratio": 3.7362}
    config = {
        "model_type": "deepseek_vl_v2",
        "architectures": ["DeepseekVLV2ForCausalLM"],
        "language_config": TEXT | {"model_type": "deepseek_v2", "use_mla": False, "num_experts_per_tok": None},
        "projector_config": {"projector_type": "downsample_mlp_gelu", "input_dim": 1_152, "n_embed": 2_048},
        "vision_config": vision,
    }
    towers = read_towers(reader(config), config)
    assert towers.elements == 428_225_600 + 13_635_584


def test_pixtral_behind_llava_makes_up_its_published_total() -> None:
    """The Hub's 12,682,739,712 of Pixtral-12B: Mistral NeMo's language model, an encoder and two matrices."""
    text = {
        "model_type": "mistral", "hidden_size": 5_120, "intermediate_size": 14_336, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131_072,
    }  # fmt: skip
    vision = {"model_type": "pixtral", "hidden_size": 1_024, "head_dim": 64, "image_size": 1_024, "patch_size": 16}
    config = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": text}
    found = derive(config | {"vision_config": vision, "vision_feature_layer": -1}).fingerprint
    assert (found.params_total or 0) + (found.params_towers or 0) == 12_682_739_712


@pytest.mark.parametrize("name", sorted(available()))
def test_every_row_reads_and_cites(name: str) -> None:
    """A row parses, cites what it was read from, and names only rows that exist."""
    row = tower_row(name)
    assert row.references
    assert all(held.row in available() for held in row.towers if held.config)
    assert all(choice in available() for held in row.towers for choice in held.choices)


def test_published_totals_are_met(shared: Path) -> None:
    """What a row expects of a repository at hand, or of its class's defaults, is what that config gives."""
    wanted = [(n, e["repo"], e["params_towers"]) for n in available() for e in tower_row(n).expect]
    for row, repo, towers in wanted:
        assert derive(config_of(shared, row, repo)).fingerprint.params_towers == towers, (row, repo)
    assert len(wanted) >= 8


def config_of(shared: Path, row: str, repo: str) -> bytes | dict[str, Any]:
    """The config that an expectation is held against."""
    if repo in WIDTHS:
        return WIDTHS[repo]
    name = row if repo == "class default" else repo.replace("/", "--")
    rooms = ("hub/defaults",) if repo == "class default" else ("hub/configs", "news/configs")
    return next(p for room in rooms if (p := shared / room / f"{name}.json").is_file()).read_bytes()


@pytest.mark.parametrize(
    "line", BUILT.read_text("utf-8").splitlines(), ids=lambda x: json.loads(x)["config"]["model_type"]
)
def test_small_wrappers_built_by_the_library_are_met(line: str) -> None:
    """Small configs off every default have as many tower weights as the modules that transformers 5.24 builds.

    Counted on the meta device: named_parameters() outside the language model, buffers of the state_dict; encoders of
    timm are those of timm 1.0.31.
    """
    built = json.loads(line)
    found = derive(built["config"])
    assert found.fingerprint.params_towers == built["params_towers"], found.evidence
    assert found.fingerprint.params_buffers == built.get("params_buffers", found.fingerprint.params_buffers)


def test_kimi_k3_has_the_towers_that_its_published_totals_differ_by() -> None:
    """unsloth/Kimi-K3's 2,779,931,837,184 are 447,358,976 more than the language model alone.

    27 layers of 1,024 with heads of 1,536: 4 x 1,536 x 1,024 + 2 x 1,024 x 4,096 + 2 x 1,024 = 14,682,112; patches
    588 x 1,024, 64 x 64 positions, a norm; 4,096 x (4,096 + 7,168) and a norm of 7,168 behind them.
    """
    config = WIDTHS["moonshotai/Kimi-K3"] | {"vision_config": {"model_type": "kimi_k3_vision"}}
    ends = 588 * 1_024 + 64 * 64 * 1_024 + 1_024
    assert 27 * 14_682_112 + ends + 4_096 * (4_096 + 7_168) + 7_168 == 447_358_976
    assert derive(config).fingerprint.params_towers == 2_779_931_837_184 - 2_779_484_478_208 == 447_358_976
    other = config | {"vision_config": {"model_type": "kimi_k3_vision", "mlp_type": "mlp3"}}
    assert "was not read" in reason(derive(other))


def test_mimo_codes_may_be_counted_by_a_string() -> None:
    """Published files state speech_vocab_size as "1280"; a list in a string is no size, and the towers are null."""
    audio = {
        "model_type": "mimo", "add_post_norm": True, "audio_channels": 2, "group_size": 2, "input_local_dim": 8,
        "input_local_attn_heads": 2, "input_local_head_dim": 4, "input_local_intermediate_size": 16,
        "input_local_layers": 1, "out_hidden_size": 8, "projection_layers": 2,
    }  # fmt: skip
    row = tower_row("mimo_v2_audio")
    assert size(row.stacks[1].modules[0].shape[0], (audio | {"speech_vocab_size": "1280"}).__getitem__) == 1_280
    with pytest.raises(Refused):
        size(row.stacks[1].modules[0].shape[0], (audio | {"speech_vocab_size": "1025-129"}).__getitem__)


def test_unlimited_ocr_makes_up_its_published_total() -> None:
    """The Hub's 3,336,106,240 of baidu/Unlimited-OCR are those of DeepSeek-OCR: the same encoders and projection."""
    vision = {"model_type": "vision", "model_name": "deeplip_b_l", "image_size": 1_024, "mlp_ratio": 3.7362}
    projector = {"projector_type": "linear", "input_dim": 2_048, "n_embed": 1_280}
    found = derive(WIDTHS["baidu/Unlimited-OCR"] | {"vision_config": vision, "projector_config": projector}).fingerprint
    assert (found.params_total or 0) + (found.params_towers or 0) == 3_336_106_240


def changed(data: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The config with another value under a dotted key."""
    first, _, rest = key.partition(".")
    return data | {first: changed(data[first], rest, value) if rest else value}


def test_variants_built_by_the_library_are_met(shared: Path) -> None:
    """Class defaults with one key changed have as many tower weights as transformers 5.24 builds for them.

    The counts are of its own modules on the meta device: named_parameters() outside the language model.
    """
    wrong = {}
    for line in VARIANTS.read_text("utf-8").splitlines():
        case = json.loads(line)
        path = shared / "hub" / ("configs" if "--" in case["default"] else "defaults") / f"{case['default']}.json"
        found = derive(changed(json.loads(path.read_text("utf-8")), case["key"], case["value"])).fingerprint
        if found.params_towers != case["params_towers"]:
            wrong[case["default"], case["key"]] = (found.params_towers, case["params_towers"])
    assert wrong == {}


def test_the_first_minicpm_v_name_an_encoder_of_timm(shared: Path) -> None:
    """26 of 27 SigLIP layers, 15,239,504 each, as timm 1.0.31 builds them without pooling; 64 queries with positions.

    412,987,248 weights less one layer; the resampler 2 x 64 x 2,304 + 1,152 x 2,304 + 5 x 2,304 ** 2 + 10 x 2,304.
    Another encoder, or none named, is refused.
    """
    raw = json.loads((shared / "hub" / "configs" / "openbmb--MiniCPM-V-2.json").read_text("utf-8"))
    resampler = 2 * 64 * 2_304 + 1_152 * 2_304 + 5 * 2_304**2 + 10 * 2_304
    assert derive(raw).fingerprint.params_towers == 412_987_248 - 15_239_504 + resampler
    whole = derive(raw | {"drop_vision_last_layer": False}).fingerprint
    assert whole.params_towers == 412_987_248 + resampler
    for other in ("eva02_enormous_patch14_clip_224.laion2b_plus", None):
        assert "vision_encoder names no encoder that was read" in reason(derive(raw | {"vision_encoder": other}))


@pytest.mark.parametrize(
    ("repo", "hub"),
    [
        ("AIDC-AI/Ovis2-1B", 1_267_417_974 - 151_936 * 896),  # the tied head is stored again
        ("AIDC-AI/Ovis2.5-2B", 2_570_429_672),
        ("AIDC-AI/Ovis2.6-30B-A3B", 31_381_977_320),
        ("internlm/Intern-S1-mini", 8_538_804_224),
        ("Qwen/Qwen3-TTS-12Hz-0.6B-Base", 914_643_008),
        ("Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", 905_788_672),
        ("allenai/Molmo-72B-0924", 73_308_285_952),
        ("openbmb/MiniCPM-Llama3-V-2_5", 8_537_092_336),
        ("deepseek-ai/deepseek-vl-1.3b-chat", 1_975_235_584),
        ("deepseek-community/DeepSeek-OCR-2", 3_389_119_360),
        ("rednote-hilab/dots.ocr", 3_039_179_264),
        ("stepfun-ai/GOT-OCR2_0", 716_033_280 - 151_860 * 1_024),  # the tied head is stored again
        ("facebook/Perception-LM-1B", 1_533_524_992),
        ("facebook/Perception-LM-3B", 3_516_753_920),
        ("facebook/Perception-LM-8B", 9_794_260_736),
    ],
)
def test_wrappers_make_up_their_published_totals(repo: str, hub: int) -> None:
    """The language model, the encoder and its projector (Ovis: a head to visual words, and their table) are all."""
    found = derive(WIDTHS[repo]).fingerprint
    assert (found.params_total or 0) + (found.params_towers or 0) == hub


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("vision_lora.layer", "layers.*", "adapters of other modules"),
        ("embd_layer.image_embd_layer.projection_cls", "linear", "another projector of images"),
        ("embd_layer.audio_embd_layer.use_qformer", True, "another projector of sound"),
        ("audio_processor.config.batch_norm", True, "another convolution"),
        ("audio_processor.config.rope", True, "no rule reads audio_processor.config.rope"),
        ("img_processor", {"layer_idx": -2}, "img_processor describes another encoder"),
    ],
)
def test_phi4mm_with_other_parts_than_the_published_is_refused(key: str, value: Any, words: str) -> None:
    """What its code builds otherwise for another word is no number here."""
    assert words in reason(derive(changed(WIDTHS["microsoft/Phi-4-multimodal-instruct"], key, value)))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("vision_config.params.select_layer", -2, "cut short"),
        ("vision_config.params.model_name", "siglip_so400m_patch14_384", "an encoder other than siglip_large"),
        ("vision_config.cls", "HybridVisionTower", "an encoder other than CLIPVisionTower"),
        ("gen_vision_config", {"cls": "VQ-16"}, "an image generator"),
    ],
)
def test_deepseek_vl_with_other_parts_is_refused(key: str, value: Any, words: str) -> None:
    """Janus' generator and other encoders under the same model_type are no number here."""
    assert words in reason(derive(changed(WIDTHS["deepseek-ai/deepseek-vl-1.3b-chat"], key, value)))


@pytest.mark.parametrize("wrapper", ["vision-encoder-decoder", "speech-encoder-decoder"])
@pytest.mark.parametrize("model_type", [None, "swin", "hubert"])
def test_an_encoder_before_a_decoder_is_read_by_its_own_model_type(wrapper: str, model_type: str | None) -> None:
    """Another encoder, or one that states no model_type, is never taken for the one that is described."""
    decoder = {"model_type": "bert", "hidden_size": 48, "num_attention_heads": 4, "num_hidden_layers": 2}
    decoder |= {"is_decoder": True, "add_cross_attention": True}
    encoder = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 72}
    named = {} if model_type is None else {"model_type": model_type}
    found = derive({"model_type": wrapper, "encoder": encoder | named, "decoder": decoder})
    assert ("encoder.model_type" if model_type is None else "no rules for it") in reason(found)


def test_joyai_drafts_with_a_dense_layer_and_one_table() -> None:
    """The Hub's 49,286,094,592 of JoyAI-LLM-Flash are the model and its drafting layer."""
    found = derive(WIDTHS["jdopensource/JoyAI-LLM-Flash"]).fingerprint
    assert found.params_mtp == 343_552_000
    assert (found.params_total or 0) + found.params_mtp == 49_286_094_592
