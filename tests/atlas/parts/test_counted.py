"""Every builder of parts, called with small numbers that have no factor in common where it matters, counted by hand.

`counted` books the stored weights by component and role, what one token multiplies by, what is kept and what is read.
The shapes are those of the modelling code that the builders' docstrings cite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from atlas.numbers.structure import Feeding, Mixing, Part, Read, Run, State, Tensor, layer
from atlas.parts import (
    additions,
    attention,
    borrowed,
    both_ways,
    codes,
    compressed,
    convolved,
    cross,
    differential,
    disentangled,
    drafting,
    drafts,
    ends,
    experts,
    feeding,
    heads,
    latent,
    linear,
    ngram,
    norms,
    outside,
    recurrent,
    reused,
    rwkv7,
    selective,
    sourced,
    sparse,
    streams,
    tables,
    towers,
)  # fmt: skip
from atlas.refusal import Refused
from schemas.vocabulary import AttentionKind, Component, Mask, Mixer, Role

A, F = Component.ATTENTION, Component.FFN_DENSE


def tensors(what: Part | Tensor | Iterable[Any]) -> list[Tensor]:
    """All tensors of a part, of several, or of a list of tensors."""
    if isinstance(what, Tensor):
        return [what]
    return list(what.tensors) if isinstance(what, Part) else [t for each in what for t in tensors(each)]


def counted(what: Any) -> dict[str, int]:
    """Stored elements by component and role; under `used` what a token multiplies by, where that is another number."""
    found, used, stored = Counter[str](), 0, 0
    for t in tensors(what):
        found[f"{t.component} {t.role}"] += t.stored * t.elements
        used += t.used * (t.role is Role.MATMUL)
        stored += t.stored * t.elements * (t.role is Role.MATMUL)
    return {k: n for k, n in found.items() if n} | ({"used": used} if used != stored else {})


def book(component: str, matmul: int = 0, vector: int = 0, lookup: int = 0, once: int = 0) -> dict[str, int]:
    """Weights of one component."""
    found = {"matmul": matmul, "vector": vector, "lookup": lookup, "once": once}
    return {f"{component} {role}": n for role, n in found.items() if n}


def constant(elements: int, width: int | None, **more: Any) -> State:
    """What has a fixed size."""
    return State("constant", elements, 0, width=width, **more)


def columns(channels: int, kernel: int, **more: Any) -> State:
    """Columns of a convolution, two bytes each."""
    return constant(channels * kernel, 2, channels=channels, kernel=kernel, **more)


def once(kept: list[State], flops: int) -> list[Read]:
    """Every state is loaded once a token, the work is booked on the last."""
    return [Read(flops * (s is kept[-1]), s.elements, 0, width=s.width) for s in kept]


def recurrent_cases() -> list[tuple[str, Part, dict[str, int], list[State], int]]:
    """Mixers with a state: what is kept, and the FLOPs of a step."""
    return [
    # inner 6 x 5 = 30, B and C 2 x 2 x 7 = 28, convolved 58; in 94 x 11, conv 58 x 3, out 11 x 30
    ("mamba2", selective.mamba2(selective.Mamba2(11, 6, 5, 2, 7, 3, True, True, True)),
     book("recurrent", 1034 + 174 + 330, 18 + 30 + 58 + 94 + 11),
     [columns(58, 3, groups=2, grouped=28), constant(210, 4, heads=6)], 6 * 210),
    ("mamba2 bare", selective.mamba2(selective.Mamba2(11, 6, 5, 2, 7, 3, False, False, False, False)),
     book("recurrent", 1538, 18), [columns(58, 3, groups=2, grouped=28), constant(210, 4, heads=6)], 1260),
    ("mamba2 normed", selective.mamba2(selective.Mamba2(11, 6, 5, 2, 7, 3, False, False, False)),
     book("recurrent", 1538, 48), [columns(58, 3, groups=2, grouped=28), constant(210, 4, heads=6)], 1260),
    # in 44 x 11, conv 22 x 3, x (5 + 14) x 22, dt 22 x 5, out 11 x 22; dt's bias, A 22 x 7, D; the rest where switched
    ("mamba", selective.mamba(selective.Mamba(11, 22, 7, 3, 5, True, True, True)),
     book("recurrent", 484 + 66 + 418 + 110 + 242, 22 + 154 + 22 + 22 + 44 + 11 + 5 + 7 + 7),
     [columns(22, 3), constant(154, 4, heads=22)], 924),
    ("mamba bare", selective.mamba(selective.Mamba(11, 22, 7, 3, 5, False, False)),
     book("recurrent", 1320, 198), [columns(22, 3), constant(154, 4, heads=22)], 924),
    ("headed", selective.headed_mamba(selective.HeadedMamba(11, 22, 2, 7, 3, 5, True, True)),
     book("recurrent", 484 + 66 + 418 + 110 + 242, 22 + 154 + 22 + 22 + 44 + 11),
     [columns(22, 3), constant(154, 4, heads=2)], 924),
    ("headed bare", selective.headed_mamba(selective.HeadedMamba(11, 22, 2, 7, 3, 5, False, False)),
     book("recurrent", 1320, 198), [columns(22, 3), constant(154, 4, heads=2)], 924),
    # four squares of 12; bottlenecks of 2, 3, 7 and 5, both ways; mixes 6 x 12, k's 24, r_k 12, norm 24, biases 3 x 12
    ("rwkv7", rwkv7.rwkv7(rwkv7.Rwkv7(12, 4, 2, 3, 5, 7)),
     book("recurrent", 576 + 24 * (2 + 3 + 7 + 5), 72 + 24 + 12 + 24 + 36), [constant(12, 2), constant(48, 4, heads=3)],
     480),
    ("rwkv7 first", rwkv7.rwkv7(rwkv7.Rwkv7(12, 4, 2, 3, 5, 0)),
     book("recurrent", 816, 156), [constant(12, 2), constant(48, 4, heads=3)], 480),
    ("token_mix", rwkv7.token_mix(11, 23), book("ffn_dense", 506, 11), [constant(11, 2)], 0),
    # keys 8 and values 24 over 4 heads in 2 groups: 4 and 12; a value is 6 wide; a state has 8 x 6
    ("gated", linear.gated_linear(linear.Linear(12, 4, 8, 24, 2, 3, True, 5, True, True)),
     book("recurrent", 96 + 48 + 144 + 288 + 288 + 48 + 48 + 60 + 20 + 72, 4 + 8 + 6),
     [columns(24, 3), constant(48, 4, heads=4)], 2 * 4 * 48),
    ("gla", linear.gated_linear(linear.Linear(12, 4, 8, 24)), book("recurrent", 96 + 96 + 288 * 3, 6),
     [constant(48, 4, heads=4)], 2 * 2 * 48),
    ("betas", linear.gated_linear(linear.Linear(12, 4, 8, 24, output_gate=False, betas=True)),
     book("recurrent", 96 + 96 + 288 * 2 + 48, 6), [constant(48, 4, heads=4)], 2 * 3 * 48),
    # five slots a head: 5 x (8 + 24) in all, and a gate of 4 / 2 x 5 rows
    ("slots", linear.gated_linear(linear.Linear(12, 4, 8, 24, 2, slots=5, whole_norm=True)),
     book("recurrent", 96 + 48 + 144 + 288 + 288 + 120, 24), [constant(160, 4, heads=4)], 2 * 3 * 160),
    ("key decays", linear.gated_linear(linear.Linear(12, 4, 8, 24, key_decays=True)), book("recurrent", 1056, 6),
     [constant(48, 4, heads=4)], 288),
    ("key gates", linear.gated_linear(linear.Linear(12, 4, 8, 24, key_gate_rank=5)),
     book("recurrent", 1056 + 60 + 40, 8 + 6), [constant(48, 4, heads=4)], 288),
    ("key gate of one", linear.gated_linear(linear.Linear(12, 4, 8, 24, key_gate_rank=1)),
     book("recurrent", 1056 + 12 + 8, 8 + 6), [constant(48, 4, heads=4)], 288),
    ("slots of one", linear.gated_linear(linear.Linear(12, 4, 8, 24, slots=1)),
     book("recurrent", 1056 + 48, 6), [constant(32, 4, heads=4)], 2 * 3 * 32),
    ("decays", linear.gated_linear(linear.Linear(12, 4, 8, 24, decays=True)), book("recurrent", 1056 + 48, 8 + 6),
     [constant(48, 4, heads=4)], 288),
    ("short_conv", convolved.short_conv(11, 3, True), book("recurrent", 363 + 33 + 121, 33 + 11 + 11),
     [columns(11, 3)], 0),
    ("short_conv bare", convolved.short_conv(11, 3, False), book("recurrent", 517), [columns(11, 3)], 0),
    # keys 10, values 12, convolved 32; z 12, b and a 4 each
    ("gated_delta", recurrent.gated_delta(recurrent.GatedDelta(11, 2, 4, 5, 3, 7)),
     book("recurrent", 352 + 132 + 44 + 44 + 224 + 132, 4 + 4 + 3), [columns(32, 7), constant(60, 4, heads=4)], 480),
    # inner 6; through a bottleneck as wide as a head: 3 x 11 + 6 x 3
    ("kda", recurrent.kda(recurrent.Kda(11, 2, 3, 5, True, False, 5)),
     book("recurrent", 198 + 90 + 22 + 66 + 51 + 66, 5 + 6 + 3), [columns(18, 5), constant(18, 4, heads=2)], 144),
    ("kda by head", recurrent.kda(recurrent.Kda(11, 2, 3, 5, False, True)),
     book("recurrent", 198 + 90 + 22 + 66 + 66 + 51, 2 + 6 + 3), [columns(18, 5), constant(18, 4, heads=2)], 144),
    ("kda narrow", recurrent.kda(recurrent.Kda(11, 2, 3, 5, True, True)),
     book("recurrent", 198 + 90 + 22 + 66 + 51 + 51, 2 + 6 + 3), [columns(18, 5), constant(18, 4, heads=2)], 144),
    ("kda wide", recurrent.kda(recurrent.Kda(11, 2, 3, 5, False, False)),
     book("recurrent", 198 + 90 + 22 + 66 + 66 + 66, 2 + 6 + 3), [columns(18, 5), constant(18, 4, heads=2)], 144),
    ("lightning", recurrent.lightning(recurrent.Lightning(11, 2, 3, 4)),
     book("recurrent", 330, 6) | book("buffers", 0, 2 + 8 + 8 + 32), [constant(18, 2, heads=2)], 108),
    ("lightning normed", recurrent.lightning_normed(11, 2, 3, True), book("recurrent", 330, 6 + 3 + 3),
     [constant(18, 4)], 108),
    ("lightning unnormed", recurrent.lightning_normed(11, 2, 3, False), book("recurrent", 330, 6),
     [constant(18, 4)], 108),
    # a matrix has 4 x 6 / 2 = 12 elements
    ("mlstm", recurrent.mlstm(recurrent.Mlstm(12, 2, 4, 6, True)),
     book("recurrent", 48 + 48 + 72 * 3 + 2 * 24, 4 + 6 + 4 + 4 + 6 + 6 + 12 + 6),
     [constant(4, 2), constant(2, 2), constant(12, 2)], 72),
    ("mlstm bare", recurrent.mlstm(recurrent.Mlstm(12, 2, 4, 6, False)),
     book("recurrent", 360, 10), [constant(4, 2), constant(2, 2), constant(12, 2)], 72),
    # gates are two blocks of 3 x 3 each
    ("rg_lru", recurrent.rg_lru(recurrent.Lru(11, 6, 2, 4)), book("recurrent", 66 * 3 + 24 + 36, 6 * 6 + 11),
     [constant(18, 2, channels=6, kernel=4), constant(6, 4, heads=2)], 24),
    ("rwkv", recurrent.rwkv(11, 6), book("recurrent", 4 * 66, 12 + 33), [constant(11, 2), constant(18, 4)], 48),
    ("channel_mix", recurrent.channel_mix(11, 23), book("ffn_dense", 253 + 121 + 253, 22), [constant(11, 2)], 0),
]  # fmt: skip


def test_mixers_with_a_state() -> None:
    """Weights, what is kept whatever the length, and the work of a step."""
    for name, found, weights, kept, flops in recurrent_cases():
        assert (name, counted(found)) == (name, weights)
        assert (name, list(found.states)) == (name, kept)
        assert (name, list(found.reads)) == (name, once(kept, flops))


G = attention.Gqa
KV, LOOKED = State("kv", 16, keys=10, heads=2), Read(96, 16)
M = latent.Mla(11, 3, 5, 7, 2, 4, 6)  # 55 + 90 + 121 + 168 + 198 = 632; norms 5 + 7
MKV, MREAD = State("kv", 11, keys=11), Read(108, 11, prefill=72)
IX = sparse.Indexer(2, 3, 8)
INDEX, SCORED = State("index", 3, width=2), Read(12, 3, width=2)
C = compressed.Compressed(11, 4, 3, 5, 2, 6, 2, 9)  # 55 + 60 + 33 + 72 + 132 = 352; vectors 5 + 3 + 4
WINDOW, NEAR = State("kv", 3, window=9, keys=3), Read(48, 3, window=9)
MOTIF = latent.Mla(11, 3, 5, 7, 2, 4, 6)
REL = convolved.Relative(12, 4, 2, 3, 5, 7, 3, None)
POINTS = disentangled.Disentangled(12, 9, True, True, True)
SHARED = reused.Shared(12, 1, 24, 4, 2, 3, 5, "gelu", True, True, 2, 3)
RELATED = [State("kv", 12, keys=6, heads=2), constant(108, 4)]  # 2 x (6 + 12) x 3 columns
RELREAD = [Read(48, 12), Read(0, 108, 0, width=4)]


def usual() -> Part:
    """Queries 30 x 11, keys 10 x 11, values 6 x 11, output 11 x 18: 704."""
    return attention.gqa(G(11, 6, 2, 5, 3))


def biased() -> Part:
    """330 + 110 + 110 + 330 = 880, and biases of 30 + 10 + 10."""
    return attention.gqa(G(11, 6, 2, 5, 5, qkv_bias=True))


def twelve() -> Part:
    """Four squares of 12."""
    return attention.gqa(G(12, 4, 4, 3, 3))


def attending_cases() -> list[tuple[str, Part, dict[str, int], list[State], list[Read]]]:
    """Mixers that look back: what is kept, and what is read."""
    return [
    ("gqa", usual(), book("attention", 704), [KV], [LOOKED]),
    ("gqa full", attention.gqa(G(11, 6, 2, 5, 3, True, True, "head", True, True)),
     book("attention", 704, 30 + 10 + 6 + 11 + 6 + 10 + 10), [KV], [LOOKED]),
    ("gqa gated", attention.gqa(G(11, 6, 2, 5, 3, gate="elementwise")), book("attention", 704 + 330), [KV], [LOOKED]),
    ("gqa each", attention.gqa(G(11, 6, 2, 5, 3, qk_norm="each")), book("attention", 704, 40), [KV], [LOOKED]),
    ("gqa over all", attention.gqa(G(11, 6, 2, 5, 3, qk_norm="full")), book("attention", 704, 40), [KV], [LOOKED]),
    ("gqa unit", attention.gqa(G(11, 6, 2, 5, 3, qk_norm="unit")), book("attention", 704), [KV], [LOOKED]),
    ("gqa shared", attention.gqa(G(11, 6, 2, 5, 3, True, qk_norm="full", shared_from=3)),
     book("attention", 528, 30 + 30), [], [LOOKED]),
    ("gqa dead", attention.gqa(G(11, 6, 2, 5, 3, True, qk_norm="head", shared_from=3, dead_kv=True)),
     book("attention", 704, 30 + 10 + 6 + 10) | {"used": 528}, [], [LOOKED]),
    ("gqa window", attention.gqa(G(11, 6, 2, 5, 3, mixer="sliding_attention", window=9)), book("attention", 704),
     [KV._replace(window=9)], [LOOKED._replace(window=9)]),
    ("gqa prefix", attention.gqa(G(11, 6, 2, 5, 3, mask=Mask.PREFIX)), book("attention", 704), [KV],
     [LOOKED._replace(both_ways=True)]),
    ("output gate", attention.with_output_gate(usual(), 11, 6), book("attention", 770), [KV], [LOOKED]),
    ("values from keys", attention.values_from_keys(usual()), book("attention", 638), [KV], [LOOKED]),
    ("differential", attention.differential(usual()), book("attention", 704), [KV], [Read(96 + 36, 16)]),
    ("of target", attention.reading_target(attention.gqa(G(11, 6, 2, 5, 3, qk_norm="head", shared_from=0,
                                                           dead_kv=True))),
     book("attention", 704, 5) | {"used": 528}, [], [LOOKED]),
    # latent attention: held 7 + 4, a read 2 x 3 x (11 + 7), expanded 2 x 3 x (6 + 6)
    ("mla", latent.mla(M), book("attention", 632, 12), [MKV], [MREAD]),
    ("mla biased", latent.mla(M._replace(bias=True)), book("attention", 632, 12 + 5 + 11 + 11), [MKV], [MREAD]),
    ("mla direct", latent.mla(M._replace(q_rank=None)), book("attention", 632 - 145 + 198, 7), [MKV], [MREAD]),
    ("mla plus", latent.with_additions(latent.mla(M), latent.Additions(11, 3, 4, 6, True, True, 9)),
     book("attention", 632 + 66, 12 + 3 + 4), [MKV._replace(window=9)], [MREAD._replace(window=9)]),
    ("mla gate of one", latent.with_additions(latent.mla(M), latent.Additions(11, 3, 4, 1)),
     book("attention", 632 + 11, 12), [MKV], [MREAD]),
    ("mla joint", latent.with_additions(latent.mla(M), latent.Additions(11, 3, 4, joint=20)),
     book("attention", 632 - 90 + 200, 12), [MKV], [MREAD]),
    # an indexer: 6 x 5 queries, 3 x 11 keys, 2 x 11 weights, a norm of 3 with bias
    ("dsa", sparse.dsa(sparse.Dsa(M, IX)), book("attention", 632 + 85, 12 + 6), [MKV, INDEX],
     [MREAD._replace(limit=8), SCORED]),
    ("dsa shared", sparse.dsa(sparse.Dsa(M, IX, False)), book("attention", 632, 12), [MKV], [MREAD._replace(limit=8)]),
    ("dsa pooled", latent.with_additions(sparse.dsa(sparse.Dsa(M, IX)), latent.Additions(11, 3, 4, pool=4)),
     book("attention", 717 + 33, 18 + 12), [MKV, State("index", 7, width=2)],
     [MREAD._replace(limit=8), Read(12, 28, 4, width=2)]),
    ("dsa wide", latent.with_additions(sparse.dsa(sparse.Dsa(M, IX)), latent.Additions(11, 3, 4, index_width=4)),
     book("attention", 717, 18), [MKV, State("index", 3, width=4)], [MREAD._replace(limit=8), Read(12, 3, width=4)]),
    ("pool without index", latent.with_additions(latent.mla(M), latent.Additions(11, 3, 4, pool=4)),
     book("attention", 632, 12), [MKV], [MREAD]),
    ("scaled", sparse.scaled(M, IX, True), book("attention", 632 + 66 + 33 + 22, 12 + 6 + 28 + 4), [MKV, INDEX],
     [MREAD._replace(limit=8), SCORED]),
    ("scaled shared", sparse.scaled(M, IX, False), book("attention", 632, 18), [MKV], [MREAD._replace(limit=8)]),
    ("blocks", sparse.block_sparse(biased(), sparse.Blocks(11, 2, 3, 32, 4)), book("attention", 880 + 66 + 33, 50 + 6),
     [State("kv", 20, keys=10, heads=2), INDEX], [Read(120, 20, limit=32), Read(12, 12, 4, width=2)]),
    ("blocks alone", sparse.block_sparse(biased(), sparse.Blocks(11, 2, 3, 32)), book("attention", 979, 56),
     [State("kv", 20, keys=10, heads=2), INDEX], [Read(120, 20, limit=32), Read(12, 3, width=2)]),
    # one in 4 of all, and three quarters of the last 16
    ("strided", sparse.strided(biased(), 16, 4), book("attention", 880, 50), [State("kv", 20, keys=10, heads=2)],
     [Read(90, 15, window=16), Read(120, 20, 4)]),
    ("both ways", both_ways.both_ways(usual()), book("attention", 704), [], [LOOKED._replace(both_ways=True)]),
    ("wider", both_ways.wider_inside(biased(), 22), book("attention", 660 + 220 + 220 + 330, 50),
     [State("kv", 20, keys=10, heads=2)], [Read(120, 20)]),
    ("no key bias", both_ways.without_key_bias(biased()), book("attention", 880, 40),
     [State("kv", 20, keys=10, heads=2)], [Read(120, 20)]),
    ("relative memory", both_ways.relative_memory(both_ways.RelativeMemory(11, 3, 6), usual()),
     book("attention", 330, 18, 12) | {"used": 396}, [], [Read(48, 12, both_ways=True)]),
    # half of 3 heads is 6 wide: four of 6 x 12, kernels 15 x 6, depthwise 12 x 5, pointwise 6 x 12, out 12 x 12
    ("spanned", both_ways.spanned(12, 3, 5), book("attention", 288 + 90 + 60 + 72 + 144, 24 + 15 + 6 + 12), [],
     [Read(24, 12, both_ways=True)]),
    ("compressed window", compressed.compressed(C), book("attention", 352, 12), [WINDOW], [NEAR]),
    ("compressed heavy", compressed.compressed(C._replace(rate=4)), book("attention", 352 + 66, 12 + 15),
     [WINDOW, State("kv", 3, 4, keys=3)], [NEAR, Read(48, 3, 4)]),
    # groups overlap: two of each; the indexer has a compressor of its own
    ("compressed sparse", compressed.compressed(C._replace(rate=4, indexer=IX)),
     book("attention", 352 + 132 + 132 + 30 + 22, 12 + 27 + 27),
     [WINDOW, State("kv", 3, 4, keys=3), State("index", 3, 4, width=2), constant(24, 2), constant(24, 4)],
     [NEAR, Read(48, 3, 4, limit=8), Read(12, 3, 4, width=2)]),
    ("sourced window", borrowed.sourced(borrowed.Sourced(C, 0, False, None)), book("attention", 352, 12), [WINDOW],
     [NEAR]),
    ("sourced", borrowed.sourced(borrowed.Sourced(C, 4, True, None, IX, True, True)),
     book("attention", 352 + 66 + 52 + 9, 12 + 3 + 3),
     [WINDOW, State("kv", 3, 4, keys=3), State("index", 3, 4, width=2)],
     [NEAR, Read(48, 3, 4, limit=8), Read(12, 3, 4, width=2)]),
    ("sourced one by one", borrowed.sourced(borrowed.Sourced(C, 1, True, None)), book("attention", 352 + 33, 15),
     [WINDOW, State("kv", 3, 1, keys=3)], [NEAR, Read(48, 3)]),
    ("sourced by two", borrowed.sourced(borrowed.Sourced(C, 2, True, None)), book("attention", 352 + 66, 15),
     [WINDOW, State("kv", 3, 2, keys=3)], [NEAR, Read(48, 3, 2)]),
    ("sourced reader", borrowed.sourced(borrowed.Sourced(C, 4, False, 1, IX)), book("attention", 352, 12), [WINDOW],
     [NEAR, Read(48, 3, 4, limit=8)]),
    ("sourced chooser", borrowed.sourced(borrowed.Sourced(C, 4, False, 1, IX, True)), book("attention", 352 + 52, 12),
     [WINDOW], [NEAR, Read(48, 3, 4, limit=8), Read(12, 3, 4, width=2)]),
    # values in halves of 6; queries and keys 36 wide together, through kernels of 3 and 5
    ("convolved", convolved.convolved(convolved.Convolved(G(12, 4, 2, 6, 6, True), 3, 5)),
     book("attention", 288 + 144 + 288 + 144 + 108 + 1080, 24 + 12 + 12 + 72 + 2),
     [State("kv", 24, keys=12, heads=2), constant(216, 2), constant(6, 2)],
     [Read(96, 24), Read(0, 216, 0, width=2), Read(0, 6, 0, width=2)]),
    ("convolved by one", convolved.convolved(convolved.Convolved(G(12, 4, 2, 6, 6), 1, 1)),
     book("attention", 720 + 144 + 36 + 216, 72 + 2), [State("kv", 24, keys=12, heads=2), constant(6, 2)],
     [Read(96, 24), Read(0, 6, 0, width=2)]),
    ("relative", convolved.relative(REL),
     book("attention", 432 + 240 + 35, 6) | book("recurrent", 72) | {"used": 432 + 240 + 140 + 72}, RELATED, RELREAD),
    ("relative window", convolved.relative(REL._replace(window=9)),
     book("attention", 707, 6) | book("recurrent", 72) | {"used": 884},
     [RELATED[0]._replace(window=9), RELATED[1]], [RELREAD[0]._replace(window=9), RELREAD[1]]),
    # q, k, v, o 432, gate 144, sinks 48, bias 35 and 240; kernels made per token: 2 x 6 x 12
    ("relative gated", convolved.relative_gated(REL, False, 2, 1, 1),
     book("attention", 432 + 144 + 48 + 35 + 240, 12 + 20 + 36) | book("recurrent", 36 + 144, 36)
     | book("norm", 0, 36) | book("other", 4 * 96) | {"used": 899 + 105 + 180 + 384}, RELATED, RELREAD),
    ("relative gated window", convolved.relative_gated(REL._replace(window=9), True, 0, 1, 1),
     book("attention", 899, 32) | book("recurrent", 36 + 36) | book("norm", 0, 12) | {"used": 899 + 105 + 72},
     [RELATED[0]._replace(window=9), RELATED[1]], [RELREAD[0]._replace(window=9), RELREAD[1]]),
    ("relative gated again", convolved.relative_gated(REL, False, 2, 0, 1),
     {"used": 899 + 105 + 180 + 384}, RELATED, RELREAD),
    ("relative gated first round", convolved.relative_gated(REL, False, 2, 1, 0),
     book("attention", 899, 68) | book("recurrent", 180, 36) | book("norm", 0, 36) | book("other", 384)
     | {"used": 899 + 105 + 180}, RELATED, RELREAD),
    ("over source", cross.over_source(usual()), {"attention matmul": 528, "attention source": 176},
     [State("cross", 16, keys=10)], [Read(96, 16, over="source")]),
    ("from width", cross.from_width(usual(), 7), book("attention", 528 + 112), [KV], [LOOKED]),
    ("gated cross", cross.gated_cross(G(12, 4, 2, 3, 3)),
     book("attention", 288, 3 + 3 + 1 + 1) | {"attention source": 144}, [State("cross", 12, keys=6)],
     [Read(48, 12, over="source")]),
    ("merged", cross.merged(usual()), book("attention", 704), [KV, State("cross", 16, keys=10)],
     [LOOKED, Read(96, 16, over="source")]),
    ("gdla", differential.gdla(MOTIF, 2, 1, None), book("attention", 55 + 90 + 60 + 121 + 56 + 22 + 132, 12), [MKV],
     [MREAD]),
    ("gdla window", differential.gdla(MOTIF, 2, 3, 9), book("attention", 536 + 112, 12), [MKV._replace(window=9)],
     [MREAD._replace(window=9)]),
    # each way 2 x 12 x 9
    ("disentangled", disentangled.disentangled(POINTS, twelve()), book("attention", 576, 24, once=288), [],
     [Read(48, 24, both_ways=True), Read(432, 0, 0)]),
    ("disentangled keys", disentangled.disentangled(POINTS._replace(queries=False), twelve()),
     book("attention", 576, 12, once=144), [], [Read(48, 24, both_ways=True), Read(216, 0, 0)]),
    ("disentangled queries", disentangled.disentangled(POINTS._replace(keys=False), twelve()),
     book("attention", 576, 12, once=144), [], [Read(48, 24, both_ways=True), Read(216, 0, 0)]),
    ("disentangled not", disentangled.disentangled(POINTS._replace(keys=False, queries=False), twelve()),
     book("attention", 576), [], [Read(48, 24, both_ways=True)]),
    ("disentangled shared", disentangled.disentangled(POINTS._replace(own=False), twelve()), book("attention", 576), [],
     [Read(48, 24, both_ways=True), Read(432, 0, 0)]),
    ("fused", disentangled.fused(POINTS, twelve(), 4), book("attention", 432 + 32 + 144, 24 + 12, once=288), [],
     [Read(48, 24, both_ways=True), Read(432, 0, 0)]),
    ("fused bare", disentangled.fused(POINTS._replace(keys=False, queries=False), twelve(), 0),
     book("attention", 432 + 144, 24), [], [Read(48, 24, both_ways=True)]),
    ("shared block", reused.attention(SHARED), book("attention", 720 + 288) | book("norm", 0, 24),
     [State("kv", 12, keys=6, heads=2)], [Read(48, 12)]),
    ("shared block again", reused.attention(SHARED._replace(stored=0)), book("attention", 288) | {"used": 1008},
     [State("kv", 12, keys=6, heads=2)], [Read(48, 12)]),
    ("shared block alone", reused.attention(SHARED._replace(attention_rank=0)),
     book("attention", 720) | book("norm", 0, 24), [State("kv", 12, keys=6, heads=2)], [Read(48, 12)]),
    ("again", reused.again(usual()), {"used": 704}, [KV], [LOOKED]),
    ("expert attention", experts.expert_attention(experts.ExpertAttention(11, 2, 3, 4, 2, None)),
     book("attention", 132) | book("router", 44) | book("experts_routed", 528, 11) | {"used": 132 + 44 + 264},
     [State("kv", 12, keys=6, heads=2)], [Read(48, 12)]),
    # 24 wide; columns 24 x 4 x 3
    ("ple", ngram.ple(ngram.Ple(12, 2, 8, 4, 3, 5, 50)),
     book("embedding", 192 + 96, 0, 100) | book("norm", 0, 72) | book("recurrent", 120) | book("buffers", 0, 11),
     [constant(288, 2), constant(2, 8)], [Read(240, 288, 0, width=2)]),
]  # fmt: skip


def test_mixers_that_look_back() -> None:
    """Weights, what each token leaves behind, and what it looks at."""
    for name, found, weights, kept, looked in attending_cases():
        assert (name, counted(found)) == (name, weights)
        assert (name, list(found.states)) == (name, kept)
        assert (name, list(found.reads)) == (name, looked)


MOE = experts.Moe(11, 5, 7, 2, True, "silu")  # router 77, an expert 165: 1,155, two of them 330
MASKED = heads.Masked(20, 11, 5, "none", 7, "layernorm", False, True)
ENDS = ends.Ends(20, 11, False, "lm", 3, "layernorm", True)
BARE = book("embedding", 0, 0, 220) | book("norm", 0, 22)
FUSING = drafting.Fusing("eh_proj", 11)
EAGLE = drafts.Eagle(20, 8, 11, 33, "rmsnorm")
EAGLED = book("embedding", 0, 0, 220) | book("other", 363) | book("norm", 0, 11) | book("unembedding", 88)
W = towers.Weights


def weight_cases() -> list[tuple[str, Any, dict[str, int]]]:
    """Weights of ends, networks and additions."""
    return [
    # beside attention and networks
    ("gate", additions.gate(6, 11, True), book("attention", 66, 6)),
    ("gate bare", additions.gate(6, 11, False), book("attention", 66)),
    ("latent gates", additions.latent_gates({"q": 5, "kv": 7}, 2), book("attention", 2 * (10 + 14))),
    ("gate bias", additions.gate_bias(3), book("attention", 0, 3)),
    ("head gate", additions.head_gate(3, 11), book("attention", 33)),
    ("lambdas", additions.lambdas(5), book("attention", 0, 20)),
    ("dynamic mask", additions.dynamic_mask(2, 5, True), book("attention", 20, 2 + 2)),
    ("dynamic mask bare", additions.dynamic_mask(2, 5, False), book("attention", 20, 2)),
    ("unit scales", additions.unit_scales(6), book("attention", 0, 12)),
    ("relative bias", additions.relative_bias(5, 3), book("attention", 0, 0, 15)),
    ("global projections", additions.global_projections(biased()), book("attention", 550, 50)),
    ("global sums", additions.global_sums(additions.extended(usual(), tuple(additions.relative_bias(5, 3))), 11),
     book("attention", 0, 11, 15)),
    ("value convolution", additions.value_convolution(3, 5), book("attention", 15)),
    ("relative projection", additions.relative_projection(6, 11), book("attention", 66, 6)),
    ("sub norm", additions.attention_sub_norm(11, True), book("attention", 0, 22)),
    ("sub norm bare", additions.attention_sub_norm(11, False), book("attention", 0, 11)),
    ("ffn sub norm", additions.ffn_sub_norm(5, True), book("norm", 0, 10)),
    ("xielu", additions.xielu(), book("ffn_dense", 0, 2) | book("buffers", 0, 2)),
    ("hidden scales", additions.hidden_scales(5), book("ffn_dense", 0, 10)),
    ("delay scale", additions.delay_scale(11, 3), book("ffn_dense", 66)),
    ("shared bias", additions.shared_bias(11, 5, True), book("experts_shared", 0, 21)),
    ("shared bias ungated", additions.shared_bias(11, 5, False), book("experts_shared", 0, 16)),
    ("latent bias", additions.latent_bias(11, 4), book("other", 0, 15)),
    ("latent norms", additions.latent_norms(4), book("norm", 0, 4) | book("experts_routed", 0, 4)),
    ("latent norm", additions.latent_norm(4), book("norm", 0, 4)),
    ("output bias", additions.output_bias(11), book("ffn_dense", 0, 11)),
    ("extended", additions.extended(usual(), tuple(additions.gate_bias(3))), book("attention", 704, 3)),
    ("without", additions.without(biased(), ("v_proj",)), book("attention", 770, 40)),
    ("value experts", additions.value_experts(11, 5, 4, 2, True),
     book("router", 44, 4) | book("experts_routed", 220) | {"used": 44 + 110}),
    ("value experts bare", additions.value_experts(11, 5, 4, 2, False),
     book("router", 44) | book("experts_routed", 220) | {"used": 154}),
    ("polynomial", additions.polynomial(0, 0, False), book("ffn_dense", 0, 4)),
    ("polynomials", additions.polynomial(7, 2, True), book("experts_routed", 0, 28) | book("experts_shared", 0, 4)),
    ("polynomials alone", additions.polynomial(7, 2, False), book("experts_routed", 0, 28)),
    ("image selection", additions.image_selection(7), book("router", 0, 7)),
    ("network scale", additions.network_scale(), book("ffn_dense", 0, 1)),
    ("down bias", additions.down_bias(11), book("ffn_dense", 0, 11)),
    # networks and experts
    ("mlp", feeding.mlp(feeding.Mlp(11, 5, True, True, "silu")), book("ffn_dense", 165, 21)),
    ("mlp plain", feeding.mlp(feeding.Mlp(11, 5, False, False, "silu")), book("ffn_dense", 110)),
    ("matrix", feeding.matrix(11, "x", A), book("attention", 121)),
    ("shared mlp", feeding.shared_mlp(11, 5, "silu"), book("experts_shared", 165)),
    ("adapters", feeding.adapters(11, 3, 4), book("ffn_dense", 264, 56) | {"used": 66}),
    ("moe", experts.moe(MOE), book("router", 77) | book("experts_routed", 1155) | {"used": 407}),
    # around experts of width 4: 11 x 4 twice; an expert 60, its biases 5 + 5 + 4; the shared 3 x 11 x 6
    ("moe full", experts.moe(experts.Moe(11, 5, 7, 2, True, "silu", 6, 2, True, True, True, True, 4)),
     book("router", 77 + 11, 14) | book("other", 88) | book("experts_routed", 420, 98) | book("experts_shared", 198)
     | {"used": 88 + 88 + 120 + 198}),
    ("moe without shared", experts.moe(MOE._replace(n_shared=0, shared_gate=True)),
     book("router", 77) | book("experts_routed", 1155) | {"used": 407}),
    ("with table", experts.with_table(feeding.mlp(feeding.Mlp(11, 5, False, False, "silu")), 20, 2),
     book("ffn_dense", 110) | book("buffers", 0, 0, 40)),
    ("scaled router", experts.with_scaled_router(experts.nothing(), 11, 7),
     book("router", 0, 18) | book("norm", 0, 33)),
    ("shared scores", experts.with_shared_scores(experts.nothing(), MOE._replace(n_shared=2)), book("router", 22, 1)),
    # of 9 choices 2 are taken: 2 x 7 x 55 / 9 = 85.6 of each of three matrices
    ("zero experts", experts.with_zero_experts(experts.moe(MOE), 11, 9, True),
     book("router", 99, 18) | book("experts_routed", 1155) | {"used": 99 + 3 * 86}),
    ("zero experts bare", experts.with_zero_experts(experts.moe(MOE), 11, 9, False),
     book("router", 99, 9) | book("experts_routed", 1155) | {"used": 357}),
    ("for two", experts.for_two(experts.moe(MOE), experts.moe(MOE._replace(shared=6, n_shared=1))),
     book("router", 154) | book("experts_routed", 2310) | {"used": 407}),
    # three layers of 3 and one to 8 classes
    ("routed", experts.routed(experts.Routed(11, 5, 7, 2, 3, True, "silu")),
     book("router", 33 + 9 + 9 + 24, 9 + 3 + 8 + 3) | book("experts_routed", 1155) | {"used": 75 + 330}),
    ("routed first", experts.routed(experts.Routed(11, 5, 7, 2, 3, False, "silu")),
     book("router", 75, 20) | book("experts_routed", 1155) | {"used": 405}),
    ("retrieved", experts.retrieved(11, 5, 16, 2, True, "silu"),
     book("router", 88) | book("experts_routed", 352) | book("experts_shared", 165, 21) | {"used": 88 + 44 + 165}),
    ("attending", convolved.attending_experts(experts.moe(MOE), 12, 3, 1),
     book("router", 77) | book("experts_routed", 1155) | book("attention", 0, 12) | book("norm", 0, 12)
     | book("recurrent", 36) | {"used": 443}),
    ("attending again", convolved.attending_experts(experts.moe(MOE), 12, 3, 0), {"used": 443}),
    ("convolution after", convolved.convolution(12, 3), book("recurrent", 36)),
    ("shared network", reused.network(SHARED),
     book("ffn_dense", 180 + 66, 22) | book("norm", 0, 12) | book("other", 144)),
    ("shared network again", reused.network(SHARED._replace(stored=0, ffn_rank=0)),
     book("other", 144) | {"used": 324}),
    ("shared network bare", reused.network(SHARED._replace(bias=False, ffn_rank=0)),
     book("ffn_dense", 180) | book("norm", 0, 12) | book("other", 144)),
    # streams
    ("connection", streams.connection(11, 2, True, normed=True), book("other", 176, 8 + 3 + 22)),
    ("connection unmixed", streams.connection(11, 2, False), book("other", 88, 4 + 2)),
    ("connection head", streams.connection_head(11, 2), book("other", 44, 3)),
    ("altup", streams.altup(11, 3, 2), book("other", 33 + 27 + 9 + 44, 11) | book("norm", 0, 22) | {"used": 146}),
    ("altup streams", streams.altup_streams(11, 3), book("other", 484)),
    ("no residual", streams.no_residual(), {}),
    ("residual", streams.residual("x", 11), book("other", 11) | book("norm", 0, 11)),
    ("layer input", streams.layer_input(11, 3, True),
     book("buffers", 0, 1) | book("embedding", 66) | book("norm", 0, 11)),
    ("layer input bare", streams.layer_input(11, 0, False), {}),
    ("layer tables", streams.layer_tables(11, 3, 20, 4), book("embedding", 132, 0, 240) | book("norm", 0, 3)),
    ("low rank", streams.low_rank(11, 2, 3, True), book("other", 66 + 66 + 44, 22)),
    ("low rank in", streams.low_rank(11, 2, 3, False), book("other", 132, 22)),
    # norms
    ("norm", norms.norm("n", 11, "layernorm", True), book("norm", 0, 22)),
    ("norm weightless", norms.norm("n", 11, "nonparametric_rmsnorm", True), {}),
    ("norms", norms.norms(("a", "b"), 11, "rmsnorm", False), book("norm", 0, 22)),
    ("vectors", norms.vectors(("a", "b"), 11), book("other", 0, 22)),
    ("within", norms.within(norms.norm("n", 11, "rmsnorm", False), A), book("attention", 0, 11)),
    ("gated norm", norms.gated_norm(11, 3, 2), book("ffn_dense", 132)),
    # ends
    ("ends", ends.ends(ENDS), BARE | book("unembedding", 220)),
    ("ends tied", ends.ends(ENDS._replace(tied=True)), BARE | {"used": 220}),
    ("ends full", ends.ends(ENDS._replace(positions=7, head_bias=True, embedding_norm=True, extra_rows=2)),
     book("embedding", 0, 0, 242 + 77) | book("norm", 0, 44) | book("unembedding", 220, 20)),
    ("ends one position", ends.ends(ENDS._replace(positions=1)), BARE | book("embedding", 0, 0, 231)
     | book("unembedding", 220)),
    ("ends narrow", ends.ends(ENDS._replace(d_embed=5, final_norm=False)),
     book("embedding", 110, 0, 100) | book("unembedding", 100)),
    ("ends headless", ends.ends(ENDS._replace(head="none")), BARE),
    ("ends score", ends.ends(ENDS._replace(head="score")), BARE | book("other", 33)),
    ("ends value", ends.ends(ENDS._replace(head="value")), BARE | book("other", 33)),
    ("ends tokens", ends.ends(ENDS._replace(head="token")), BARE | book("other", 33, 3)),
    ("ends reward", ends.ends(ENDS._replace(head="process_reward")), BARE | book("other", 121 + 33, 11 + 3)),
    ("learned vector", ends.learned_vector("x", 11), book("other", 0, 11)),
    ("beside", ends.beside("x", (ends.Stated("a", "other", "vector", (3, 5)),
                                 ends.Stated("b", "norm", "matmul", (2,)))),
     book("other", 0, 15) | book("norm", 2)),
    ("head rows", ends.with_head_rows(ends.ends(ENDS)[-1], 30, 11), book("unembedding", 330)),
    ("block queries", ends.block_queries(11, 3), book("embedding", 0, 11) | book("attention", 0, 33)),
    ("one block query", ends.block_queries(11, 1), book("embedding", 0, 11) | book("attention", 0, 11)),
    ("no block queries", ends.block_queries(11, 0), book("embedding", 0, 11)),
    # heads of encoders
    ("masked", heads.masked(MASKED), book("unembedding", 100, 40)),
    ("masked one bias", heads.masked(MASKED._replace(two_biases=False)), book("unembedding", 100, 20)),
    ("masked tied", heads.masked(MASKED._replace(tied=True)), book("unembedding", 0, 20) | {"used": 100}),
    ("masked roberta", heads.masked(MASKED._replace(transform="roberta", tied=True)),
     book("unembedding", 121, 11 + 22 + 20) | {"used": 341}),
    ("masked dense", heads.masked(MASKED._replace(transform="bert")),
     book("ffn_dense", 77, 7) | book("norm", 0, 14) | book("unembedding", 140, 40)),
    ("classifier", heads.classifier(3, 11, False, Role.MATMUL), book("other", 33, 3)),
    ("classifier deep", heads.classifier(3, 11, True, Role.ONCE),
     book("ffn_dense", 0, 11, once=121) | book("other", 0, 3, once=33)),
    ("discriminator", heads.discriminator(11), book("ffn_dense", 132, 12)),
    ("order", heads.order(11), book("other", 0, 2, once=22)),
    ("pooler", heads.pooler(11, F), book("ffn_dense", 0, 11, once=121)),
    ("projection", heads.projection(11, 5), book("other", 55, 11)),
    ("matrix head", heads.matrix_head(20, 11), book("unembedding", 220)),
    ("matrix head twice", heads.matrix_head(20, 11, 0, 2), {"used": 440}),
    ("logits bias", heads.logits_bias(20), book("buffers", 0, 20)),
    ("before head", heads.before_head(11, True, True, Role.MATMUL), book("unembedding", 121, 33)),
    ("before head bare", heads.before_head(11, False, False, Role.MATMUL), book("unembedding", 121, 11)),
    ("scores", heads.scores(3, 11, True, Role.MATMUL), book("other", 33, 3)),
    ("scores bare", heads.scores(3, 11, False, Role.ONCE), book("other", once=33)),
    # drafts
    ("joined", drafts.joined(11, 33, "rmsnorm"), book("other", 363) | book("norm", 0, 22)),
    ("markov", drafts.markov(20, 3, 7), book("other", 60 + 7, 1, 60)),
    ("markov alone", drafts.markov(20, 3, None), book("other", 60, 0, 60)),
    ("corrected", drafts.corrected(20, 11, 4, 6), book("other", 132 + 48 + 90 + 120)),
    ("eagle", drafts.eagle(EAGLE), EAGLED | book("buffers", 0, 28)),
    ("eagle full", drafts.eagle(EAGLE._replace(masked=True, normed=3)),
     EAGLED | book("buffers", 0, 28) | book("other", 363, 33) | book("norm", 0, 11 + 33)),
    ("features", drafts.features(20, 11, True), book("embedding", 0, 0, 220) | book("other", 242, 11)),
    ("features bare", drafts.features(20, 11, False), book("embedding", 0, 0, 220) | book("other", 242)),
    ("fusing", drafting.fusing(FUSING), book("mtp", 242, 33)),
    ("fusing input", drafting.fusing(FUSING._replace(style="input_proj")), book("mtp", 242, 22)),
    ("fusing apart", drafting.fusing(FUSING._replace(style="e_h_proj")), book("mtp", 242, 33)),
    ("fusing full", drafting.fusing(FUSING._replace(copied_embedding=20, copied_head=30, streams=2)),
     book("mtp", 242 + 330 + 44, 33 + 3, 220)),
    ("mtp markov", drafting.markov(11, 20, 3), book("mtp", 363, 22 + 14, 120)),
    ("drafting", drafting.drafting(biased()), book("mtp", 880, 50)),
    # outside the stack
    ("drafter", outside.drafter(11, 13, 4, 20), book("other", 286 + 143 + 44) | book("buffers", 0, 0, 20)),
    ("drafter alone", outside.drafter(11, 13, 0, 20), book("other", 429)),
    ("conditioning", outside.conditioning(11, 5, 3),
     book("ffn_dense", 165) | book("norm", 0, 11) | book("buffers", 0, 3)),
    ("codebooks", outside.codebooks(11, 5, 3),
     book("embedding", 0, 0, 165) | book("unembedding", 165) | book("buffers", 0, 3)),
    ("layer scores", outside.scores(11, 3), book("other", 33)),
    ("text table", outside.text_table(11, 20, 5), book("embedding", 25 + 55, 16, 100)),
    ("engram", ngram.engram(12, 2, 50, 3, 4), book("embedding", 432, 0, 150) | book("norm", 0, 48)),
    # tables of 51, 53 and 55 rows of 4
    ("ngrams beside", ngram.beside_tokens(12, 3, 50), book("embedding", 144, 0, 636)),
    ("spectrogram", tables.spectrogram(3, 11), book("other", 0, 22, once=99 + 363)),
    # the first gives 8, of which 4 are left; the last 2 x 11
    ("gated spectrogram", tables.gated_spectrogram((3, 5), 7, 8, 11), book("other", 0, 30, once=168 + 440)),
    ("sounds", tables.sounds_and_shapes({"p": (5, 2), "s": (3, 4)}, 11, 7), book("embedding", 77, 11, 22)),
    ("sounds apart", tables.sounds_and_shapes({"p": (5, 2)}, 11, 0), book("embedding", 0, 0, 10)),
    ("tables", tables.tables({"a": 3, "b": 0}, 11), book("embedding", 0, 0, 33)),
    ("rotary table", tables.rotary_table(5, 4), book("embedding", 0, 0, 20)),
    ("languages", tables.languages(3, 11), book("embedding", 0, 0, 33)),
    ("mask", tables.mask(11), book("other", 0, 11)),
    ("position bias", [tables.position_bias(5, 3)], book("attention", 0, 0, 15)),
    ("shared table", tables.shared_bias(5, 3), book("attention", 0, 0, 15)),
    ("contacts", tables.contacts(4), book("other", 0, 1, once=4)),
    ("stack tables", tables.stack_tables(True, ["encoder"], 5, 11), book("embedding", 0, 0, 110)),
    ("stack tables apart", tables.stack_tables(False, ["encoder"], 5, 11), book("embedding", 0, 0, 55)),
    ("image end", tables.image_end(11), book("embedding", 0, 11)),
    ("positions", [tables.positions("decoder", 5, 11)], book("embedding", 0, 0, 55)),
    ("global tokens", tables.global_tokens(3, 11), book("other", 0, 0, 33)),
    ("predicted", tables.ngrams(3, 11), book("embedding", 0, 0, 33)),
    ("decoder table", [tables.decoder_table(5, 11)], book("embedding", 0, 0, 55)),
    ("prompt tables", tables.prompt_tables(5, 2, 11), book("embedding", 0, 0, 77)),
    ("relative table", disentangled.table(9, 12, True), book("attention", 0, 0, 108) | book("norm", 0, 24)),
    ("relative table bare", disentangled.table(9, 12, False), book("attention", 0, 0, 108)),
    ("convolution beside", disentangled.convolution(12, 3, 2), book("recurrent", 216, 12) | book("norm", 0, 24)),
    # modules of towers
    ("affine", towers.tensors(W("n", "affine", (3, 5), 2)), book("towers", 30, 6) | {"used": 15}),
    ("affine bare", towers.tensors(W("n", "affine", (3, 5), 2, 0)), book("towers", 30) | {"used": 15}),
    ("affine vector", towers.tensors(W("n", "affine", (3,))), book("towers", 0, 6)),
    ("weight", towers.tensors(W("n", "weight", (3, 5))), book("towers", 15)),
    ("tower table", towers.tensors(W("n", "table", (3, 5))), book("towers", 0, 0, 15)),
    ("tensor", towers.tensors(W("n", "tensor", (3,))), book("towers", 0, 3)),
    ("buffer", towers.tensors(W("n", "buffer", (3,))), book("buffers", 0, 3)),
    ("absent", towers.tensors(W("n", "affine", (3, 5), 0)), {}),
    # codes: 3 tables and heads, and a projection where the predictor is narrower
    ("codes around", codes.around(11, 5, 20, 3), book("other", 300 + 55, 5 + 5, 660)),
    ("codes as wide", codes.around(11, 11, 20, 3), book("other", 660, 11, 660)),
    ("codes stack", codes.stack(usual(), feeding.mlp(feeding.Mlp(11, 5, True, False, "silu")), 11, 3, 4),
     book("other", 3 * (704 + 165), 3 * 22) | {"used": 12 * 869}),
]  # fmt: skip


def test_weights_by_component_and_role() -> None:
    """What stands outside of mixers, and in networks."""
    for name, found, weights in weight_cases():
        assert (name, counted(found)) == (name, weights)


def test_what_is_built_says_what_it_is() -> None:
    """Facts of mixers and networks that no weight shows."""
    info = attention.gqa(
        G(11, 6, 2, 5, 3, o_bias=True, sinks=True, window=9, mixer="sliding_attention", rotary_dim=2)
    ).info
    assert info == Mixing(
        Mixer.SLIDING_ATTENTION, "swa", AttentionKind.GQA, 6, 2, 5, 3, 9, "rope", 2, "none", True, True
    )
    assert [attention.kind_of(6, n) for n in (6, 1, 2)] == [AttentionKind.MHA, AttentionKind.MQA, AttentionKind.GQA]
    assert latent.mla(M).info == Mixing(
        Mixer.FULL_ATTENTION, "mla", AttentionKind.MLA, 3, None, 6, 6, None, "rope", 4, "latent", False, latent=7
    )
    nope = latent.mla(M._replace(position="nope")).info
    assert isinstance(nope, Mixing)
    assert nope.rotary_dim is None
    far = latent.with_additions(latent.mla(M), latent.Additions(11, 3, 4, window=9, sinks=True, key_norm=True)).info
    assert isinstance(far, Mixing)
    assert (far.mixer, far.window, far.has_sinks, far.qk_norm) == (Mixer.SLIDING_ATTENTION, 9, True, "key")
    both = both_ways.both_ways(usual()).info
    assert isinstance(both, Mixing)
    assert both.mask is Mask.BIDIRECTIONAL
    over = cross.over_source(usual()).info
    assert isinstance(over, Mixing)
    assert (over.mixer, over.position, over.rotary_dim) == (Mixer.CROSS_ATTENTION, "nope", None)
    for s, mixer, label in ((C, "sliding_attention", "swa"), (C._replace(rate=4), "compressed_attention", "hca"),
                            (C._replace(rate=4, indexer=IX), "compressed_attention", "csa")):  # fmt: skip
        said = compressed.compressed(s).info
        assert isinstance(said, Mixing)
        assert (said.mixer, said.label, said.has_sinks, said.n_kv_heads) == (mixer, label, True, 1)
    for s, mixer in ((borrowed.Sourced(C, 0, False, None), "sliding_attention"),
                     (borrowed.Sourced(C, 4, False, 1), "compressed_attention")):  # fmt: skip
        said = borrowed.sourced(s).info
        assert isinstance(said, Mixing)
        assert (said.mixer, said.has_sinks, said.shared_from) == (mixer, True, s.source)
    for found, mixer in ((sparse.dsa(sparse.Dsa(M, IX)), Mixer.SPARSE_ATTENTION),
                         (sparse.scaled(M, IX, True), Mixer.SPARSE_ATTENTION),
                         (sparse.block_sparse(usual(), sparse.Blocks(11, 2, 3, 32)), Mixer.SPARSE_ATTENTION),
                         (convolved.short_conv(11, 3, True), Mixer.CONV),
                         (differential.gdla(MOTIF, 2, 1, None), Mixer.FULL_ATTENTION),
                         (differential.gdla(MOTIF, 2, 1, 9), Mixer.SLIDING_ATTENTION),
                         (both_ways.spanned(12, 3, 5), Mixer.FULL_ATTENTION)):  # fmt: skip
        assert isinstance(found.info, Mixing)
        assert found.info.mixer is mixer
    for name, found, *_ in recurrent_cases():
        if isinstance(found.info, Mixing) and not name.startswith("short"):
            state = Mixer.SSM if name.startswith(("mamba", "headed")) else Mixer.LINEAR_ATTENTION
            assert found.info.mixer is state, name
    assert attention.reading_target(attention.gqa(G(11, 6, 2, 5, 3, shared_from=0))).info is not None
    said = reused.attention(SHARED).info
    plain = reused.attention(SHARED._replace(rotary=False)).info
    assert isinstance(said, Mixing)
    assert isinstance(plain, Mixing)
    assert (said.mixer, said.position, said.rotary_dim) == (Mixer.FULL_ATTENTION, "rope", 3)
    assert (plain.position, plain.rotary_dim) == ("nope", None)
    gated = convolved.relative_gated(REL, False, 2, 1, 1).info
    assert isinstance(gated, Mixing)
    assert (gated.qk_norm, gated.has_sinks, gated.position) == ("each", True, "relative")
    network = experts.moe(experts.Moe(11, 5, 7, 2, True, "silu", 6, 2)).info
    assert isinstance(network, Feeding)
    assert (network.n_routed, network.n_shared, network.top_k, network.d_ff, network.is_gated) == (7, 2, 2, 5, True)
    for found, shared in ((experts.routed(experts.Routed(11, 5, 7, 2, 3, True, "silu")), (7, 0, 2, 5)),
                          (experts.retrieved(11, 5, 16, 2, True, "silu"), (16, 1, 2, 1))):  # fmt: skip
        assert isinstance(found.info, Feeding)
        assert (found.info.n_routed, found.info.n_shared, found.info.top_k, found.info.d_ff) == shared
        assert found.info.is_gated
    for found, gates in ((recurrent.channel_mix(11, 23), True), (rwkv7.token_mix(11, 23), False),
                         (feeding.shared_mlp(11, 5, "silu"), True), (reused.network(SHARED), True)):  # fmt: skip
        assert isinstance(found.info, Feeding)
        assert found.info.is_gated is gates
    assert feeding.matrix(11, "x", A).info is None
    square = feeding.matrix(11, "x", F).info
    assert isinstance(square, Feeding)
    assert not square.is_gated


def test_scalars_that_do_not_fit_are_refused() -> None:
    """Heads that do not divide, more experts a token than there are, an indexer without a latent of queries."""
    for wrong in (
        lambda: attention.kind_of(6, 4),
        lambda: selective.headed_mamba(selective.HeadedMamba(11, 22, 3, 7, 3, 5, True, True)),
        lambda: compressed.projections(C._replace(groups=5)),
        lambda: sparse.dsa(sparse.Dsa(M._replace(q_rank=None), IX)),
        lambda: experts.moe(MOE._replace(top_k=8)),
        lambda: experts.expert_attention(experts.ExpertAttention(11, 2, 3, 4, 5, None)),
    ):
        with pytest.raises(Refused):
            wrong()
    assert counted(experts.moe(MOE._replace(top_k=7))) == book("router", 77) | book("experts_routed", 1155)
    all_of_them = experts.expert_attention(experts.ExpertAttention(11, 2, 3, 4, 4, None))
    assert counted(all_of_them)["experts_routed matmul"] == 528


def test_primes_are_the_first_from_a_number_on() -> None:
    """From 8: 11, 13, 17; from 0: 2, 3, 5; from 9: 11, since 9 is 3 x 3."""
    assert ngram.primes_from(8, 3) == (11, 13, 17)
    assert ngram.primes_from(0, 4) == (2, 3, 5, 7)
    assert ngram.primes_from(9, 1) == (11,)
    assert ngram.primes_from(25, 1) == (29,)


def test_what_a_token_of_ngrams_looks_up() -> None:
    """One row per head of hashes, one per codebook, one of each table beside."""
    looked = {
        t.name: t.touched for t in tensors([ngram.ple(ngram.Ple(12, 2, 8, 4, 3, 5, 50)), outside.codebooks(11, 5, 3)])
    }
    assert looked["ple.ple_embedding.ngram_embedding.weight"] == 4
    assert looked["audio_embeddings.weight"] == 3
    assert [t.touched for t in ngram.engram(12, 2, 50, 3, 4).tensors] == [4, 1, 1, 1]
    assert {t.touched for t in ngram.beside_tokens(12, 3, 50).tensors} == {1}
    assert outside.scores(11, 3).tensors[0].touched == 3
    assert [(t.stored, t.touched) for t in additions.polynomial(7, 2, True)] == [(7, 2)] * 2 + [(1, 1)] * 2


def test_roles_beside_a_source() -> None:
    """An encoder's products are the source's; a decoder alone passes cross-attention by; streams multiply products."""
    one = (Run(1, (layer((usual(), feeding.mlp(feeding.Mlp(11, 5, True, True, "silu")))),)),)
    (encoder,) = sourced.encoders(one)
    parts = encoder.layers[0].parts
    assert encoder.stack == "encoder"
    assert counted(parts) == {"attention source": 704, "ffn_dense source": 165, "ffn_dense vector": 21}
    assert [r.over for p in parts for r in p.reads] == ["encoder"]
    both = (Run(1, (layer((usual(), cross.over_source(usual()))), layer((usual(),)))),)
    first, second = sourced.alone(both)[0].layers
    assert counted(first.parts) == {"attention matmul": 704, "attention beside": 528, "attention source": 176}
    assert counted(second.parts) == book("attention", 704)
    apart = layer((cross.over_source(usual()), feeding.mlp(feeding.Mlp(11, 5, False, False, "silu"))))
    assert counted(sourced.alone((Run(1, (apart,)),))[0].layers[0].parts) == {
        "attention beside": 528, "attention source": 176, "ffn_dense beside": 110
    }  # fmt: skip
    (thrice,) = sourced.streams((Run(1, (layer((biased(),)),)),), 3)
    assert counted(thrice.layers[0].parts) == book("attention", 880, 50) | {"used": 2640}
    assert thrice.layers[0].parts[0].reads == (Read(360, 20),)
    assert both_ways.looking_both_ways(layer((usual(), recurrent.rwkv(11, 6)))).parts[0].reads[0].both_ways
    assert both_ways.looking_both_ways(layer((usual(), recurrent.rwkv(11, 6)))).parts[1].states


def test_what_a_draft_keeps_is_told_apart() -> None:
    """A drafting layer's cache is no state of the model's."""
    found = drafting.drafting(biased())
    assert (found.states, found.drafted) == ((), biased().states)
    assert [t.component for t in found.tensors] == [Component.MTP] * len(biased().tensors)


def test_a_tower_is_a_run_of_equal_layers() -> None:
    """Three layers of two modules."""
    found = towers.run("x", 3, (W("a", "affine", (3, 5)), W("b", "weight", (2, 2))))
    assert (found.repeats, counted(found.layers[0].parts)) == (3, book("towers", 15 + 4, 3))


def test_words_and_names_of_parts() -> None:
    """The short words of layer patterns, widths of heads, and names by which checkpoints call what is stated."""
    labels = {
        "csa": borrowed.sourced(borrowed.Sourced(C, 4, False, 1)),
        "swa": borrowed.sourced(borrowed.Sourced(C, 0, False, None)),
        "gdla": differential.gdla(MOTIF, 2, 1, None), "gdla-swa": differential.gdla(MOTIF, 2, 1, 9),
        "dsa": sparse.dsa(sparse.Dsa(M, IX)), "dsa-shared": sparse.dsa(sparse.Dsa(M, IX, False)),
    }  # fmt: skip
    for label, found in labels.items():
        assert isinstance(found.info, Mixing)
        assert found.info.label == label
        assert (found.info.head_dim, found.info.n_kv_heads) in ((6, None), (3, 1))
    for own, label in ((True, "dsa"), (False, "dsa-shared")):
        said = sparse.scaled(M, IX, own).info
        assert isinstance(said, Mixing)
        assert said.label == label
    spanned = both_ways.spanned(12, 3, 5).info
    assert isinstance(spanned, Mixing)
    assert (spanned.has_bias, spanned.mask, spanned.head_dim) == (True, Mask.BIDIRECTIONAL, 2)
    for window, mixer in ((None, Mixer.FULL_ATTENTION), (9, Mixer.SLIDING_ATTENTION)):
        said = convolved.relative(REL._replace(window=window)).info
        assert isinstance(said, Mixing)
        assert said.mixer is mixer
    names = {style: [t.name for t in drafting.fusing(FUSING._replace(style=style)).tensors if len(t.shape) == 2]
             for style in ("eh_proj", "input_proj", "e_h_proj")}  # fmt: skip
    assert names == {
        "eh_proj": ["eh_proj.weight"], "input_proj": ["input_proj.weight"],
        "e_h_proj": ["e_proj.weight", "h_proj.weight"],
    }  # fmt: skip
    towered = [
        t.name for k in ("affine", "weight", "table", "tensor", "buffer") for t in towers.tensors(W("n", k, (3, 5)))
    ]
    assert towered == ["n.weight", "n.bias", "n.weight", "n.weight", "n", "n"]
    assert towers.tensors(W("n", "affine", (3, 5)))[0].stored == 1
    images = experts.for_two(experts.moe(MOE), experts.moe(MOE)).tensors
    assert next(t.name for t in images if "vision" in t.name) == "mlp.vision_moe.gate.weight"
    rank = latent.with_additions(latent.mla(M), latent.Additions(11, 3, 4, joint=20)).tensors[-1]
    assert (rank.name, rank.shape) == ("self_attn.q_gate_proj.weight", (20, 10))
    assert [t.stored for t in feeding.adapters(11, 3, 4).tensors] == [4] * 4
    assert {t.touched for t in feeding.adapters(11, 3, 4).tensors} == {1}
