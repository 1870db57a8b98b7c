"""The points at which a write of the pipeline can be made to fail, as its source names them."""

from __future__ import annotations

import ast

from places import ROOT

from pipeline.durable import STAGES

PIPELINE = ROOT / "pipeline"


def points() -> dict[str, list[str]]:
    """The points named in the pipeline, each with where it stands."""
    found: dict[str, list[str]] = {}
    for path in sorted(PIPELINE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                named = [k.value.value for k in node.keywords if k.arg == "point" and isinstance(k.value, ast.Constant)]
                for point in named:
                    found.setdefault(str(point), []).append(f"{path.name}:{node.lineno}")
    return found


INNER = ("snapshot.table", "snapshot.record", "snapshot.manifest", "snapshot.complete")
"""Points inside a file that is being written."""


def passages() -> list[str]:
    """Every passage of every write by its name."""
    return [*(f"{point}.{stage}" for point in points() for stage in STAGES), *INNER]
