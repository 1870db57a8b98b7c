"""What of a derived model an engine sizes its cache from."""

from __future__ import annotations

from atlas.derived import Derived
from atlas.numbers.caches import caches
from atlas.numbers.degrees import widths
from pipeline.engines.record import Geometry


def geometry(name: str, d: Derived) -> Geometry | None:
    """What engines size their caches from; None where the model was refused."""
    f = d.fingerprint
    if d.model is None or f.n_layers is None:
        return None
    return Geometry(
        name=name,
        model_type=f.model_type,
        caches=caches(d.model),
        dtype=f.dtype,
        state_dtype=f.state_dtype,
        max_context=f.max_context,
        n_layers=f.n_layers,
        quant_method=f.quant_method,
        verdict=f.verdict,
        query_heads=tuple(sorted(heads for heads, _ in widths(d.model).heads)),
    )
