"""What fits, counted by hand, in Python, on the command line and in SQL."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import guide
import pytest

import atlas
from pipeline.cli import main
from pipeline.errors import Usage
from pipeline.serve.gpus import gpu_of, table
from schemas import views

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
WEIGHTS = 2 * 8_030_261_248
AT_32K = 131_072 * 32_768


def test_sequences_beside_the_weights_on_one_card() -> None:
    """80 x 10^9 less 16,060,522,496 bytes of weights, over 4 GiB a sequence of 32,768 tokens: 14."""
    found = atlas.fit(LLAMA_8B, memory="80GB", at="32k", sequences=4)
    assert (found.fits, found.weight_bytes, found.cache_bytes_per_sequence) == (True, WEIGHTS, AT_32K)
    assert found.sequences == (80 * 10**9 - WEIGHTS) // AT_32K == 14
    assert found.left_bytes == 80 * 10**9 - WEIGHTS - 4 * AT_32K
    assert found.longest_context == (80 * 10**9 - WEIGHTS) // (4 * 131_072)


def test_a_reserve_is_taken_off() -> None:
    """8 GiB kept for all else are two sequences less."""
    assert atlas.fit(LLAMA_8B, memory="80GB", at="32k", reserve="8GiB").sequences == 12


@pytest.mark.parametrize(("dtype", "each"), [("fp8", 65_536), ("int8", 65_536 + 32 * 8 * 2 * 4), ("q8_0", 69_632)])
def test_a_cache_type_counts_its_scales(dtype: str, each: int) -> None:
    """65,536 elements a token: 1 byte; with 4 bytes for K and V of 8 heads in 32 layers; 34 bytes for 32."""
    assert atlas.fit(LLAMA_8B, memory="80GB", at=1024, dtype=dtype).cache_bytes_per_sequence == 1_024 * each


def test_ranks_share_weights_and_cache() -> None:
    """At TP 8: an eighth of what is shared with the norms on every rank, and one KV head of eight."""
    found = atlas.fit(LLAMA_8B, gpu="h100", tp=8, at="32k")
    assert found.weight_bytes == 2 * 1_004_015_616
    assert found.cache_bytes_per_sequence == AT_32K // 8


@pytest.mark.parametrize(("tp", "said"), [(3, "32 query heads; 8 KV heads"), (5, "32 query heads"), (8, None)])
def test_ranks_that_do_not_divide_the_heads_are_named(tp: int, said: str | None) -> None:
    """Whatever the degree: the bytes are those of the fullest rank, and engines that share heads refuse."""
    notes = atlas.fit(LLAMA_8B, gpu="h100", tp=tp, at="32k").notes
    assert any(n.startswith(f"TP {tp} is uneven: {said}") for n in notes) is (said is not None)


def test_groups_of_attention_serve_sequences_of_their_own() -> None:
    """Eight ranks in eight groups keep whole sequences, each an eighth of them."""
    found = atlas.fit(LLAMA_8B, gpu="h100", tp=8, dp_attention=8, at="32k", sequences=8)
    assert found.cache_bytes_per_sequence == AT_32K


def test_a_bound_names_bytes_and_operations() -> None:
    """One step of one sequence on an H100: (2 x 7,504,658,432 + 4 GiB) / 3.35e12 s."""
    found = atlas.fit(LLAMA_8B, gpu="h100", at="32k").bounds
    assert found is not None
    assert found.seconds_by_bandwidth == pytest.approx((2 * 7_504_658_432 + AT_32K) / 3.35e12, rel=1e-6)


def test_weights_that_do_not_fit_say_so() -> None:
    """16.06 GB at bf16 do not fit in 16 GB; at fp8, supposed too, they do."""
    found = atlas.fit(LLAMA_8B, memory="16GB", at="4k", weights="bf16")
    assert (found.fits, found.binds) == (False, "weights")
    assert atlas.fit(LLAMA_8B, memory="16GB", at="4k", weights="fp8").fits is True


def test_a_stored_form_not_proven_is_no_refusal() -> None:
    """A quantized checkpoint of unknown bytes may fit where bf16 does not: not known, and why."""
    odd = LLAMA_8B | {"quantization_config": {"quant_method": "somehow"}}
    found = atlas.fit(odd, memory="16GB", at="4k")
    assert found.fits is None
    assert "stored form" in found.why
    assert "at bf16" in (atlas.fit(odd, memory="80GB", at="4k").weights_are or "")


def test_a_form_that_a_model_is_not_described_for_is_not_known() -> None:
    """A mix of llama.cpp for eight experts differs by its version: no number, and the reason."""
    experts = LLAMA_8B | {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 8}
    found = atlas.fit(experts, memory="80GB", at="4k", weights="q4_k_m")
    assert found.fits is None
    assert "q4_k_m of eight experts" in found.why


MLA: dict[str, Any] = {
    "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 1024, "vocab_size": 32000,
    "num_hidden_layers": 4, "intermediate_size": 2048, "moe_intermediate_size": 512, "n_routed_experts": 32,
    "num_experts_per_tok": 4, "n_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
    "num_attention_heads": 16, "num_key_value_heads": 16, "q_lora_rank": 256, "kv_lora_rank": 128,
    "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64, "max_position_embeddings": 4096,
    "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}  # fmt: skip


def test_an_upper_bound_of_the_weights_never_says_no() -> None:
    """Types differ by tensor, so ranks' copies count at most: between an even share and that bound it is not known."""
    whole = atlas.fit(MLA, memory="80GB", at=1024)
    most = atlas.fit(MLA, memory="80GB", tp=8, at=1024)
    assert whole.weight_bytes is not None
    assert most.weight_bytes is not None
    assert most.cache_bytes_per_sequence is not None
    even = math.ceil(whole.weight_bytes / 8)
    assert most.weight_bytes_least == even < most.weight_bytes
    low, high = even + most.cache_bytes_per_sequence, most.weight_bytes + most.cache_bytes_per_sequence
    sizes = (low - 1024, low + 1024, high - 1024, high + 1024)
    answers = [atlas.fit(MLA, memory=f"{size / 1024:.3f}KiB", tp=8, at=1024).fits for size in sizes]
    assert answers == [False, None, None, True]


@pytest.mark.parametrize(
    ("said", "name"),
    [("4090", "rtx4090"), ("RTX 4090", "rtx4090"), ("NVIDIA H100 80GB", "h100"), ("a100-80gb", "a100"),
     ("A100-40GB", "a100-40gb"), ("L4", "l4"), ("MI300X", "mi300x")],
)  # fmt: skip
def test_a_gpu_is_called_as_people_call_it(said: str, name: str) -> None:
    """Maker, series, spaces and memory may be said or left out; a card of another memory is none of these."""
    assert gpu_of(said, None).name == name
    for other in ("h100 94gb", "l40", "gh200"):
        with pytest.raises(Usage):
            gpu_of(other, None)


def test_a_refused_model_is_not_known() -> None:
    """No number without a structure, and the reason is the refusal's."""
    found = atlas.fit({"model_type": "no_such_family"}, memory="80GB")
    assert found.fits is None
    assert "refused" in found.why


def config(path: Path, **changes: Any) -> str:
    """A config on disk."""
    path.write_text(json.dumps(LLAMA_8B | changes))
    return str(path)


def test_check_exits_9_where_it_does_not_fit(tmp_path: Path) -> None:
    """0 with an answer, 9 with --check where it is no or not known."""
    path = config(tmp_path / "a.json")
    assert main(["fit", path, "--memory", "16GB", "--at", "4k"]) == 0
    assert main(["fit", path, "--memory", "16GB", "--at", "4k", "--check"]) == 9
    assert main(["fit", path, "--memory", "80GB", "--at", "4k", "--check"]) == 0


@pytest.mark.parametrize(
    "options",
    [[], ["--gpu", "abacus"], ["--memory", "24"], ["--gpu", "h100", "--gpus", "8", "--tp", "3"],
     ["--gpu", "h100", "--dtype", "fp7"], ["--gpu", "h100", "--memory", "80GB"], ["--engine", "gears"],
     ["--engine", "vllm", "--input", "wish=1"], ["--gpu", "h100", "--tp", "4", "--ep", "3"]],
)  # fmt: skip
def test_what_cannot_be_asked_is_usage(options: list[str], tmp_path: Path) -> None:
    """Exit 2 with a sentence."""
    assert main(["fit", config(tmp_path / "a.json"), *options]) == 2


def test_lines_are_at_most_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sheet and the engine's view fit a terminal."""
    path = config(tmp_path / "a.json")
    assert main(["fit", path, "--gpu", "h100", "--tp", "16", "--at", "256k"]) == 0
    assert main(["fit", path, "--engine", "vllm", "--input", "available_gib=20", "--at", "32k"]) == 0
    assert main(["fit", "--engine", "vllm", "--rules"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_file_of_lines_is_answered_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """id, predicted under the log's own names, assumed, missing: 1 GiB / (131,072 x 16) = 512 blocks of 16 tokens."""
    path = config(tmp_path / "a.json")
    rows = [
        {"id": "one", "engine": "vllm", "version": "0.11.0", "geometry": path, "inputs": {"available_gib": 1}},
        {"id": "two", "engine": "vllm", "version": "0.11.0", "geometry": "nobody/nothing", "inputs": {}},
    ]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["fit", "--predict", str(tmp_path / "asked.jsonl"), "--home", str(tmp_path)]) == 0
    one, two = map(json.loads, capsys.readouterr().out.splitlines())
    assert one == {"id": "one", "predicted": {"tokens": 8192}, "assumed": [], "missing": ["max_model_len"]}
    assert (two["id"], two["predicted"]) == ("two", {})


def test_a_log_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The inputs come from the log, and a line that agrees is confirmed."""
    log = tmp_path / "log.txt"
    log.write_text(
        "INFO Initializing a V1 LLM engine (v0.11.0) with config: model='x'\n"
        "INFO Available KV cache memory: 1.00 GiB\nINFO GPU KV cache size: 8,192 tokens\n"
    )
    assert main(["fit", config(tmp_path / "a.json"), "--explain-log", str(log), "--json", "--check"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(x["figure"], x["confirmed"]) for x in found["lines"]] == [("tokens", True)]


def test_every_gpu_has_its_source() -> None:
    """A table of facts, each with what was read for it and whose word that is."""
    assert all(g.bandwidth and g.bf16 for g in table().values())
    assert all(g.source.startswith(("the maker's:", "second-hand:")) for g in table().values())


def test_experts_of_empty_choices_are_not_counted() -> None:
    """Of 8 experts and 4 empty choices each token takes 2: 8 x (1 - (1 - 2/12)^4) = 4.14 are touched, not 5.47."""
    longcat = {
        "model_type": "longcat_flash", "architectures": ["LongcatFlashForCausalLM"], "hidden_size": 64, "num_layers": 2,
        "num_attention_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
        "v_head_dim": 16, "ffn_hidden_size": 128, "expert_ffn_hidden_size": 32, "n_routed_experts": 8,
        "zero_expert_num": 4, "zero_expert_type": "identity", "moe_topk": 2, "vocab_size": 256,
        "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
    }  # fmt: skip
    found = atlas.fit(longcat, memory="80GB", at=1024, sequences=4).bounds
    assert found is not None
    assert found.experts_touched == pytest.approx(8 * (1 - (1 - 2 / 12) ** 4))


def test_experts_in_sql() -> None:
    """8 (1 - (3/4)^2) = 3.5, as in Python."""
    with duckdb.connect() as con:
        con.execute(views.EXPERTS_TOUCHED)
        assert con.execute("SELECT experts_touched(8, 2, 2)").fetchone() == (3.5,)


@pytest.fixture(scope="module")
def home() -> str:
    """A home with the catalogue's snapshot, without its guide."""
    return str(guide.home())


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command prints as JSON."""
    assert main([*arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_models_that_fit_are_listed_largest_first(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every one states the context, fits beside its weights, and none is larger than the one before."""
    found = asked(capsys, "fit", "--memory", "24GB", "--at", "128k", "--dtype", "fp8", "--weights", "fp8",
                  "--under", "40B", "--home", home, "--json")["models"]  # fmt: skip
    sizes = [m["params_total"] for m in found]
    assert sizes
    assert sizes == sorted(sizes, reverse=True)
    assert all(m["states_context"] >= 131_072 for m in found)
    caches = [(m["weight_bytes"], m["cache_bytes_per_sequence"]) for m in found]
    assert all(weights + cache <= 24 * 10**9 for weights, cache in caches if cache is not None)
    assert all("no cache is kept" in m["why"] for m in found if m["cache_bytes_per_sequence"] is None)
    assert max(sizes) < 24 * 10**9


def test_the_cache_of_a_gpu_is_known_where_weights_do_not_fit(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """61 latents of 576 elements at 2 bytes stand whole on each of eight ranks: 70,272 bytes a token."""
    found = asked(capsys, "fit", "deepseek-ai/DeepSeek-V3", "--gpu", "l4", "--tp", "8", "--at", "32k", "--home", home,
                  "--json")["models"]  # fmt: skip
    assert found[0]["cache_bytes_per_sequence"] == 32_768 * 70_272
    assert found[0]["fits"] is not True


def test_a_what_if_is_asked_like_a_model(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Four KV heads keep 2 x 32 x 4 x 128 x 2 = 65,536 B a token, at 32K 2 GiB; a key that nothing reads is noted."""
    words = ["fit", "llama 3.1 8b", "--gpu", "h100", "--at", "32k", "--home", home, "--json"]
    (found,) = asked(capsys, *words, "--set", "num_key_value_heads=4")["models"]
    assert found["cache_bytes_per_sequence"] == 2 * 1024**3
    assert found["name"] == "meta-llama/Llama-3.1-8B with num_key_value_heads=4"
    (found,) = asked(capsys, *words, "--set", "num_key_value_head=4")["models"]
    assert found["notes"][0].startswith("nothing reads num_key_value_head")
    for others in (["--gpu", "h100"], ["--predict", "x"], ["--explain-log", "x"]):
        assert main(["fit", *others, "--set", "num_key_value_heads=4", "--home", home]) == 2


def test_the_same_in_sql(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Llama-3.1-8B: 4 GiB at 32K, an eighth on eight ranks; a latent is whole; 14 sequences beside 16.06 GB in 80."""
    query = (
        "SELECT kv_bytes_rank('meta-llama/Llama-3.1-8B', 32768, 2, 8) AS eighth,"
        " kv_bytes_rank('deepseek-ai/DeepSeek-V3', 32768, 2, 8) AS latent, sequences_at_most, fits"
        " FROM fits(80e9, 32768, 1, 2, 2, 1) WHERE repo_id = 'meta-llama/Llama-3.1-8B'"
    )
    (row,) = asked(capsys, "sql", query, "--format", "json", "--home", home)
    assert row == {"eighth": AT_32K // 8, "latent": 32_768 * 70_272, "sequences_at_most": 14, "fits": True}


def test_a_name_is_found_for_an_engine(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Gemma 3 27B: pages of 16 x 16 heads x 256 x 2 bytes in groups of ten layers, seven groups, one padded."""
    found = asked(capsys, "fit", "google/gemma-3-27b-it", "--engine", "vllm", "--engine-version", "0.11.0", "--input",
                  "available_gib=109.86", "--input", "F=8192", "--at", "4096", "--home", home, "--json")  # fmt: skip
    blocks = int(109.86 * 2**30 // (16 * 16 * 256 * 2) // 10)
    assert found[0]["predicted"]["tokens"] == blocks // 7 * 16
    assert found[0]["predicted"]["concurrency"] == pytest.approx(blocks / (256 + 6 * 257))


def test_an_engine_asks_for_what_it_needs_and_rules_have_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the memory that only profiling knows it is asked for; a chunk of recurrent kernels is not."""
    path = config(tmp_path / "a.json")
    assert main(["fit", path, "--engine", "vllm", "--input", "max_model_len=1024"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(x.startswith("  available_gib ") and x.endswith("to be given") for x in lines)
    assert not [x for x in lines if x.startswith("  chunk ")]
    assert main(["fit", "--engine", "vllm", "--rules"]) == 0
    assert "  chunk " in capsys.readouterr().out
