"""The engines' rules on geometries counted by hand; the sizes of real logs are in `test_logs`."""

from __future__ import annotations

from typing import Any

import pytest
from made_caches import GIB, MIXED, geometry, kv, vllm

from atlas.numbers.caches import Cache
from pipeline.engines.named import MODULES, engine_of
from pipeline.engines.record import Geometry, Unknown


def test_layers_of_one_kind_share_the_memory_evenly() -> None:
    """32 layers x 65,536 = 2 MiB a block: 1 GiB is 512 blocks of 16, 8,192 tokens, twice a request of 4,096."""
    found = vllm(geometry(*[kv(i) for i in range(32)]), "0.11.0", available_gib=1, max_model_len=4096)
    assert found["tokens"] == 8_192
    assert found["concurrency"] == 2


def test_ranks_beyond_the_heads_keep_one_head_each() -> None:
    """At TP 16 a rank keeps one of 8 heads, as at TP 8: eight times the tokens, not sixteen."""
    g = geometry(*[kv(i) for i in range(32)])
    assert [vllm(g, "0.11.0", available_gib=1, tp=t)["tokens"] for t in (8, 16)] == [65_536, 65_536]


def test_the_printed_size_changes_its_meaning_after_0_20_0() -> None:
    """Groups of two: one full, three windowed. 1 GiB is 8,192 blocks: // 4 x 16 = 32,768 tokens up to 0.20.0.

    A request of 8,192 tokens takes 512 and 3 x (min(1,023 + 2,048, 8,192) / 16 + 1 = 193) = 1,091 blocks:
    7.5087 requests, 61,511 tokens from 0.20.1 on.
    """
    given = {"available_gib": 1, "max_model_len": 8_192, "F": 2_048}
    assert vllm(MIXED, "0.20.0", **given)["tokens"] == 32_768
    assert vllm(MIXED, "0.20.1", **given)["tokens"] == 61_511
    assert vllm(MIXED, "0.20.1", **given)["concurrency"] == pytest.approx(8_192 / 1_091)


def test_windows_were_full_layers_before_0_9() -> None:
    """Eight layers of 65,536 bytes a page: 2,048 blocks of 16."""
    assert vllm(MIXED, "0.8.5", available_gib=1, max_model_len=8_192)["tokens"] == 32_768


def test_memory_for_tokens_is_the_inverse() -> None:
    """32,768 tokens are 2,048 x 4 blocks of 131,072 bytes: the 1 GiB they came from."""
    assert vllm(MIXED, "0.20.0", tokens=32_768) == {"available_gib": 1.0}


def test_a_recurrent_state_makes_the_block_larger() -> None:
    """A state of 1,000 channels x 3 x 2 + 500,000 x 4 = 2,006,000 bytes over 16 x 4,096: 31 x 16 = 496 tokens."""
    columns = Cache("decoder", 1, "conv", "gdn", stride=0, elements=4_000, channels=1_000, kernel=4)
    state = Cache("decoder", 1, "state", "gdn", stride=0, elements=500_000, heads=4)
    g = geometry(kv(0), columns, state, model_type="qwen3_5", state_dtype="float32")
    assert vllm(g, "0.19.1", mode="none")["block"] == 496


@pytest.mark.parametrize(
    ("g", "given", "absent"),
    [
        (MIXED, {"available_gib": 1, "max_model_len": 8_192}, "F"),
        (MIXED, {"available_gib": 1, "max_model_len": 8_192, "F": 2_048}, "batches"),
        (MIXED, {"max_model_len": 8_192, "F": 2_048, "batches": 2}, "available_gib"),
        (geometry(kv(0)), {"available_gib": 1}, "max_model_len"),
    ],
)
def test_what_is_missing_is_asked_for(g: Geometry, given: dict[str, Any], absent: str) -> None:
    """Nothing is guessed: the input stands under `missing`, and what hangs on it is not predicted."""
    made = engine_of("vllm").predict(g, "0.27.1", given)
    assert absent in made.missing
    assert "tokens" not in made.predicted


def test_what_no_rule_covers_is_refused() -> None:
    """Pages that are no multiples of each other, and a state of a kind that was not read."""
    with pytest.raises(Unknown, match="no multiples"):
        vllm(geometry(kv(0, width=128), kv(1, width=96, window=64)), "0.19.1", available_gib=1)
    with pytest.raises(Unknown, match="was not read"):
        engine_of("llama.cpp").predict(MIXED, "2026", {"cells": 256})
    strange = Cache("decoder", 0, "state", "rwkv", stride=0, elements=10)
    for engine in ("vllm", "sglang", "llama.cpp"):
        with pytest.raises(Unknown, match="rwkv"):
            engine_of(engine).predict(geometry(strange), "0.1", {})


def test_llama_cpp_pads_windows_and_keeps_quantized_blocks() -> None:
    """2 x 4,096 cells x 1,024 x 34/32 + 18/32; windows: 1,024 + 512 = 1,536 cells of 2,048 x 2 bytes, six layers."""
    gemma = geometry(*MIXED.caches, model_type="gemma3_text")
    made = engine_of("llama.cpp").predict(gemma, "2026", {"cells": 4_096, "n_seq": 1, "k": "q8_0", "v": "q4_0"})
    assert made.predicted["k_mib"] == 2 * 4_096 * 1_024 * 34 / 32 / 2**20
    assert made.predicted["v_mib"] == 2 * 4_096 * 1_024 * 18 / 32 / 2**20
    assert made.predicted["swa_cells"] == 1_536
    plain = engine_of("llama.cpp").predict(gemma, "2026", {"cells": 4_096, "n_seq": 1})
    assert plain.predicted["swa_mib"] == 6 * 1_536 * 2_048 * 2 / 2**20


def test_llama_cpp_keeps_full_caches_for_architectures_that_read_no_window() -> None:
    """A Mistral has eight layers of 4,096 cells: 8 x 4,096 x 2,048 x 2 bytes."""
    g = geometry(*MIXED.caches, model_type="mistral")
    made = engine_of("llama.cpp").predict(g, "2026", {"cells": 4_096})
    assert made.predicted == {"kv_mib": 128.0, "k_mib": 64.0, "v_mib": 64.0}


def test_sglang_counts_one_page_and_one_state_more() -> None:
    """(N + 1) tokens of 2 x 1,024 x 2 bytes in each of 2 layers; (15 + 1) states of 500,000 x 4 / 2 bytes."""
    state = Cache("decoder", 2, "state", "gdn", stride=0, elements=500_000, heads=4)
    g = geometry(kv(0), kv(1), state)
    made = engine_of("sglang").predict(g, "0.5", {"N": 1_048_575, "mamba": 15, "tp": 2})
    assert made.predicted["k_gib"] == 2**20 * 512 * 2 * 2 / GIB
    assert made.predicted["ssm_gib"] == 16 * 1_000_000 / GIB


def test_tensorrt_llm_multiplies_tokens() -> None:
    """2^20 tokens x 2 layers x 2,048 x 2 bytes = 8 GiB."""
    made = engine_of("tensorrt-llm").predict(geometry(kv(0), kv(1)), "2026", {"tokens": 2**20})
    assert made.predicted == {"gib": 8.0}


@pytest.mark.parametrize("name", MODULES)
def test_every_rule_names_its_source_and_its_proof(name: str) -> None:
    """A rule says where it was read, at which version, and whether logs agree."""
    engine = engine_of(name)
    assert all(r.says and r.source and r.read_at and r.proof in ("logs", "planner", "unproven") for r in engine.rules)
    assert len({r.name for r in engine.rules}) == len(engine.rules)
    assert all(i.meaning and (i.default is None or i.origin) for i in engine.inputs)
