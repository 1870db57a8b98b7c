"""What a verdict means, in a sentence, and what must be known of a model before one of its numbers is quoted."""

from __future__ import annotations

from collections.abc import Iterator

from atlas.derived import Derived
from atlas.numbers.fingerprint import Fingerprint
from pipeline.units import binary

VERDICTS = {
    "known": "known: every key accounted for",
    "assumed": "assumed: numbers by the nearest rules, not all reviewed: quote with care",
    "measured": "measured: exact weights from the files, and nothing else is derived",
    "refused": "refused: no number is given, for the reason below",
}
CHECKS = {
    "exact": "Weights agree with the checkpoint's own.",
    "off": "The checkpoint's own total is another: do not quote these weights.",
}


def before_quoting(d: Derived) -> Iterator[str]:
    """Sentences: the check, what is left out, what a size supposes, and where a number depends on the context."""
    f = d.fingerprint
    if d.model is None:
        return
    if f.check in CHECKS:
        yield CHECKS[f.check]
    yield from _weights(f)
    yield from _cache(f)


def _weights(f: Fingerprint) -> Iterator[str]:
    if f.is_moe and f.params_total and f.params_active:
        yield f"A token uses {f.params_active / f.params_total:.1%} of the weights; say which figure you quote."
    left = [what for what, is_out in (("towers", f.has_towers), ("drafting layers", f.n_mtp_layers)) if is_out]
    if left:
        yield f"The total leaves out {' and '.join(left)}."
    if f.weight_bytes_checkpoint is not None and f.weight_bytes_bf16 is not None and f.quant_method:
        stored, plain = binary(f.weight_bytes_checkpoint), binary(f.weight_bytes_bf16)
        if stored == plain:
            return
        yield f"Stored as {f.quant_method}: its files are {stored}, not the {plain} of bf16."
    elif f.quant_method:
        yield f"Stored as {f.quant_method}: what its files weigh is not proven, and not the size at bf16."


def _cache(f: Fingerprint) -> Iterator[str]:
    if f.kv_bytes_per_token_first and f.kv_bytes_per_token != f.kv_bytes_per_token_first:
        yield "Windows bound part of the cache: a size holds at its own context alone."
    if f.index_bytes_per_token:
        yield "Its sparse attention keeps an index beside the keys and values: both grow."
    if f.state_bytes_constant:
        yield "Part of its state is of fixed size at any length."
