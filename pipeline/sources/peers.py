"""Other tools' figures for 89 published configs beside ours, as rows of a snapshot; `make peers` measures them.

`peers.json` holds every figure with the explanation of each difference. A snapshot takes the differences of the models
it has as `disagreements`, and for all 89 the counts per tool, and per reason, as `measurements`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from pipeline.sources import measured

Row = dict[str, Any]
EXPERIMENT = "peers"


class Figure(msgspec.Struct, frozen=True, array_like=True):
    """One figure of one tool for one config. `explanation` numbers an entry of the table's explanations."""

    model: str
    tool: str
    figure: str
    theirs: int | None
    ours: int | None
    explanation: int | None


class Table(msgspec.Struct, frozen=True):
    """The comparison: its day, the context in tokens, the tools' versions, what explains differences, the figures."""

    measured_on: date
    context: int
    tools: dict[str, str]
    columns: tuple[str, ...]
    explanations: tuple[str, ...]
    rows: tuple[Figure, ...]

    def why(self, figure: Figure) -> str | None:
        """The explanation in words."""
        return None if figure.explanation is None else self.explanations[figure.explanation]

    def named(self, tool: str) -> str:
        """The tool with its version."""
        return f"{tool} {self.tools[tool]}"


@cache
def table() -> Table:
    """The shipped comparison."""
    return msgspec.json.decode((files("pipeline.sources") / "peers.json").read_bytes(), type=Table)


def disagreements(repos: Collection[str]) -> list[Row]:
    """A row for each figure of one of these models that is not ours, or that the tool does not give."""
    t = table()
    return [
        {
            "repo_id": r.model,
            "field": r.figure,
            "tool": t.named(r.tool),
            "theirs": "no answer" if r.theirs is None else str(r.theirs),
            "ours": None if r.ours is None else str(r.ours),
            "explanation": t.why(r),
        }
        for r in t.rows
        if r.model in repos and r.theirs != r.ours
    ]


def measurements() -> list[Row]:
    """Per tool and figure: configs answered, figures equal to ours, and how many each reason explains."""
    t = table()
    counts = Counter[tuple[str, str]]()
    for r in t.rows:
        counts[t.named(r.tool), f"{r.figure}: configs"] += 1
        counts[t.named(r.tool), f"{r.figure}: answered"] += r.theirs is not None
        counts[t.named(r.tool), f"{r.figure}: equal to ours"] += r.theirs is not None and r.theirs == r.ours
        why = t.why(r)
        if why is not None:
            counts[t.named(r.tool), f"{r.figure}: {why}"] += 1
    configs = t.named("aiconfigurator-core")
    conditions = f"the model configs of {configs}, {t.context:,} tokens, bf16"
    return [
        {
            **measured.BLANK,
            "experiment": EXPERIMENT,
            "subject": tool,
            "quantity": quantity,
            "value": float(n),
            "unit": "configs",
            "conditions": conditions,
            "measured_on": t.measured_on,
        }
        for (tool, quantity), n in counts.items()
    ]
