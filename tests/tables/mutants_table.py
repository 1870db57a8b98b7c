"""Hold the answers of tests/tables/library_mutants.py, from a file or stdin, against the atlas; print what differs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from mutants import Mutant, differences


def main(folder: str) -> int:
    """Read one JSON line per mutant from stdin; 1 where anything is not explained."""
    found = [Mutant(name, tuple(path), value, answer) for name, path, value, answer in map(json.loads, sys.stdin)]
    wrong = list(differences(Path(folder), found))
    sys.stdout.write("".join(f"{line}\n" for line in wrong) + f"{len(found):,} mutants, {len(wrong)} not explained\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
