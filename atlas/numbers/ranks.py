"""What one GPU of several holds: how tensor, expert and pipeline parallelism share out weights and caches.

The rules are those of the serving engines, read in vLLM 0.24.0 (`model_executor/layers/linear.py`,
`layers/vocab_parallel_embedding.py`, `layers/mamba/mamba_utils.py`, `distributed/utils.py`): query heads and inner
widths must divide; KV heads fewer than the ranks are copied; a latent, its projections, norms and routers stand on
every rank; a recurrent layer's B and C groups are repeated until the ranks divide them; vocabulary rows are dealt
out. A part whose split is not described here gives no number, and says its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from atlas.numbers.caches import Cache
from atlas.numbers.structure import Feeding, Layer, Mixing, Model, Part, Tensor
from schemas.vocabulary import APART, Component, Role


class Split(NamedTuple):
    """Degrees: `tp` ranks share each layer, `pp` stages share the layers, `ep` ranks share the experts.

    With `dp` above 1, attention and its cache are shared by tp / dp ranks only, each such group with sequences of its
    own.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1

    @property
    def attention_tp(self) -> int:
        """Ranks that share one attention layer."""
        return max(1, self.tp // self.dp)


class Undescribed(Exception):
    """How a part is shared out is not described; the message is why."""


def heads_on_rank(heads: int, tp: int) -> int:
    """KV heads of one rank, at least one: fewer heads than ranks are copied."""
    return max(1, ceil(heads / tp))


Held = Callable[[Tensor, Part, Split], float]
"""Elements of one tensor's copy on the fullest rank."""


def _share(n: int, whole: int, tp: int) -> float:
    """`n` elements that run along an axis of `whole` slices, dealt out in whole slices."""
    return n * ceil(whole / tp) / whole


def _attention(t: Tensor, p: Part, s: Split) -> float:
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention says what it is
    name, tp = t.name.partition(".")[2], s.attention_tp
    if "indexer" in name or name == "o_proj.bias" or (t.role is Role.VECTOR and "norm" in name and len(t.shape) == 1):
        return t.elements
    kv = p.info.n_kv_heads
    if name.startswith(("k_", "v_")) and kv:
        return t.elements * heads_on_rank(kv, tp) / kv
    return _share(t.elements, p.info.n_q_heads or 1, tp)


_LATENT = ("q_a_", "kv_a_", "indexer.")


def _mla(t: Tensor, p: Part, s: Split) -> float:
    assert isinstance(p.info, Mixing)  # noqa: S101 - attention says what it is
    name = t.name.partition(".")[2]
    if name.startswith(_LATENT) or name == "o_proj.bias" or "norm" in name:
        return t.elements
    return _share(t.elements, p.info.n_q_heads or 1, s.attention_tp)


def _network(t: Tensor, p: Part, s: Split) -> float:
    assert isinstance(p.info, Feeding)  # noqa: S101 - a network says what it is
    if t.component is Component.EXPERTS_ROUTED:
        return _expert(t, p.info, s)
    down_bias = t.role is Role.VECTOR and "down_proj" in t.name
    if t.component in (Component.ROUTER, Component.OTHER) or "_latent_proj" in t.name or down_bias:
        return t.elements
    inner = t.shape[1] if "down_proj" in t.name else t.shape[0]
    return _share(t.elements, inner, s.tp)


def _expert(t: Tensor, f: Feeding, s: Split) -> float:
    """One expert's share, times the experts of the rank: whole ones under expert parallelism."""
    each = max(1, s.tp // s.ep)
    vector = t.role is Role.VECTOR and "down_proj" in t.name
    width = t.elements if vector else _share(t.elements, f.d_ff, each)
    return width * ceil((f.n_routed or 1) / s.ep) / (f.n_routed or 1)


def _evenly(t: Tensor, p: Part, s: Split) -> float:
    """Recurrent layers whose channels and heads divide: all but norms of one head's width."""
    copied = ("f_a_", "g_a_", "o_norm", "norm.weight") if p.kind != "ssm.mamba2" else ()
    if t.name.partition(".")[2].startswith(copied):
        return t.elements
    return t.elements / s.attention_tp


def _mamba2(t: Tensor, p: Part, s: Split) -> float:
    """Rows of B and C go with the groups, which are repeated where the ranks do not divide them."""
    if t.name.split(".")[1] not in ("in_proj", "conv1d"):
        return t.elements if t.name.endswith("out_proj.bias") else t.elements / s.attention_tp
    conv = next(x for x in p.states if x.channels is not None)
    grouped = grouped_on_rank(conv.groups or 1, conv.grouped, s.attention_tp)
    return t.elements / t.shape[0] * ((t.shape[0] - conv.grouped) / s.attention_tp + grouped)


def grouped_on_rank(groups: int, grouped: int, tp: int) -> float:
    """Channels of B and C on one rank: repeated groups make every rank hold at least one."""
    whole = groups if groups % tp == 0 else max(groups, tp)
    return grouped / groups * whole / tp


def _ends(t: Tensor, _: Part, s: Split) -> float:
    """Vocabulary rows are dealt out; positions, projections and other heads are copied."""
    rows = "embed_tokens" in t.name or t.name.startswith("lm_head") or ".head." in t.name
    return _share(t.elements, t.shape[0], s.tp) if rows else t.elements


def _whole(t: Tensor, _: Part, __: Split) -> float:
    return t.elements


DESCRIBED: dict[str, Held] = {
    "attention.gqa": _attention,
    "attention.gqa_gated": _attention,
    "attention.gqa_values_from_keys": _attention,
    "attention.block_sparse": _attention,
    "attention.mla": _mla,
    "attention.dsa": _mla,
    "attention.dsa_scaled": _mla,
    "ffn.dense": _network,
    "ffn.moe": _network,
    "ssm.mamba2": _mamba2,
    "linear.gated_delta": _evenly,
    "linear.kda": _evenly,
    "conv.short": _evenly,
    "embedding": _ends,
    "head": _ends,
    "mtp.fusing": _ends,
    "norm": _whole,
    "vector": _whole,
    "buffers": _whole,
    "scales": _whole,
}
"""Parts whose split is known, by kind."""


def part_on_rank(p: Part, s: Split) -> float:
    """Stored weights of a part on the fullest rank, those apart left out; raises `Undescribed`."""
    kind = p.kind.removeprefix("mtp.") if p.kind != "mtp.fusing" else p.kind
    held = [t for t in p.tensors if t.stored and t.component not in APART]
    if s == Split() or not held:
        return sum(t.stored * t.elements for t in held)
    if kind not in DESCRIBED:
        raise Undescribed(f"how {kind} is shared out among ranks is not described")
    return sum(t.stored * DESCRIBED[kind](t, p, s) for t in held)


@lru_cache(maxsize=16384)
def layer_on_rank(each: Layer, s: Split) -> float:
    """Stored weights of a layer on the fullest rank; raises `Undescribed`."""
    return sum(part_on_rank(p, s) for p in each.parts)


def model_on_rank(model: Model, s: Split) -> int:
    """Stored weights of the fullest rank where layers are not shared among stages; raises `Undescribed`."""
    return ceil(sum(n * layer_on_rank(each, s) for each, n in model.counted().items()))


class Stage(NamedTuple):
    """One pipeline stage: its decoder layers (first, beyond the last) and the weights of its fullest rank."""

    first: int
    beyond: int
    params: int


def stages(model: Model, s: Split) -> tuple[Stage, ...]:
    """The stages with their weights; raises `Undescribed`.

    The first holds the token table, the last the final norm and the head; a tied table stands on both. Layers that do
    not divide go to the stages before the last, from the back.
    """
    layers = list(_decoder(model))
    bounds = stage_bounds(len(layers), s.pp)
    ends = s._replace(pp=1)
    found: list[Stage] = []
    for i, (first, beyond) in enumerate(bounds):
        held = sum(layer_on_rank(each, ends) for each in layers[first:beyond])
        held += _ends_of_stage(model, ends, is_first=i == 0, is_last=i == s.pp - 1)
        found.append(Stage(first, beyond, ceil(held)))
    return tuple(found)


def stage_bounds(n_layers: int, pp: int) -> list[tuple[int, int]]:
    """First layer of each stage and the one beyond its last."""
    if pp > n_layers:
        raise Undescribed(f"{n_layers} layers cannot fill {pp} stages")
    sizes = [n_layers // pp] * pp
    for i in range(2, n_layers % pp + 2):
        sizes[-i] += 1
    starts = [sum(sizes[:i]) for i in range(pp)]
    return [(a, a + n) for a, n in zip(starts, sizes, strict=True)]


def _decoder(model: Model) -> Iterator[Layer]:
    for run in model.runs:
        if run.stack != "mtp":
            yield from run.layers * run.repeats


def _ends_of_stage(model: Model, s: Split, *, is_first: bool, is_last: bool) -> float:
    if is_first and is_last:
        return layer_on_rank(model.ends, s)
    tied = any(t.component is Component.UNEMBEDDING and not t.stored for p in model.ends.parts for t in p.tensors)
    held = 0.0
    for p in model.ends.parts:
        front = p.kind.startswith("embedding")
        if (front and (is_first or (is_last and tied))) or (not front and is_last):
            held += part_on_rank(p, s)
    return held


def cache_on_rank(c: Cache, s: Split) -> float:
    """Elements of one entry (or of the whole state) that one rank holds; raises `Undescribed`."""
    tp = s.attention_tp
    if c.kind == "kv" and c.heads:
        return c.elements * heads_on_rank(c.heads, tp) / c.heads
    if c.kind == "conv" and c.channels:
        return c.elements / c.channels * channels_on_rank(c, tp)
    if c.kind == "state":
        if tp > 1 and c.heads is None:
            raise Undescribed(f"how the state of {c.mixer} is shared out among ranks is not described")
        return c.elements / tp
    return c.elements


def channels_on_rank(c: Cache, tp: int) -> float:
    """Channels of a convolution on one rank."""
    plain = (c.channels or 0) - c.grouped
    return plain / tp + (grouped_on_rank(c.groups, c.grouped, tp) if c.groups else 0)
