"""The model that a word of a command means, with what serving depends on."""

from __future__ import annotations

from pathlib import Path

from atlas.derived import Derived
from atlas.numbers.caches import caches
from pipeline.ask.found import Asking
from pipeline.ask.resolver import resolve
from pipeline.serve.engines.record import Geometry


def subject(home: Path, snapshot: str | None, wanted: str, *, offline: bool = False) -> tuple[str, Derived]:
    """The name and derivation of a model, by any name that names one.

    Raises `Usage` for a folder of several configs, `NotFound` where there is no such model, `Upstream` or `Invalid`.
    """
    found = resolve(wanted, Asking(home=home, snapshot=snapshot, offline=offline))
    return found.title, found.derived


def geometry(name: str, d: Derived) -> Geometry | None:
    """What engines size their caches from; None where the model was refused."""
    if d.model is None:
        return None
    f = d.fingerprint
    return Geometry(
        name=name,
        model_type=f.model_type,
        caches=caches(d.model),
        dtype=f.dtype,
        state_dtype=f.state_dtype,
        max_context=f.max_context,
        quant_method=f.quant_method,
        verdict=f.verdict,
    )
