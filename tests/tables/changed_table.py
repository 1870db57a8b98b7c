"""`make changed FROM=OLD.duckdb TO=NEW.duckdb`: counts of two snapshots of the embedded catalogue, and what differs.

The result is written to `pipeline/sources/changed.json`, which ships; the snapshots are not kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

from pipeline.store.diff import Difference, of_files

WRITTEN = Path(__file__).parents[2] / "pipeline" / "sources" / "changed.json"
COUNTS = {
    ("models", "models"): "SELECT count(*) FROM models",
    ("designs", "designs"): "SELECT count(*) FROM designs",
    ("model types", "model types"): "SELECT count(DISTINCT model_type) FROM fingerprints",
    ("totals held against a published one", "models"): "SELECT count(*) FROM checks",
    ("totals equal to a published one", "models"): "SELECT count(*) FROM checks WHERE result = 'exact'",
    ("configs refused", "texts"): "SELECT count(*) FROM refusals",
    ("figures of others that differ", "figures"): "SELECT count(*) FROM disagreements",
}
"""What is counted in both, with its unit."""


def counted(path: Path) -> dict[tuple[str, str], int]:
    """The counts of one snapshot."""
    with duckdb.connect(str(path), read_only=True) as con:
        return {key: con.execute(query).fetchall()[0][0] for key, query in COUNTS.items()}


def turned(found: Difference) -> list[tuple[str, int, int, str]]:
    """What only the two together say: models new and gone, configs written or read otherwise."""
    theirs = found.catalogue
    return [
        ("models new", 0, len(theirs.added), "models"),
        ("models gone", 0, len(theirs.removed), "models"),
        ("models whose config is written otherwise", 0, len(theirs.configs), "models"),
        ("unchanged configs read otherwise", 0, found.ours.changed, "texts"),
    ]


def main(before: Path, after: Path) -> None:
    """Count both, hold them against each other, and write it."""
    old, new = counted(before), counted(after)
    found = of_files(before, after)
    rows = [(name, old[name, unit], new[name, unit], unit) for name, unit in COUNTS] + turned(found)
    lines = ",\n".join(json.dumps(row) for row in rows)
    head = json.dumps({"before": found.before[:10], "after": found.after[:10]})[:-1]
    WRITTEN.write_text(f'{head}, "counts": [\n{lines}\n]}}\n', "utf-8")
    print(f"written: {len(rows)} counts from {found.before} to {found.after}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
