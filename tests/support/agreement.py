"""How closely predictions agree with public start-up logs, counted: what `pipeline/engines/agreement.toml` holds.

`python tests/support/agreement.py FILE` writes that file from the logs beside the checkout.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from places import SHARED

import atlas
from pipeline.engines.geometry import geometry
from pipeline.engines.predicting import lines
from pipeline.engines.record import Geometry
from pipeline.serve import logs
from pipeline.sources import catalogue

MISSES = {
    "vllm-28": "an 8-bit cache that the log does not state",
    "vllm-29": "a length that the log does not state",
    "vllm-38": "memory printed by another rank",
    "vllm-51": "no memory in the excerpt",
    "vllm-52": "an 8-bit cache and a batch that the log does not state",
    "vllm-f05": "a config that is another model's",
}
"""Logs that cannot be predicted, each with its reason; `test_logs` says for each what would agree."""


@lru_cache(maxsize=1)
def _catalogued() -> dict[str, Any]:
    return {entry.repo: entry for entry in catalogue.load()}


@lru_cache(maxsize=128)
def find(name: str) -> Geometry | str:
    """The geometry of a real config, or of the catalogue's."""
    path = SHARED / "hub" / "configs" / f"{name.replace('/', '--', 1)}.json"
    raw = path.read_bytes() if path.exists() else _catalogued()[name].raw
    return geometry(name, atlas.derive(raw, name=name)) or "refused"


def within(row: dict[str, Any], figure: str, predicted: float | None) -> bool:
    """Whether a figure of a log is predicted inside the log's own rounding, or one block."""
    return predicted is not None and logs.agrees(row["observed"][figure], predicted, row["inputs"], figure)


def counted() -> dict[str, Any]:
    """Logs and figures inside the rounding: by engine with the median difference, by model, and what is outside."""
    text = (SHARED / "engines" / "logs.jsonl").read_bytes()
    made = {row["id"]: row["predicted"] for row in lines(text, find)}
    models = defaultdict[tuple[str, str], list[Any]](lambda: [0, 0, 0.0])
    engines = defaultdict[str, list[Any]](lambda: [0, 0, 0, 0, []])
    for row in map(json.loads, text.splitlines()):
        inside = {f: within(row, f, made[row["id"]].get(f)) for f in row["observed"]}
        apart = {f: abs(made[row["id"]][f] / o - 1) for f, o in row["observed"].items() if inside[f]}
        one, whole = models[row["engine"], row["geometry"]], engines[row["engine"]]
        one[0] += 1
        one[1] += all(inside.values())
        one[2] = max([one[2], *apart.values()])
        whole[0] += 1
        whole[1] += all(inside.values())
        whole[2] += len(inside)
        whole[3] += sum(inside.values())
        whole[4] += apart.values()
    return {
        "engines": {e: {"logs": n, "inside": i, "figures": f, "figures_inside": g, "median": round(median(d), 7)}
                    for e, (n, i, f, g, d) in sorted(engines.items())},
        "models": [{"engine": e, "repo_id": g, "logs": n, "inside": i, "widest": round(w, 7)}
                   for (e, g), (n, i, w) in sorted(models.items())],
        "outside": {reason: sum(r == reason for r in MISSES.values()) for reason in dict.fromkeys(MISSES.values())},
    }  # fmt: skip


def written(found: dict[str, Any]) -> str:
    """The file's text."""
    said = "# How predictions agree with public start-up logs: counts, made by tests/support/agreement.py.\n"
    for name, row in found["engines"].items():
        said += f'\n[engines."{name}"]\n' + "".join(f"{k} = {v}\n" for k, v in row.items())
    for row in found["models"]:
        said += "\n[[models]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in row.items())
    return said + "\n[outside]\n" + "".join(f'"{k}" = {v}\n' for k, v in found["outside"].items())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(written(counted()), "utf-8")
