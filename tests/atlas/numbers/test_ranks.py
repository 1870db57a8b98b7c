"""What one of several GPUs holds, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

import atlas
from atlas.numbers.caches import Cache, caches
from atlas.numbers.ranks import (
    Split,
    Undescribed,
    cache_on_rank,
    grouped_on_rank,
    model_on_rank,
    part_on_rank,
    stage_bounds,
    stages,
)
from atlas.numbers.structure import Model
from atlas.parts import (
    attention,
    convolved,
    drafting,
    ends,
    experts,
    feeding,
    latent,
    recurrent,
    reused,
    selective,
    sparse,
)

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


G = attention.Gqa
MLA = latent.Mla(11, 4, 5, 7, 2, 4, 6)
TWO, FOUR = Split(tp=2), Split(tp=4)
EXPERTS = experts.Moe(12, 8, 6, 2, True, "silu", 10, 2, True, True, True, True)


def test_every_described_part_on_a_rank() -> None:
    """What one of two or four ranks holds: the share of heads, rows or channels, and whole what is copied."""
    # q and o 4 heads x 3 x 12, k and v 2 heads x 3 x 12; four ranks hold one KV head each, two of them copies
    plain = attention.gqa(G(12, 4, 2, 3, 3, True, True, "head", True, True))
    copied = 12 + 6 + 6  # o's bias, norms of a head's width with theirs
    assert part_on_rank(plain, Split()) == 144 + 72 + 72 + 144 + 12 + 6 + 6 + 4 + copied
    assert part_on_rank(plain, TWO) == 72 + 36 + 36 + 72 + 6 + 3 + 3 + 2 + copied
    assert part_on_rank(plain, FOUR) == 36 + 36 + 36 + 36 + 3 + 3 + 3 + 1 + copied
    # groups of two ranks have sequences of their own: attention is shared by two
    assert part_on_rank(plain, Split(tp=4, dp=2)) == part_on_rank(plain, TWO)
    # five heads over two ranks are three: 3 / 5; norms with weights per head are shared like heads
    odd = attention.gqa(G(10, 5, 5, 2, 2, qk_norm="each"))
    assert part_on_rank(odd, TWO) == 4 * 100 * 3 / 5 + 2 * 10 * 3 / 5
    # a latent and its norms on every rank; heads' matrices shared: q_b 90 x 4 / 3, kv_b 7 x 32, o 11 x 24
    for made in (latent.mla(MLA._replace(bias=True)),):
        shared = 24 * 5 + 32 * 7 + 11 * 24
        assert part_on_rank(made, TWO) == 55 + 5 + 5 + 121 + 7 + 11 + 11 + shared / 2
    indexed = sparse.dsa(sparse.Dsa(MLA, sparse.Indexer(2, 3, 8)))
    assert part_on_rank(indexed, TWO) == 55 + 5 + 121 + 7 + (30 + 33 + 3 + 3 + 22) + (120 + 224 + 264) / 2
    blocks = sparse.block_sparse(attention.gqa(G(12, 4, 2, 3, 3)), sparse.Blocks(12, 2, 3, 32))
    assert part_on_rank(blocks, TWO) == (144 + 72 + 72 + 144) / 2 + 72 + 36 + 3 + 3
    # a network's inner width; the bias of its output is copied
    assert part_on_rank(feeding.mlp(feeding.Mlp(12, 8, True, True, "silu")), TWO) == 3 * 48 + 4 + 4 + 12
    assert part_on_rank(feeding.mlp(feeding.Mlp(12, 7, False, False, "silu")), TWO) == 2 * 84 * 4 / 7
    # six experts of 3 x 96 with biases of 8 + 8 + 12; routers and their gate whole; the shared network is 10 wide
    whole = 72 + 6 + 6 + 12
    made = experts.moe(EXPERTS)
    assert part_on_rank(made, TWO) == whole + 6 * (3 * 48 + 4 + 4 + 12) + 3 * 60
    assert part_on_rank(made, Split(tp=2, ep=2)) == whole + 3 * (3 * 96 + 8 + 8 + 12) + 3 * 60
    assert part_on_rank(made, Split(tp=4, ep=2)) == whole + 3 * (3 * 48 + 4 + 4 + 12) + 3 * 120 * 3 / 10
    assert part_on_rank(made, Split(tp=4, ep=4)) == whole + 2 * (3 * 96 + 8 + 8 + 12) + 3 * 120 * 3 / 10
    # around experts of width 4: two matrices of 12 x 4 whole
    narrow = experts.moe(EXPERTS._replace(latent=4, shared=0, n_shared=0, expert_bias=False))
    assert part_on_rank(narrow, TWO) == 72 + 6 + 6 + 96 + 6 * 3 * 16
    # vocabulary rows are dealt out, positions and projections copied
    made = ends.ends(ends.Ends(20, 12, False, "lm", 3, "rmsnorm", False, positions=7, d_embed=5))
    assert [part_on_rank(p, TWO) for p in made] == [50 + 84, 12, 60 + 60, 50]
    assert part_on_rank(ends.ends(ends.Ends(21, 12, True, "lm", 3, "rmsnorm", False))[-1], TWO) == 0
    assert part_on_rank(ends.ends(ends.Ends(21, 12, False, "score", 3, "rmsnorm", False))[-1], TWO) == 36
    assert part_on_rank(ends.ends(ends.Ends(21, 12, False, "lm", 3, "rmsnorm", False))[0], TWO) == 11 * 12
    fusing = drafting.fusing(drafting.Fusing("eh_proj", 12, 20, 20))
    assert part_on_rank(fusing, Split()) == part_on_rank(fusing, TWO) == 0  # stands apart
    # heads and channels of recurrent layers; a norm of one head's width, and bottlenecks, whole
    delta = recurrent.gated_delta(recurrent.GatedDelta(12, 2, 4, 5, 3, 7))
    assert part_on_rank(delta, TWO) == (32 * 12 + 12 * 12 + 4 * 12 * 2 + 32 * 7 + 4 + 4 + 12 * 12) / 2 + 3
    narrow = recurrent.kda(recurrent.Kda(12, 2, 3, 5, True, True))
    assert part_on_rank(narrow, TWO) == (3 * 72 + 90 + 24 + 2 + 6 + 72 + 18 + 18) / 2 + 3 + 36 + 36
    assert part_on_rank(convolved.short_conv(12, 3, True), TWO) == (432 + 36 + 144 + 36 + 12 + 12) / 2
    # inner 32, B and C 2 groups x 2 x 4 = 16: rows 32 + 16, over four ranks 8 and two groups repeated to four: 8
    mamba = selective.mamba2(selective.Mamba2(12, 8, 4, 2, 4, 3, True, True, True))
    rows = 32 + 48 + 8
    apart = 12 * 32 + 3 * 8 + 32  # out, A, D, dt's bias and the norm are shared evenly
    assert part_on_rank(mamba, TWO) == (rows * 12 + 48 * 3 + 48 + rows + apart) / 2 + 12
    four = (rows - 16) / 4 + 8, (48 - 16) / 4 + 8
    assert part_on_rank(mamba, FOUR) == four[0] * 12 + four[1] * 3 + four[1] + four[0] + apart / 4 + 12
    # what is not described gives no number, but one rank holds all
    other = recurrent.rwkv(12, 6)
    assert part_on_rank(other, Split()) == 4 * 72 + 12 + 36
    with pytest.raises(Undescribed):
        part_on_rank(other, TWO)
    assert part_on_rank(reused.again(other), TWO) == 0
    assert part_on_rank(drafting.drafting(other), TWO) == 0


def test_what_a_rank_keeps() -> None:
    """KV heads, channels and states are shared; latents, index keys and a source's stand whole."""
    kv = Cache("decoder", 0, "kv", "gqa", 6, 6, 2, elements=12)
    assert [cache_on_rank(kv, s) for s in (Split(), TWO, FOUR, Split(tp=4, dp=2))] == [12, 6, 6, 6]
    assert cache_on_rank(Cache("decoder", 0, "latent", "mla", 11, elements=11), TWO) == 11
    assert cache_on_rank(Cache("decoder", 0, "index", "dsa", 3, elements=3), TWO) == 3
    state = Cache("decoder", 0, "state", "gdn", elements=60, heads=4)
    assert cache_on_rank(state, TWO) == 30
    assert cache_on_rank(state._replace(heads=None), Split()) == 60
    with pytest.raises(Undescribed):
        cache_on_rank(state._replace(heads=None), TWO)
    conv = Cache("decoder", 0, "conv", "mamba2", elements=144, channels=48, kernel=3, groups=2, grouped=16)
    assert cache_on_rank(conv, TWO) == 72
    assert cache_on_rank(conv, FOUR) == 3 * (32 / 4 + 8)
    assert cache_on_rank(conv._replace(groups=None, grouped=0), FOUR) == 36
    assert cache_on_rank(conv._replace(channels=None), FOUR) == 144


def test_stages_share_the_layers() -> None:
    """Seven layers over three stages: 2, 3, 2; as many stages as layers are one each, and one more is too many."""
    assert stage_bounds(7, 3) == [(0, 2), (2, 5), (5, 7)]
    assert stage_bounds(8, 3) == [(0, 3), (3, 6), (6, 8)]
    assert stage_bounds(3, 3) == [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(Undescribed):
        stage_bounds(3, 4)
    found = stages(model(num_hidden_layers=3, vocab_size=1000), Split(pp=3))
    layer = 4096 * (4096 + 1024 + 1024 + 4096) + 3 * 4096 * 14336 + 2 * 4096
    assert [(s.first, s.beyond, s.params - layer) for s in found] == [
        (0, 1, 4_096_000), (1, 2, 0), (2, 3, 4_096_000 + 4096),
    ]  # fmt: skip
    assert model_on_rank(model(num_hidden_layers=3, vocab_size=1000), Split()) == 3 * layer + 2 * 4_096_000 + 4096
    both = stages(model(num_hidden_layers=2, vocab_size=1000, tie_word_embeddings=True), Split(pp=2))
    assert [s.params - layer for s in both] == [4_096_000, 4_096_000 + 4096]
    assert Split() == Split(1, 1, 1, 1)
    assert (Split(tp=4, dp=2).attention_tp, Split(tp=1, dp=2).attention_tp) == (2, 1)
