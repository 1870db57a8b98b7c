"""Inkling: attention with learned relative positions and short convolutions on keys, values and outputs.

Three generations of it.

The second gates outputs, has a sink per head and token, and lets every sublayer attend over the results of earlier
blocks of layers: a mixing of residual streams, whose queries are booked as vectors. The third runs its middle layers
several times, with messages from one round to the next: weights stand in the first round (the word carries the round,
`hybrid:2`), caches in every round.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Part, Read, State, Tensor, part
from atlas.parts.attention import Gqa, gqa
from atlas.parts.ends import decoder
from atlas.parts.ffn import Moe, activation, moe
from atlas.parts.recurrent import FP32
from atlas.reading.config import Config, View
from schemas.vocabulary import Component, Role

A, E, N = Component.ATTENTION, Component.EMBEDDING, Component.NORM
OTHER, R, T = Component.OTHER, Component.RECURRENT, Component.ROUTER


class Ink(NamedTuple):
    """Scalars of one attention: heads, width of relative features and their reach, convolution columns, window."""

    d: int
    heads: int
    kv_heads: int
    head_dim: int
    features: int
    reach: int
    kernel: int
    window: int | None


def _base(s: Ink, qk_norm: str) -> Part:
    mixer = "full_attention" if s.window is None else "sliding_attention"
    scalars = Gqa(
        s.d,
        s.heads,
        s.kv_heads,
        s.head_dim,
        s.head_dim,
        qk_norm=qk_norm,
        mixer=mixer,
        window=s.window,
        position="relative",
    )
    return gqa(scalars)


def _kept(s: Ink, base: Part) -> tuple[tuple[State, ...], tuple[Read, ...]]:
    """The cache, and the columns of the convolutions of keys, values, attention's and the network's output, in fp32."""
    columns = 2 * (s.kv_heads * s.head_dim + s.d) * s.kernel
    return (*base.states, State("constant", columns, 0, width=FP32)), (*base.reads, Read(0, columns, 0, width=FP32))


@lru_cache(maxsize=512)
def first(s: Ink) -> Part:
    """Attention of the first generation."""
    base, wide = _base(s, "head"), s.kv_heads * s.head_dim
    made = [
        Tensor("self_attn.r_proj.weight", (s.heads * s.features, s.d), A),
        Tensor("self_attn.rel_logits_proj.proj", (s.features, s.reach), A, touched=s.heads),
        Tensor("self_attn.k_sconv.conv1d.weight", (wide, 1, s.kernel), R),
        Tensor("self_attn.v_sconv.conv1d.weight", (wide, 1, s.kernel), R),
        Tensor("attn_sconv.conv1d.weight", (s.d, 1, s.kernel), R),
    ]
    states, reads = _kept(s, base)
    return part("attention.relative", (*base.tensors, *made), states, reads, base.info)


@lru_cache(maxsize=512)
def second(s: Ink, leads: bool, rank: int, stored: int, again: int) -> Part:
    """Attention of the later generations.

    `leads` in the first layer, `rank` of the message gates, used from the second round on.
    """
    base, wide, full = _base(s, "none"), s.kv_heads * s.head_dim, s.window is None
    kept = [t for t in base.tensors if not t.name.endswith("_norm.weight")]
    made = [
        Tensor("self_attn.q_proj.norm.weight", (s.heads, s.head_dim), A, Role.VECTOR),
        Tensor("self_attn.o_proj.gate_proj.weight", (s.heads * s.head_dim, s.d), A),
        Tensor("self_attn.sink_proj.weight", (s.heads, s.d), A),
        Tensor("self_attn.relative_position_bias.bias", (s.features, s.reach), A, touched=s.heads),
        Tensor("self_attn.relative_position_bias.linear.weight", (s.heads * s.features, s.d), A),
        Tensor("self_attn.relative_position_bias.norm.weight", (s.heads, s.features), A, Role.VECTOR),
        Tensor("post_attention_convolution.conv1d.weight", (s.d, 1, s.kernel), R),
    ]
    for x in "kv":
        # a full layer computes its kernels from the token and adds these to them: they multiply nothing themselves
        role = Role.VECTOR if full else Role.MATMUL
        made.append(Tensor(f"self_attn.{x}_proj.sconv.weight", (s.kernel, wide), R, role))
        made += [Tensor(f"self_attn.{x}_proj.sconv.weight_proj.weight", (s.kv_heads * s.kernel, s.d), R)] * full
    made += [Tensor("attention_input.query", (3 if full else 1, s.d), A, Role.VECTOR)] * (not leads)
    made += [Tensor(f"input_layernorm.{i}.weight", (s.d,), N, Role.VECTOR) for i in range(3 if full else 1)]
    gates = [t for x in ("q", "k", "v", "mlp") for t in _message_gate(x, s.d, rank)] if rank else []
    tensors = [t._replace(stored=stored) for t in (*kept, *made)] + [
        t._replace(stored=stored, touched=again) for t in gates
    ]
    states, reads = _kept(s, base)
    assert base.info is not None  # noqa: S101 - attention says what it is
    info = base.info._replace(qk_norm="each", has_sinks=True)
    return part("attention.relative_gated", tensors, states, reads, info)


def _message_gate(x: str, d: int, rank: int) -> list[Tensor]:
    shapes = {"down_proj": (rank, 2 * d), "forget_gate_proj": (d, rank), "message_gate_proj": (d, rank)}
    return [Tensor(f"{x}_message_gate.{n}.weight", shape, OTHER) for n, shape in shapes.items()]


def _scalars(v: View) -> Ink:
    """Windowed layers have heads of their own, and relative positions reach as far as the window."""
    key = f"ink {v.text('mixer')}"
    found = v.config.shared.get(key)
    if found is None:
        found = v.config.shared[key] = _ink(v, windowed=key == "ink sliding_attention")
    return found


def _ink(v: View, *, windowed: bool) -> Ink:
    names = (
        ("swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim")
        if windowed
        else ("num_attention_heads", "num_key_value_heads", "head_dim")
    )
    heads, kv, width = (v.count(n) for n in names)
    window = v.count("sliding_window_size") if windowed else None
    return Ink(
        v.count("hidden_size"),
        heads,
        kv,
        width,
        v.count("d_rel"),
        window or v.count("rel_extent"),
        v.count("conv_kernel_size"),
        window,
    )


def read_first(v: View) -> Part:
    """Attention of the first generation as the config states it."""
    return first(_scalars(v))


def _round(v: View) -> tuple[str, int]:
    """What the word says beside the kind of layer: first (`lead`), and which round of a loop (0: none)."""
    _, place, number = v.part_word.split(":")
    return place, int(number)


def read_second(v: View) -> Part:
    """Attention of the later generations as the config states it, its gates booked from the second round on."""
    place, number = _round(v)
    rank = v.count("loop_gate_rank") if number else 0
    return second(_scalars(v), place == "lead", rank, int(number < 2), 0 if number == 2 else 1)


@lru_cache(maxsize=256)
def _network(experts: Part, d: int, kernel: int, stored: int) -> Part:
    made = [
        Tensor("mlp_input.query", (1, d), A, Role.VECTOR),
        Tensor("post_attention_layernorm.weight", (d,), N, Role.VECTOR),
        Tensor("post_mlp_convolution.conv1d.weight", (d, 1, kernel), R),
    ]
    tensors = [t._replace(stored=t.stored * stored) for t in (*experts.tensors, *made)]
    return part("ffn.moe_attending", tensors, experts.states, experts.reads, experts.info)


def read_second_network(v: View) -> Part:
    """Experts of the later generations, with what stands before and after them."""
    scalars = Moe(
        v.count("hidden_size"),
        v.count("moe_intermediate_size"),
        v.count("num_experts"),
        v.count("num_experts_per_tok"),
        True,
        activation(v),
        correction_bias=True,
    )
    return _network(moe(scalars), scalars.d, v.count("conv_kernel_size"), int(int(v.part_word.partition(":")[2]) < 2))


@lru_cache(maxsize=256)
def _with_shared_scores(experts: Part, s: Moe) -> Part:
    """The router scores the shared experts too, and scales all of them."""
    more = [
        Tensor("mlp.gate.weight_shared", (s.n_shared, s.d), T),
        Tensor("mlp.gate.global_scale", (1,), T, Role.VECTOR),
    ]
    return part("ffn.moe_scored", (*experts.tensors, *more), experts.states, experts.reads, experts.info)


def read_first_experts(v: View) -> Part:
    """Experts of the first generation, as the config states them."""
    n, width = v.count("n_shared_experts"), v.count("moe_intermediate_size")
    scalars = Moe(
        v.count("hidden_size"),
        width,
        v.count("num_experts"),
        v.count("num_experts_per_tok"),
        True,
        activation(v),
        n * width,
        n,
        correction_bias=True,
    )
    return _with_shared_scores(moe(scalars), scalars)


@lru_cache(maxsize=64)
def convolution(d: int, kernel: int) -> Part:
    """The convolution after a network of the first generation; its columns are kept with attention's."""
    return part("conv.after", [Tensor("mlp_sconv.conv1d.weight", (d, 1, kernel), R)])


def read_convolution(v: View) -> Part:
    """The convolution as the config states it."""
    return convolution(v.count("hidden_size"), v.count("conv_kernel_size"))


def inkling_ends(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """A decoder's ends: a norm in the embedding, a head without padding rows, the queries of the last blocks."""
    parts, cls = decoder(c)
    d, rows = c.count("hidden_size"), c.opt_count("unpadded_vocab_size")
    if rows is not None and c.flag("head_is_unpadded"):
        parts = tuple(_unpadded(p, rows, d) for p in parts)
    loops = c.opt_count("loop_layer_index_end")
    messages = 4 * (loops - c.size("loop_layer_index_start")) if loops is not None else 0
    return (*parts, _queries(d, 1 + messages if c.flag("attends_blocks") else 0)), cls


@lru_cache(maxsize=64)
def _unpadded(p: Part, rows: int, d: int) -> Part:
    made = [t._replace(shape=(rows, d)) if t.name == "lm_head.weight" else t for t in p.tensors]
    return part(p.kind, made, p.states, p.reads, p.info)


@lru_cache(maxsize=64)
def _queries(d: int, n: int) -> Part:
    made = [Tensor("model.embed_tokens.norm.weight", (d,), E, Role.VECTOR)]
    made += [Tensor("model.final_and_message_input.query", (n, d), A, Role.VECTOR)] * (n > 0)
    return part("ends.queries", made)
