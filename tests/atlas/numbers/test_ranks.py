"""What one of several GPUs holds, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

import atlas
from atlas.numbers.caches import caches
from atlas.numbers.ranks import Split, cache_on_rank, grouped_on_rank, stage_bounds, stages
from atlas.numbers.structure import Model

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": False,
}  # fmt: skip


def model(**changes: Any) -> Model:
    """The structure of a Llama with changes."""
    made = atlas.derive(LLAMA_8B | changes).model
    assert made is not None
    return made


def test_eight_ranks_share_all_but_the_norms() -> None:
    """Of 8,030,261,248 weights the 65 norms of 4,096 stand on every rank: (total - 266,240) / 8 + 266,240."""
    (stage,) = stages(model(), Split(tp=8))
    assert stage.params == (8_030_261_248 - 266_240) // 8 + 266_240 == 1_004_015_616


def test_sixteen_ranks_hold_each_kv_head_twice() -> None:
    """K and V of one head, 128 x 4,096 each, where a sixteenth of eight heads would be half: 32 x 2 x 262,144 more."""
    (stage,) = stages(model(), Split(tp=16))
    assert stage.params == (8_030_261_248 - 266_240) // 16 + 266_240 + 32 * 2 * 262_144


def test_a_kv_head_is_never_cut() -> None:
    """Of 8 KV heads of 128, K and V: 2,048 elements on one rank, 256 on eight, and still 256 on sixteen."""
    (first, *_) = caches(model())
    assert [cache_on_rank(first, Split(tp=t)) for t in (1, 8, 16)] == [2_048, 256, 256]


def test_attention_in_groups_of_ranks_keeps_more() -> None:
    """With eight ranks in four groups, two ranks share attention: 2,048 / 2 elements each."""
    (first, *_) = caches(model())
    assert cache_on_rank(first, Split(tp=8, dp=4)) == 1_024


@pytest.mark.parametrize(
    ("layers", "pp", "sizes"), [(32, 4, [8, 8, 8, 8]), (10, 4, [2, 3, 3, 2]), (61, 2, [31, 30]), (7, 3, [2, 3, 2])]
)
def test_layers_left_over_go_before_the_last_stage(layers: int, pp: int, sizes: list[int]) -> None:
    """The engine's own text: what does not divide goes to the middle stages, never to the last."""
    assert [b - a for a, b in stage_bounds(layers, pp)] == sizes


def test_stages_hold_their_vocabulary_matrices() -> None:
    """Two stages of 16 layers: the first with the token table, the last with the final norm and the head."""
    first, last = stages(model(), Split(pp=2))
    table, layer = 128_256 * 4_096, 218_112_000  # 2 x 4096^2 + 2 x 1024 x 4096 + 3 x 4096 x 14336 + 2 x 4096
    assert (first.params, last.params) == (16 * layer + table, 16 * layer + table + 4_096)


def test_a_tied_table_stands_on_both_ends() -> None:
    """The last stage multiplies by the token table that the first looks up."""
    first, last = stages(model(tie_word_embeddings=True), Split(pp=2))
    assert last.params - first.params == 4_096


def test_a_degree_says_even_copied_or_uneven_and_why() -> None:
    """8 KV heads are even up to 8 and copied at 16; 12 query heads are uneven at 8."""
    found = atlas.inspect(LLAMA_8B).tp_degrees
    assert found == {"2": "even", "4": "even", "8": "even", "16": "copied: 8 KV heads on 16 ranks, each on 2"}
    odd = atlas.inspect(LLAMA_8B | {"num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 128}).tp_degrees
    assert odd is not None
    assert (odd["4"], odd["8"]) == ("even", "uneven: 12 query heads")


def test_a_shard_is_aligned_to_what_divides_it() -> None:
    """14,336 / 8 = 1,792 = 7 x 256, four heads of 128 = 512, one KV head = 128: 128 divides them all."""
    found = atlas.inspect(LLAMA_8B)
    assert found.tp_alignment == {"2": 256, "4": 256, "8": 128, "16": 128}


def test_growth_on_a_rank_is_a_column() -> None:
    """131,072 bytes a token over 8 ranks, and no less over 16."""
    found = atlas.inspect(LLAMA_8B)
    assert (found.kv_bytes_per_token_rank_tp8, found.kv_bytes_per_token_rank_tp16) == (16_384, 16_384)


@pytest.mark.parametrize(("groups", "tp", "expected"), [(1, 1, 256), (1, 4, 256), (8, 4, 512), (8, 16, 256)])
def test_groups_of_b_and_c_are_repeated(groups: int, tp: int, expected: int) -> None:
    """2 x 128 channels a group: one group is whole on each of four ranks, eight are two each, or one on sixteen."""
    assert grouped_on_rank(groups, groups * 256, tp) == expected
