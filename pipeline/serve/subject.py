"""The model that a word of a command means, with what serving depends on."""

from __future__ import annotations

from pathlib import Path

from atlas.derived import Derived
from atlas.numbers.caches import caches
from pipeline.errors import Usage
from pipeline.serve.engines.record import Geometry


def subject(home: Path, snapshot: str | None, wanted: str) -> tuple[str, Derived]:
    """The name and derivation of a model: an existing path is a config or checkpoint folder, all else a name.

    Raises `Usage` for a folder of several configs, `NotFound` where there is no such model or snapshot.
    """
    from pipeline.sheets import inspect, show

    if not Path(wanted).exists():
        shown = show.find(home, snapshot, wanted)
        return shown.repo_id, shown.derived
    if inspect.is_several(Path(wanted)):
        raise Usage(f"{wanted} is a folder without config.json: name one config or checkpoint folder")
    [(name, raw)] = inspect.models(wanted)
    name = Path(wanted).absolute().parent.name if Path(wanted).name == "config.json" else name
    return name, inspect.derived(raw, name, None)


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
