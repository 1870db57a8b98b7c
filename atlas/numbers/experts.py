"""Experts in a batch and on a network: how many a step touches, what it then reads, what is sent between GPUs.

Under even routing each of B tokens picks k of n experts, so that one expert is left alone with (1 - k/n)^B and
n (1 - (1 - k/n)^B) are touched in the mean. Real routers are less even and touch fewer. Bytes are at 2 an element
unless said otherwise; a step reads each matrix once, however many sequences share it.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from atlas.numbers.entries import CACHE_WIDTH
from atlas.numbers.structure import ONE_BY_ONE, Feeding, Layer, Model, Tensor
from schemas.vocabulary import APART, Component, Role

BATCHES = (8, 64, 256)
"""Tokens behind the suffixes of column names: _b8, _b64, _b256."""


def touched(experts: int, per_token: float, tokens: int) -> float:
    """Experts of a layer that `tokens` tokens touch in the mean, each taking `per_token` of `experts` evenly."""
    return experts * (1 - (1 - per_token / experts) ** tokens) if experts else 0.0


@lru_cache(maxsize=ONE_BY_ONE)
def matmul_weights_read(model: Model, tokens: int) -> float:
    """Weights that one step over `tokens` tokens reads to multiply by: those of touched experts, and all the others.

    One token reads params_active_compute.
    """
    return sum(n * _read(t, tokens) for t, n in _multiplied(model))


def _read(t: Tensor, tokens: int) -> float:
    if t.component is Component.EXPERTS_ROUTED and t.stored > 1:
        return _touched(t, tokens) * t.elements
    return t.used


def _touched(t: Tensor, tokens: int) -> float:
    """Copies of a routed tensor that a step touches; of the choices of its router some may be empty."""
    choices = t.choices or t.stored
    return touched(choices, t.touched, tokens) * t.stored / choices


def experts_touched(model: Model, tokens: int) -> float | None:
    """Experts of the first routed layer that a step over `tokens` tokens touches in the mean; None without experts."""
    routed = _experts(model)
    return _touched(routed[0], tokens) if routed else None


@lru_cache(maxsize=ONE_BY_ONE)
def _experts(model: Model) -> list[Tensor]:
    """Matrices of routed feed-forward networks; attention may have experts of its own."""
    feeding = [p for each in model.counted() for p in each.parts if isinstance(p.info, Feeding)]
    every = [t for p in feeding for t in p.tensors if t.component is Component.EXPERTS_ROUTED]
    return [t for t in every if t.role is Role.MATMUL and t.stored > 1]


@lru_cache(maxsize=ONE_BY_ONE)
def _multiplied(model: Model) -> tuple[tuple[Tensor, int], ...]:
    return tuple((t, n) for each, n in model.counted().items() for t in _matrices(each))


@lru_cache(maxsize=16384)
def _matrices(each: Layer) -> tuple[Tensor, ...]:
    return tuple(t for p in each.parts for t in p.tensors if t.role is Role.MATMUL and t.component not in APART)


def sent_per_token(model: Model, width: float = CACHE_WIDTH) -> tuple[float, float] | None:
    """Bytes dispatched to and combined from the experts of one token, over all layers, were every expert elsewhere.

    With `ep` ranks, (1 - 1/ep) of them leave the GPU in the mean. None where the model has no routed experts.
    """
    into = out = 0
    for t, n in _multiplied(model):
        if t.component is Component.EXPERTS_ROUTED and len(t.shape) == 2:
            into += n * t.touched * t.shape[1] * ("up_proj" in t.name)
            out += n * t.touched * t.shape[0] * ("down_proj" in t.name)
    return (into * width, out * width) if into else None


def expert_columns(model: Model) -> dict[str, object]:
    """The columns of experts in a batch and on a network; null where a model has no routed experts."""
    sent = sent_per_token(model)
    found: dict[str, object] = {f"experts_touched_b{b}": experts_touched(model, b) for b in BATCHES}
    found |= {f"decode_weight_bytes_b{b}": ceil(CACHE_WIDTH * matmul_weights_read(model, b)) for b in BATCHES}
    return found | {
        "dispatch_bytes_per_token": int(sent[0]) if sent else None,
        "combine_bytes_per_token": int(sent[1]) if sent else None,
    }
