"""Caches of every layer, one record each, of models put together by hand."""

from __future__ import annotations

from typing import Any

from atlas.numbers.caches import Cache, caches, counted_caches
from atlas.numbers.entries import State
from atlas.numbers.structure import Layer, Mixing, Model, Run, layer, part
from schemas.vocabulary import Mixer


def one(*states: State, mixer: Mixer = Mixer.FULL_ATTENTION, drafted: bool = False) -> Layer:
    """A layer that keeps these states."""
    info = Mixing(mixer, "gqa")
    return layer((part("x", [], () if drafted else states, (), info, states if drafted else ()),))


def model(*runs: Run) -> Model:
    """A model of these runs."""
    return Model(layer(()), runs, "rmsnorm", "pre")


KV = State("kv", 16, window=9, keys=10, heads=2)
LATENT = State("kv", 11, keys=11)
STATE = State("constant", 60, 0, width=4, heads=4)
CONV = State("constant", 174, 0, width=2, channels=58, kernel=3, groups=2, grouped=28)


def test_layers_are_counted_through_turns_and_runs() -> None:
    """A run of two layers twice, and one more layer three times: owners 0 to 6; an encoder's layers keep nothing."""
    runs = (Run(2, (one(KV), one(LATENT))), Run(5, (one(KV),), "encoder"), Run(3, (one(STATE),)))
    found = caches(model(*runs))
    assert [(c.owner, c.kind) for c in found] == [
        (0, "kv"), (1, "latent"), (2, "kv"), (3, "latent"), (4, "state"), (5, "state"), (6, "state"),
    ]  # fmt: skip
    assert {c.stack for c in found} == {"decoder"}
    counted = counted_caches(model(*runs))
    assert [(c.kind, n) for c, n in counted] == [("kv", 2), ("latent", 2), ("state", 3)]
    again = counted_caches(model(Run(2, (one(KV),)), Run(1, (one(LATENT), one(KV)))))
    assert [(c.kind, n) for c, n in again] == [("kv", 3), ("latent", 1)]


def test_draft_layers_are_counted_apart() -> None:
    """Two draft layers behind one of the model's: owners 0, and 0 and 1 of the drafts."""
    found = caches(model(Run(1, (one(KV),)), Run(2, (one(KV, drafted=True),), "mtp")))
    assert [(c.stack, c.owner) for c in found] == [("decoder", 0), ("mtp", 0), ("mtp", 1)]


def record(*states: State, **more: Any) -> list[Cache]:
    """The records of one layer."""
    return list(caches(model(Run(1, (one(*states, **more),)))))


def test_what_a_record_says() -> None:
    """Keys and values apart, latents without heads, index keys, columns and states, a source's."""
    assert record(KV) == [Cache("decoder", 0, "kv", "gqa", 10, 6, 2, 9, False, 1, 16)]
    assert record(KV, mixer=Mixer.CHUNKED_ATTENTION)[0].chunked
    assert record(LATENT) == [Cache("decoder", 0, "latent", "gqa", 11, 0, elements=11)]
    index = State("index", 3, 4, width=2)
    assert record(index) == [Cache("decoder", 0, "index", "gqa", 3, 0, stride=4, elements=3, width=2)]
    cross = State("cross", 16, keys=10)
    assert record(cross) == [Cache("decoder", 0, "cross", "gqa", 10, 6, elements=16)]
    assert record(STATE) == [Cache("decoder", 0, "state", "gqa", heads=4, stride=0, elements=60, width=4)]
    assert record(CONV) == [
        Cache("decoder", 0, "conv", "gqa", stride=0, elements=174, width=2, channels=58, kernel=3, groups=2, grouped=28)
    ]
    assert [c.is_recurrent for c in record(KV, LATENT, STATE, CONV)] == [False, False, True, True]
    plain = Cache("decoder", 0, "kv", "gqa")
    assert (plain.k, plain.v, plain.chunked, plain.stride, plain.elements, plain.grouped) == (0, 0, False, 1, 0, 0)


def test_what_a_record_holds() -> None:
    """16 elements for each of the last 9 tokens; of a width of its own, per 4 tokens, once, or of a source none."""
    kv, index, state, cross = record(KV, State("index", 3, 4, width=1), STATE, State("cross", 16, keys=10))
    assert [kv.bytes_at(t) for t in (0, 5, 9, 20)] == [0, 160, 288, 288]
    assert kv.bytes_at(5, 1) == 80
    assert [index.bytes_at(t) for t in (3, 4, 20)] == [0, 3, 15]
    assert [state.bytes_at(t) for t in (0, 20)] == [240, 240]
    assert cross.bytes_at(20) == 0
