"""`atlas.fit()`: the answer of `atlas fit` in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atlas.derived import Derived
from atlas.interpret import derive
from pipeline.serve.asking import Asked, wanted_of
from pipeline.serve.fit import Fit
from pipeline.serve.fit import fit as answer
from pipeline.serve.subject import subject
from pipeline.sources.disk import read


def fit(  # noqa: PLR0913 - the options of the command, all but one by name
    model: str | Path | bytes | dict[str, Any] | Derived,
    *,
    gpu: str | None = None,
    memory: str | None = None,
    gpus: int | None = None,
    tp: int | None = None,
    pp: int = 1,
    ep: int = 1,
    dp_attention: int = 1,
    at: int | str | None = None,
    sequences: int | None = None,
    dtype: str = "bf16",
    weights: str = "stored",
    reserve: str = "0GiB",
    home: str | Path = ".",
    snapshot: str | None = None,
    endpoint: str | None = None,
    offline: bool = False,
) -> Fit:
    """Whether a model fits, with bytes of the fullest GPU, sequences and context at most, and what binds.

    `model` is a config (an object, its bytes, a path) or a name as every command takes one. `fits` is None where it
    is not known, and `why` says because of what. Raises `Usage` for options that cannot be, `NotFound` for a name.
    """
    asked = Asked(
        gpu=gpu, memory=memory, gpus=gpus, tp=tp, pp=pp, ep=ep, dp=dp_attention, at=None if at is None else str(at),
        sequences=sequences, dtype=dtype, weights=weights, reserve=reserve,
    )  # fmt: skip
    name, derived = _derived(model, Asked(home=Path(home), snapshot=snapshot, endpoint=endpoint, offline=offline))
    return answer(name, derived, wanted_of(asked))


def _derived(model: str | Path | bytes | dict[str, Any] | Derived, a: Asked) -> tuple[str, Derived]:
    if isinstance(model, Derived):
        return model.fingerprint.repo_id or "(unnamed)", model
    if isinstance(model, Path):
        return model.name, derive(read(model), name=model.name)
    if isinstance(model, str):
        return subject(a.home, a.snapshot, model, endpoint=a.endpoint, offline=a.offline)
    return "(unnamed)", derive(model)
