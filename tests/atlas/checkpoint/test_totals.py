"""Totals that others state: the Hub's by dtype, names, cards; each difference explained by arithmetic or not at all."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from atlas.checkpoint.totals import as_stated, check_total, disagreement, in_name
from atlas.derived import Derived
from atlas.interpret import derive

WIDTHS = json.loads((Path(__file__).parents[2] / "fixtures" / "widths.json").read_text("utf-8"))
DEEPSEEK = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "vocab_size": 129280,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_nextn_predict_layers": 1,
    "num_attention_heads": 128,
    "n_shared_experts": 1,
    "n_routed_experts": 256,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "qk_nope_head_dim": 128,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
QWEN = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 151936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "tie_word_embeddings": True,
}


def held(name: str, shared: Path) -> Derived:
    """The derivation of a config at hand."""
    return derive((shared / "hub" / "configs" / f"{name}.json").read_bytes())


def test_a_tied_head_stored_twice_is_explained() -> None:
    """Qwen3-0.6B: the Hub counts 751,632,384, the weights are 596,049,920.

    151,936 x 1,024 = 155,582,464 are the head once more.
    """
    found = check_total(derive(QWEN), {"BF16": 751_632_384})
    assert (found.result, found.derived, found.check.value) == ("explained", 596_049_920, "exact")
    assert found.note == "tied head stored twice: +155,582,464"


def test_deepseek_v3_is_explained_to_the_weight() -> None:
    """The Hub's 684,531,386,000: 671,026,419,200 weights, the drafting layer with its tables, FP8 scales."""
    found = check_total(derive(DEEPSEEK), 684_531_386_000)
    assert (found.result, found.derived) == ("explained", 671_026_419_200)
    # 2 x 129,280 x 7,168 = 1,853,358,080; the five add up to 684,531,386,000
    assert found.note == (
        "MTP layers included: +11,610,068,224; "
        "the MTP layers' own copies of embedding and head included: +1,853,358,080; "
        "FP8 scales included, one per block of 128 x 128: +40,838,232; the MTP layers' FP8 scales included: +702,264"
    )


def test_one_weight_more_is_off() -> None:
    """A total that nothing makes up exactly is off, with the difference."""
    found = check_total(derive(QWEN), 596_049_921)
    assert (found.result, found.note) == ("off", "+1 elements against the derived weights")


def test_packed_integers_are_unchecked() -> None:
    """A GPTQ checkpoint's I32 elements hold eight weights each: the total is no count, and nothing is claimed."""
    found = check_total(derive(QWEN), {"I32": 55_000_000, "F16": 157_000_000})
    assert found.result == "unchecked"
    assert found.note is not None
    assert "55,000,000 elements of I32" in found.note


def test_towers_are_held_where_they_are_understood(shared: Path) -> None:
    """A wrapper's total counts its towers: explained to the weight, off by one more; unchecked where nobody knows them.

    Qwen2-Audio: 8,397,094,912 weights in its index, 642,215,936 of them of the encoder and its projector.
    """
    derived = held("Qwen--Qwen2-Audio-7B-Instruct", shared)
    found = check_total(derived, 8_397_094_912)
    assert (found.result, found.note) == ("explained", "towers included: +642,215,936")
    assert check_total(derived, 8_397_094_913).result == "off"
    raw = json.loads((shared / "hub" / "configs" / "openbmb--MiniCPM-V-2.json").read_text("utf-8"))
    older = derive(raw | {"vision_encoder": None})  # no key says what its encoder is
    found = check_total(older, (older.fingerprint.params_total or 0) + 640_000_000)
    assert (found.result, found.note) == (
        "unchecked",
        "towers included: 640,000,000 elements beside the language model",
    )


def test_buffers_of_towers_count_and_scalars_do_not() -> None:
    """Emu3-Chat-hf: 270,740,287 weights of its tokenizer, 8 batch norms of 2 x 4; their 8 counts of steps do not."""
    found = check_total(derive(WIDTHS["BAAI/Emu3-Chat-hf"]), 8_762_751_871)
    assert found.result == "explained"
    assert found.note == "towers included: +270,740,287; persistent buffers of towers included: +64"


def test_adapters_that_stand_in_the_checkpoint_count() -> None:
    """A fine-tune of Phi-4-multimodal: adapters of 256 and 320 on matrices whose sides sum to 45,056 in 32 layers."""
    found = check_total(derive(WIDTHS["microsoft/Phi-4-multimodal-instruct"]), 5_574_460_384)
    assert found.note == "towers included: +1,738,438,464; persistent buffers of towers included: +160"
    towers = derive(WIDTHS["microsoft/Phi-4-multimodal-instruct"]).towers
    assert next(t.elements for t in towers if t.name == "adapters") == 32 * 45_056 * (256 + 320)
    sides = (3_072 + 5_120) + 2 * 3_072 + (3_072 + 16_384) + (8_192 + 3_072)
    assert sides == 45_056


def test_frequencies_that_a_conversion_left_behind_are_named(shared: Path) -> None:
    """Kimi-K2-Instruct's files hold `rotary_emb.inv_freq` of 7,168 / 64 / 2 = 56 in each of 61 layers: 3,416."""
    found = check_total(held("moonshotai--Kimi-K2-Instruct", shared), 1_026_408_235_864)
    assert found.note is not None
    assert (found.result, found.note.endswith("included: +3,416")) == ("explained", True)
    assert 61 * (7_168 // 64 // 2) == 3_416


def test_gpt_oss_in_mxfp4_is_explained(shared: Path) -> None:
    """The Hub's U8 count of gpt-oss-120b is its expert matrices and one scale per 32 of them.

    114,661,785,600 x 33 / 32.
    """
    derived = held("openai--gpt-oss-120b", shared)
    found = check_total(derived, {"BF16": 2_167_371_072, "U8": 118_244_966_400})
    assert (found.result, found.derived) == ("explained", 116_829_156_672)
    assert found.note == "MXFP4 scales included, one per 32 weights: +3,583,180,800"


@pytest.mark.parametrize(
    "row", ["Qwen/Qwen3-235B-A22B", "openai/gpt-oss-120b", "Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B"]
)
def test_recorded_totals_of_the_hub_agree_or_are_explained(shared: Path, row: str) -> None:
    """Totals quoted from the Hub's API, for the models whose config is at hand."""
    path = shared / "hub" / "configs" / f"{row.replace('/', '--', 1)}.json"
    if not path.is_file():
        pytest.skip(f"no config of {row} at hand")
    with (shared / "hub" / "api" / "safetensors_totals.tsv").open(encoding="utf-8") as file:
        totals = {r["repo_id"]: r["parameters_by_dtype"] for r in csv.DictReader(file, delimiter="\t")}
    by_dtype = {k: int(v) for k, v in (pair.split("=") for pair in totals[row].split(";"))}
    assert check_total(derive(path.read_bytes()), by_dtype).result in ("exact", "explained")


def test_totals_recorded_for_published_models_agree_or_are_explained(shared: Path) -> None:
    """Of the totals that a third party recorded from the Hub, at least 100 agree or are explained to the weight."""
    folder = shared / "hub" / "api" / "llmfit-1.1.17-hf_models.tsv.gz"
    with gzip.open(folder, "rt", encoding="utf-8") as file:
        totals = {r["name"]: r["parameters_raw"] for r in csv.DictReader(file, delimiter="\t")}
    results: list[str] = []
    for path in sorted((shared / "hub" / "configs").glob("*.json")):
        total = totals.get(path.stem.replace("--", "/", 1))
        derived = derive(path.read_bytes())
        if total and derived.model is not None:
            results.append(check_total(derived, int(total)).result)
    assert results.count("exact") + results.count("explained") >= 100
    # what is left: inferred files that are not the model's own, rounded entries, packed NVFP4 without a dtype
    assert results.count("off") <= 26


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("Qwen/Qwen3-235B-A22B", {"params_total": 235e9, "params_active": 22e9}),
        ("org/Llama-3.1-8B-Instruct", {"params_total": 8e9}),
        ("Qwen/Qwen-1_8B-Chat", {"params_total": 1.8e9}),
        ("org/granite-3.1-1b-a400m-instruct", {"params_total": 1e9, "params_active": 400e6}),
        ("meta-llama/Llama-4-Scout-17B-16E", {"params_active": 17e9}),
        ("mistralai/Mixtral-8x7B-v0.1", {}),
        ("microsoft/Phi-3-mini-128k-instruct", {}),
        ("LargeWorldModel/LWM-Text-Chat-1M", {}),
        ("org/model-v1.5b2", {}),
    ],
)
def test_a_name_states_what_it_states(name: str, stated: dict[str, float]) -> None:
    """Total and active as written; contexts, versions and products are neither."""
    assert {s.field: s.value for s in in_name(name)} == pytest.approx(stated)


def test_a_name_that_rounds_is_no_disagreement() -> None:
    """Qwen3-0.6B has 596,049,920 weights: within a tenth of a billion of 0.6B."""
    f = derive(QWEN).fingerprint
    assert [disagreement("Qwen/Qwen3-0.6B", f, s, "its name") for s in in_name("Qwen/Qwen3-0.6B")] == [None]


def test_a_disagreement_says_what_the_other_counts() -> None:
    """0.75B is the total with the tied head twice: 596,049,920 + 155,582,464 = 751,632,384."""
    row = disagreement("Qwen/Qwen3-0.6B", derive(QWEN).fingerprint, as_stated("params_total", 750_000_000), "a card")
    assert row is not None
    assert row["ours"] == "596049920"
    assert row["explanation"] == "counts the tied head twice: 751,632,384"


def test_an_active_figure_may_count_matmul_weights_only(shared: Path) -> None:
    """Gpt-oss-120b's 5.1B is its 5.13B matmul weights; the table of tokens makes 5.71B."""
    row = disagreement(
        "openai/gpt-oss-120b",
        held("openai--gpt-oss-120b", shared).fingerprint,
        as_stated("params_active", 5_100_000_000),
        "card",
    )
    assert row is not None
    assert row["explanation"] is not None
    assert row["explanation"].startswith("counts matmul weights only (params_active_compute): 5,131,100,160")


def test_the_config_of_deepseek_is_json() -> None:
    """The hand-written config survives a round trip, as a published one would."""
    assert derive(json.dumps(DEEPSEEK).encode()).fingerprint.params_total == 671_026_419_200


@pytest.mark.parametrize(("name", "unit"), [("x-40B", 10e9), ("x-100B", 100e9), ("x-7B", 1e9), ("x-1.5B", 0.1e9)])
def test_trailing_zeros_of_a_name_are_rounding(name: str, unit: float) -> None:
    """40B is good to ten billions, 100B to a hundred, 7B to one, 1.5B to a tenth."""
    (stated,) = in_name(f"org/{name}")
    assert stated.unit == pytest.approx(unit)
