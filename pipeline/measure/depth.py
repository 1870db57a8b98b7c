"""The experiment on depth: prefill and cached decode of four shapes of one budget, timed in turn."""

from __future__ import annotations

from typing import Any

from pipeline.errors import Invalid
from pipeline.measure import decoder
from pipeline.measure.shapes import VOCABULARY, Shape, shapes
from pipeline.measure.timing import Passes, interleaved, number, timed
from pipeline.sources.measured import Number

EXPERIMENT = "equal-budget shapes"
SEED = 0
PROMPT = 256
ROUNDS = 12
PREFILL, DECODE = "prefill of the prompt", "cached decode of one token"
STEPS = 8
SECONDS = 75
"""After these no round of prefill, or of decode, begins."""
AGREE = 1e-4
"""Largest difference of scores, as a share of the largest score, that float32 sums in another order may make."""

SETTINGS = (
    f"one sequence, prompt of {PROMPT} tokens, then one token at that position; float32, eager, no positions; random "
    f"weights of seed {SEED}; cache allocated once; at most {ROUNDS} rounds in alternating order, one more left out"
)


def measured(torch: Any, rounds: int = ROUNDS) -> list[Number]:
    """Milliseconds of a prompt and of a decoded token for each shape, and by how much cached and full path differ.

    Raises:
        Invalid: a cached path does not give what the full one gives; nothing is timed then.
    """
    with torch.inference_mode():
        ids = torch.randint(0, VOCABULARY, (1, PROMPT + 1), generator=torch.Generator().manual_seed(SEED))
        built = {s.name: decoder.built(torch, s, SEED) for s in shapes()}
        differ = {name: decoder.difference(d, ids) for name, d in built.items()}
        for name, share in differ.items():
            if not share < AGREE:
                raise Invalid(f"the cached path of '{name}' gives other scores than the full one ({share:.1e})")
        prompt, token = ids[:, :-1], ids[:, -1:]
        caches = {name: d.cache(PROMPT + 1) for name, d in built.items()}
        prefill = {n: _prefill(d, prompt, caches[n]) for n, d in built.items()}
        decode = {n: _decode(d, prompt, token, caches[n]) for n, d in built.items()}
        took = {PREFILL: interleaved(prefill, rounds, SECONDS), DECODE: interleaved(decode, rounds, SECONDS)}
    found = [n for s in shapes() for n in _of_shape(s, differ[s.name])]
    return found + [
        n for what, works in took.items() for name, passes in works.items() for n in _took(name, what, passes)
    ]


def _took(name: str, what: str, passes: Passes) -> list[Number]:
    return [
        number(name, what, passes.wall, "ms", 1000),
        number(name, f"{what}, processor time", passes.processor, "ms", 1000),
    ]


def _of_shape(s: Shape, differs: float) -> list[Number]:
    return [
        Number(s.name, "weights of the matrices", s.matrices, "weights"),
        Number(s.name, "cached against full path, largest difference", differs, "of the largest score"),
    ]


def _prefill(d: decoder.Decoder, prompt: Any, cache: Any) -> Any:
    return lambda: timed(lambda: d.prefill(prompt, cache), 1)


def _decode(d: decoder.Decoder, prompt: Any, token: Any, cache: Any) -> Any:
    """Fill the cache with the prompt, warm up with a step, then time steps at the position behind it."""

    def work() -> Passes:
        d.prefill(prompt, cache)
        d.decode(token, cache, PROMPT)
        return timed(lambda: d.decode(token, cache, PROMPT), STEPS)

    return work
