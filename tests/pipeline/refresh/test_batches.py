"""Deriving in batches gives what deriving at once gives."""

from __future__ import annotations

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.refresh import batches, tables
from pipeline.refresh.found import Input
from pipeline.store import build

DAY = dt.date(2026, 11, 29)


def config(width: int) -> bytes:
    """A small Llama; every width is another design."""
    keys = {
        "hidden_size": width,
        "intermediate_size": 64,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "vocab_size": 100,
    }
    return json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", **keys}).encode()


def found() -> list[Input]:
    """Twenty repositories of five texts and two bad ones; one is found again without a config, one with another."""
    models = [Input(f"org/m{i:02}", config(16 * (1 + i % 5)), "hub", DAY) for i in range(20)]
    bad = [Input("org/list", b"[]", "hub", DAY), Input("org/broken", b"{", "hub", DAY)]
    again = [Input("org/m03", None, "hub", None, outcome="gated"), Input("org/m04", config(160), "hub", DAY)]
    spaced = [Input("org/spaced", config(16) + b" ", "hub", DAY)]  # another text, the same design
    return [*models, *bad, *again, *spaced]


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_batches_give_the_tables_of_the_whole(size: int) -> None:
    """Whatever the batch, every table has the digest it has when everything is derived in one go."""
    whole = build.digests(build.ordered(tables.tables(found())))
    with ThreadPoolExecutor(3) as pool:
        made = batches.tables(found(), lambda raws: pool.submit(batches.texts, raws), size=size)
    assert build.digests(build.ordered(made)) == whole


def test_every_batch_is_told_and_few_are_ahead() -> None:
    """24 + 1 repositories in batches of two are 13 batches; never more than the allowed number waits to be taken."""
    told: list[int] = []
    handed: list[int] = []

    class Ready:
        def __init__(self, raws: list[bytes]) -> None:
            handed.append(len(told))
            self.made = batches.texts(raws)

        def result(self) -> batches.Tables:
            return self.made

    batches.tables(found(), Ready, size=2, tick=told.append)
    assert told == [*range(2, 25, 2), 25]
    assert [i - done for i, done in enumerate(handed)] == [
        *range(batches.AHEAD + 1),
        *[batches.AHEAD] * (13 - batches.AHEAD - 1),
    ]


def test_a_text_is_handed_out_once() -> None:
    """Five texts of the twenty, two bad ones, that of the repository found again, and the spaced one: nine."""
    handed: list[bytes] = []

    class Ready:
        def __init__(self, raws: list[bytes]) -> None:
            handed.extend(raws)
            self.made = batches.texts(raws)

        def result(self) -> batches.Tables:
            return self.made

    batches.tables(found(), Ready, size=2)
    assert sorted(handed) == sorted({one.raw for one in found() if one.raw is not None})
    assert len(handed) == 9
