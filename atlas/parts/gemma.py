"""Gemma 3n and Gemma 4: geometry, width of the network and embedding of every layer's own.

The shape of a layer stands in its word (`atlas/layouts/shared_caches.py`). Per-layer embeddings are looked up once
per token and added in every layer behind a gate; they are part of the embedding, not of the layers' networks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from atlas.numbers.structure import Part, Tensor, part
from atlas.parts.attention import Gqa, gqa
from atlas.parts.ends import decoder, norm
from atlas.parts.ffn import Mlp, Moe, activation, mlp, moe
from atlas.reading.config import Config, View, mapping
from atlas.refusal import bad_value
from schemas.vocabulary import Component, Role

E, N, R = Component.EMBEDDING, Component.NORM, Component.ROUTER
NOTHING = part("none", [])


def _stated(v: View) -> tuple[int | None, int, int]:
    """The layer whose cache is read, the width of heads and the KV heads, as the word gives them."""
    _, source, *geometry = v.part_word.split(":")
    width, kv = geometry or (v.count("head_dim"), v.count("num_key_value_heads"))
    return int(source) if source else None, int(width), int(kv)


def read_attention(v: View) -> Part:
    """Attention of the layer's own geometry; full layers may take values from keys, and then store no V projection."""
    source, width, kv = _stated(v)
    mixer = v.text("mixer")
    window = None if mixer == "full_attention" else v.count("window")
    made = gqa(
        Gqa(
            v.count("hidden_size"),
            v.count("num_attention_heads"),
            kv,
            width,
            width,
            v.flag("qkv_bias"),
            v.flag("o_bias"),
            "head",
            mixer=mixer,
            window=window,
            position="rope",
            rotary_dim=rotated(v, width, mixer),
            shared_from=source,
        )
    )
    return _without_v(made) if window is None and v.opt("attention_k_eq_v") is True else made


@lru_cache(maxsize=1024)
def _without_v(p: Part) -> Part:
    """Values are the keys, normed in another way and not rotated: both are kept, one projection makes them."""
    kept = tuple(t for t in p.tensors if ".v_proj." not in t.name)
    return part("attention.gqa_values_from_keys", kept, p.states, p.reads, p.info)


def rotated(v: View, width: int, mixer: str) -> int:
    """Dimensions that RoPE turns: the share that rope_parameters states for this kind of layer, else all."""
    table = v.opt("rope_parameters")
    own = None if table is None else mapping("rope_parameters", table).get(mixer)
    share = 1.0 if own is None else mapping("rope_parameters", own).get("partial_rotary_factor", 1.0)
    if type(share) not in (int, float) or not 0 <= share <= 1:
        raise bad_value("partial_rotary_factor", share, "between 0 and 1")
    return int(width * share)


def read_wide_mlp(v: View) -> Part:
    """The layer's network, of the width its word gives."""
    width = int(v.part_word.partition(":")[2])
    return mlp(Mlp(v.count("hidden_size"), width, v.flag("is_gated_ffn"), v.flag("ffn_bias"), activation(v)))


def read_experts(v: View) -> Part:
    """Experts beside the layer's network, where `enable_moe_block` is true.

    With three norms of their own and a scaled router.
    """
    if not v.flag("enable_moe_block"):
        return NOTHING
    scalars = Moe(
        v.count("hidden_size"),
        v.count("moe_intermediate_size"),
        v.count("num_experts"),
        v.count("num_experts_per_tok"),
        True,
        activation(v),
    )
    return _scaled(moe(scalars), scalars.d, scalars.experts)


@lru_cache(maxsize=256)
def _scaled(p: Part, d: int, experts: int) -> Part:
    more = [Tensor("router.scale", (d,), R, Role.VECTOR), Tensor("router.per_expert_scale", (experts,), R, Role.VECTOR)]
    names = ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")
    norms = [Tensor(f"{n}.weight", (d,), N, Role.VECTOR) for n in names]
    return part("ffn.moe_beside", (*p.tensors, *more, *norms), p.states, p.reads, p.info)


def read_per_layer_input(v: View) -> Part:
    """Gate, projection and norm of the layer's own embedding, where it has a width.

    And the layer's scale, where the family stores one.
    """
    width = v.size("hidden_size_per_layer_input")
    return _input(v.count("hidden_size"), width, v.flag("layer_scalar"))


@lru_cache(maxsize=256)
def _input(d: int, width: int, scalar: bool) -> Part:
    made = [Tensor("layer_scalar", (1,), Component.BUFFERS, Role.VECTOR)] * scalar
    if width:
        made += [
            Tensor("per_layer_input_gate.weight", (width, d), E),
            Tensor("per_layer_projection.weight", (d, width), E),
            Tensor("post_per_layer_input_norm.weight", (d,), N, Role.VECTOR),
        ]
    return part("embedding.per_layer", made)


@lru_cache(maxsize=256)
def _tables(d: int, width: int, vocab: int, layers: int) -> tuple[Part, ...]:
    made = [
        Tensor("model.embed_tokens_per_layer.weight", (vocab, layers * width), E, Role.LOOKUP),
        Tensor("model.per_layer_model_projection.weight", (layers * width, d), E),
    ]
    return part("embedding.tables", made), norm("model.per_layer_projection_norm", width, "rmsnorm", False)


def per_layer_ends(c: Config) -> tuple[tuple[Part, ...], str | None]:
    """A decoder's ends, and the embeddings of the layers where they have a width."""
    parts, cls = decoder(c)
    width = c.size("hidden_size_per_layer_input")
    if width:
        parts += _tables(
            c.count("hidden_size"), width, c.count("vocab_size_per_layer_input"), c.count("num_hidden_layers")
        )
    return parts, cls


MIXERS: dict[str, Callable[[View], Part]] = {"gemma_attention": read_attention}
FFNS: dict[str, Callable[[View], Part]] = {
    "wide_mlp": read_wide_mlp,
    "experts_beside": read_experts,
    "per_layer_input": read_per_layer_input,
}
