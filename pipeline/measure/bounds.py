"""What the structure allows at best, beside what was measured: a decode step by bytes, a prompt by operations.

A bound is never a prediction. Bytes are of a step for one sequence: the matrices it multiplies by and its cache; with
more sequences a step reads more, so that the bound stays one. Operations are the prompt's matrices, without the
unembedding, which runs for its last token alone, and its attention, at the highest dense rate of the GPU. A prompt
that an engine finds in its cache from an earlier one is not processed, and may be faster than its bound.
"""

from __future__ import annotations

from typing import NamedTuple

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.experts import matmul_weights_read
from atlas.numbers.structure import Model
from pipeline.engines.types import kept_in
from pipeline.errors import Usage
from pipeline.measure.bench import Bench
from pipeline.serve.gpus import Gpu
from pipeline.sources.measured import Number

SAME = 0.02
"""Share by which the weights a tool counts may differ from the derived ones: it counts some tables otherwise."""


class Beside(NamedTuple):
    """A measured quantity, the best that the structure allows in the same unit, and what the bound is made of."""

    quantity: str
    best: float
    unit: str
    made_of: str

    @property
    def number(self) -> Number:
        """The bound as a number of its own."""
        return Number("", f"{self.quantity}, bound: {self.made_of}", self.best, self.unit)


def beside(b: Bench, d: Derived, gpu: Gpu) -> list[Beside]:
    """The bounds of one result on this GPU; none where the structure, the GPU or the tool does not say enough.

    Raises:
        Usage: the tool counted another number of weights than this model has.
    """
    f = d.fingerprint
    if b.params is not None and f.params_total is not None and abs(b.params / f.params_total - 1) > SAME:
        raise Usage(
            f"the benchmark is of {b.params:,} weights, and this model has {f.params_total:,}: name another --model"
        )
    if d.model is None or b.without is not None:
        return []
    return [x for x in (_step(b, d, d.model, gpu), _prompt(b, d, d.model, gpu)) if x is not None]


def _step(b: Bench, d: Derived, model: Model, gpu: Gpu) -> Beside | None:
    if b.steps is None or gpu.bandwidth is None:
        return None
    form = _form(b, d)
    if form is None:
        return None
    seconds = (matmul_weights_read(model, 1) * form[0] + _cache(b, d, model)) / b.tp / gpu.bandwidth
    return Beside(b.steps, *_in_unit(b, b.steps, seconds, 1), f"bytes of a step over bandwidth, {form[1]}")


def _in_unit(b: Bench, quantity: str, seconds: float, tokens: int) -> tuple[float, str]:
    """Seconds for so many tokens in the unit of the quantity: milliseconds, or tokens a second."""
    unit = next(n.unit for n in b.numbers if n.quantity == quantity)
    return (seconds * 1000 if unit == "ms" else tokens / seconds), unit


def _cache(b: Bench, d: Derived, model: Model) -> float:
    """Bytes of one sequence's cache that a step reads at least.

    Nothing is counted where a step reads a choice of it, where its type is not known, and where windows make the mean
    of many lengths say too much.
    """
    f = d.fingerprint
    if any("sparse" in k or "compressed" in k for k in f.layer_mix or {}):
        return 0
    if b.width is None and f.sliding_window is not None:
        return 0
    try:
        widths = [kept_in(t).each for t in b.cache or ("bf16",)]
    except Usage:
        return 0
    return measure.kv_bytes(model, b.tokens_before, min(widths))


def _form(b: Bench, d: Derived) -> tuple[float, str] | None:
    """Bytes a weight, and in words; None where a quantization is stated whose bytes are not known."""
    f = d.fingerprint
    if b.width is not None:
        return b.width, "weights at the file's mean width"
    if f.weight_bytes_checkpoint is not None and f.params_checkpoint:
        return f.weight_bytes_checkpoint / f.params_checkpoint, "weights as stored, cache at bf16"
    return None if f.quant_method is not None else (2.0, "weights and cache at bf16, stored form not proven")


def _prompt(b: Bench, d: Derived, model: Model, gpu: Gpu) -> Beside | None:
    rates = [r for r in (gpu.bf16, gpu.fp8, gpu.int8) if r is not None]
    f = d.fingerprint
    form = _form(b, d)
    may_be_fp4 = b.is_fp4 or form is None or (b.width is None and form[0] < 1)  # the table has no rate of FP4
    if b.prompts is None or not rates or not b.prompt or may_be_fp4 or f.source_flops_per_token is not None:
        return None
    if f.params_active_compute is None or f.vocab_size is None or f.d_model is None:
        return None
    attention = measure.prefill_attention_flops(model, b.behind + b.prompt)
    attention -= measure.prefill_attention_flops(model, b.behind) if b.behind else 0
    matrices = f.params_active_compute - f.vocab_size * f.d_model
    seconds = (2 * matrices * b.prompt + attention) / max(rates) / b.tp
    made_of = "operations of the prompt, none of it cached before, over the highest dense rate"
    return Beside(b.prompts, *_in_unit(b, b.prompts, seconds, b.prompt), made_of)
