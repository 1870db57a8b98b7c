"""What differs between versions of vLLM, on geometries counted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from made_caches import GIB, MIXED, geometry, kv, vllm

from atlas.numbers.caches import Cache
from pipeline.engines.named import engine_of
from pipeline.engines.record import Geometry, Unknown

PLAIN = geometry(*[kv(i) for i in range(32)], n_layers=32)
PAGE = 16 * 2_048 * 2
"""Bytes of 16 tokens in one layer of `kv`."""


def hybrid(mixer: str, *, kernel: int = 4, **more: Any) -> Geometry:
    """One attention layer beside one recurrent layer of 1,024 channels and 262,144 elements of state in 8 heads."""
    columns = Cache("decoder", 1, "conv", mixer, stride=0, elements=4_096, channels=1_024, kernel=kernel)
    state = Cache("decoder", 1, "state", mixer, stride=0, elements=262_144, heads=8)
    return geometry(kv(0), columns, state, **more)


def block(g: Geometry, version: str, **inputs: Any) -> float:
    """Tokens of the attention block of a hybrid."""
    return vllm(g, version, mode="none", **inputs)["block"]


def test_stages_share_the_layers() -> None:
    """32 layers on 3 stages are 10, 11 and 11: 1 GiB is 16,384 // 11 blocks of 16; on 2 stages, of 16 layers, 1,024."""
    assert vllm(PLAIN, "0.11.0", available_gib=1, pp=3)["tokens"] == GIB // (11 * PAGE) * 16
    assert vllm(PLAIN, "0.11.0", available_gib=1, pp=2)["tokens"] == 16_384


def test_groups_are_made_of_the_whole_model_and_cut_by_stages() -> None:
    """Full layers 0 and 1 of 8 lie on the first of two stages, which holds both of that group: pages of 2 layers.

    Windowed groups are layers 2, 5 and 3, 6 and 4, 7: one of each group on either stage.
    """
    g = geometry(*MIXED.caches, n_layers=8)
    assert vllm(g, "0.11.0", available_gib=1, pp=2)["tokens"] == GIB // (2 * PAGE) // 4 * 16


def test_more_stages_than_layers_and_drafts_on_stages_are_refused() -> None:
    """No number where a stage would be empty, or where it is not read which stage holds a draft."""
    for inputs in ({"pp": 64}, {"pp": 2, "draft_full": 1}):
        with pytest.raises(Unknown):
            vllm(PLAIN, "0.11.0", available_gib=1, **inputs)


def test_windows_beside_full_layers_are_full_where_the_manager_is_off() -> None:
    """Eight layers of a page each: 2,048 blocks; windows in every layer stay windows."""
    assert vllm(MIXED, "0.11.0", available_gib=1, hybrid=0)["tokens"] == GIB // (8 * PAGE) * 16
    alike = geometry(*[kv(i, window=64) for i in range(8)])
    given = {"available_gib": 1, "F": 512, "max_model_len": 4_096}
    assert vllm(alike, "0.11.0", hybrid=0, **given) == vllm(alike, "0.11.0", **given)


def test_chunked_layers_turn_the_manager_off() -> None:
    """From 0.10 on three chunked layers and a full one are four full ones: 4,096 blocks of 16."""
    chunked = [c._replace(chunked=True) if c.window else c for c in (kv(0), *[kv(i, window=8_192) for i in (1, 2, 3)])]
    assert vllm(geometry(*chunked), "0.11.0", available_gib=1)["tokens"] == GIB // (4 * PAGE) * 16


def test_pages_that_are_no_divisors_are_padded_from_0_24_on() -> None:
    """A layer of 8 x 96 has pages of 49,152 B beside 65,536: refused at 0.19.1, padded at 0.24: groups of one layer."""
    odd = geometry(kv(0), kv(1, width=96, window=64))
    found = vllm(odd, "0.24.0", available_gib=1, max_model_len=4_096, F=512)
    assert found["concurrency"] == pytest.approx(16_384 / (256 + 1 + -(-(63 + 512) // 16)))
    with pytest.raises(Unknown, match="refuses"):
        vllm(odd, "0.19.1", available_gib=1)


def test_different_pages_in_one_model_are_refused_before_0_12() -> None:
    """A window with half the heads: pages of half the size, for which 0.11 has no larger block."""
    halves = geometry(kv(0), kv(1, heads=4, window=64))
    with pytest.raises(Unknown, match=r"before 0\.12"):
        vllm(halves, "0.11.0", available_gib=1)
    assert vllm(halves, "0.12.0", available_gib=1)["tokens"] == GIB // PAGE // 2 * 16


@pytest.mark.parametrize(
    ("mixer", "version", "columns"),
    [
        ("gdn", "0.11.0", 5),
        ("mamba2", "0.14.1", 3),
        ("mamba2", "0.18.0", 5),
        ("kda", "0.26.0", 3),
        ("kda", "0.27.1", 5),
    ],
)  # fmt: skip
def test_drafted_tokens_add_columns(mixer: str, version: str, columns: int) -> None:
    """Two drafted tokens: 1,024 x (3 or 3 + 2) x 2 bytes beside 262,144 x 2 (KDA 4), over 16 x 4,096 B a step."""
    page = 1_024 * columns * 2 + 262_144 * (4 if mixer == "kda" else 2)
    assert block(hybrid(mixer), version, speculative=2) == 16 * -(-page // 65_536)


@pytest.mark.parametrize(
    ("version", "stated", "width"),
    [("0.12.0", "float32", 2), ("0.14.1", "float32", 4), ("0.18.0", None, 2), ("0.20.1", None, 4), ("0.33.0", None, 4)],
)
def test_the_state_of_nemotron_h_has_the_type_of_the_version(version: str, stated: str | None, width: int) -> None:
    """0.12 does not read the config's type; where none is stated it is float16 up to 0.18 and float32 from 0.20.1."""
    g = hybrid("mamba2", model_type="nemotron_h", state_dtype=stated)
    assert block(g, version) == 16 * -(-(1_024 * 3 * 2 + 262_144 * width) // 65_536)


def test_a_type_that_was_not_read_is_asked_for() -> None:
    """Between 0.18 and 0.20.1 the default changed."""
    with pytest.raises(Unknown, match="ssm is needed"):
        block(hybrid("mamba2", model_type="nemotron_h"), "0.19.1")


def test_a_checkpointed_state_takes_a_block_more() -> None:
    """Mode align: 2 states, at 0.33 one more for Mamba-2; 64 / (blocks of attention + states)."""
    g = hybrid("mamba2")
    made = {v: vllm(g, v, mode="align", available_gib=1, max_model_len=4_096) for v in ("0.27.1", "0.33.0")}
    size = made["0.33.0"]["block"]
    blocks, attention = GIB // int(size * 4_096), -(-4_096 // size)
    assert made["0.27.1"]["concurrency"] == pytest.approx(blocks / (attention + 2))
    assert made["0.33.0"]["concurrency"] == pytest.approx(blocks / (attention + 3))


def test_mode_all_is_gone_with_0_33() -> None:
    """It is refused there, and asks for the kernel's chunk before."""
    for version, reason in (("0.33.0", "not in 0.33"), ("0.24.0", "chunk is needed")):
        more = {"chunk": 256} if version == "0.33.0" else {}
        with pytest.raises(Unknown, match=reason):
            vllm(hybrid("gdn"), version, mode="all", available_gib=1, max_model_len=4_096, **more)


def sparse(model_type: str) -> Geometry:
    """A latent of 512 + 64 with an indexer of 128 in each of two layers."""
    kept = [Cache("decoder", i, "latent", "dsa", 576, 0, elements=576) for i in range(2)]
    keys = [Cache("decoder", i, "index", "dsa", 128, 0, elements=128, width=1) for i in range(2)]
    return geometry(*[c for pair in zip(kept, keys, strict=True) for c in pair], model_type=model_type)


@pytest.mark.parametrize(
    ("model_type", "version", "kv_type", "each"),
    [("deepseek_v32", "0.11.0", "auto", 656), ("deepseek_v32", "0.12.0", "auto", 1_152),
     ("deepseek_v32", "0.12.0", "fp8", 656), ("glm_moe_dsa", "0.24.0", "auto", 1_152),
     ("glm_moe_dsa", "0.24.0", "fp8_ds_mla", 656)],
)  # fmt: skip
def test_a_sparse_latent_takes_the_layout_of_its_version(
    model_type: str, version: str, kv_type: str, each: int
) -> None:
    """656 bytes where the engine packs, 576 x 2 where not; 132 of the indexer beside, blocks of 64."""
    found = vllm(sparse(model_type), version, available_gib=1, kv=kv_type, max_model_len=64)
    assert found["tokens"] == pytest.approx(GIB // (2 * (each + 132) * 64) * 64, abs=1)


@pytest.mark.parametrize(
    ("version", "inputs"),
    [("nightly", {}), ("0.11.0", {"kv": "q8_0"}), ("0.11.0", {"tp": 3}), ("0.11.0", {"tp": True}),
     ("0.11.0", {"available_gib": "20"}), ("0.11.0", {"draft_full": "x"}),
     ("0.11.0", {"draft_full": 10**9}), ("0.11.0", {"available_gib": float("inf")}), ("0.11.0", {"tp": float("nan")}),
     ("0.11.0", {"hybrid": "maybe"})],
)  # fmt: skip
def test_inputs_that_cannot_be_are_refused(version: str, inputs: dict[str, Any]) -> None:
    """Never a number from an input that was not understood."""
    with pytest.raises(Unknown):
        engine_of("vllm").predict(PLAIN, version, {"available_gib": 1} | inputs)
