"""Which models of a snapshot fit: one derivation per design and stored form, most parameters first."""

from __future__ import annotations

from pathlib import Path

from atlas import proof
from atlas.interpret import derive
from pipeline.serve.fit import Fit, Wanted, fit
from pipeline.store import shelf

_LEAST_WIDTH = 0.4
"""No checkpoint stores a weight in fewer bytes on the whole: what is larger than that many is not looked at."""


def every(home: Path, snapshot: str | None, wanted: Wanted, under: float | None) -> list[Fit]:
    """The answer for every model that is derived and not beyond all hope, most parameters first, then by name."""
    import duckdb

    _, path = shelf.locate(home, snapshot)
    most = wanted.gpu.memory * wanted.gpus / _LEAST_WIDTH
    with duckdb.connect(str(path), read_only=True) as con:
        rows = con.execute(
            "SELECT f.repo_id, f.design_id, c.config_id, c.raw, c.raw_bytes FROM fingerprints f JOIN models m USING (repo_id)"
            " JOIN configs c ON c.config_id = m.config_id WHERE f.params_total < ? AND f.params_total <= ?"
            " ORDER BY f.params_total DESC, f.repo_id",
            [under if under is not None else 2**62, int(most)],
        ).fetchall()
    found: dict[str, Fit] = {}
    answers: list[Fit] = []
    for repo, design_id, config_id, text, data in rows:
        if config_id not in found:
            derived = derive(data if text is None else text.encode(), name=repo)
            found[config_id] = fit(repo, proof.published(derived, design_id), wanted)
        answers.append(_named(found[config_id], repo))
    return answers


def _named(answer: Fit, repo: str) -> Fit:
    from msgspec.structs import replace

    return replace(answer, name=repo)
