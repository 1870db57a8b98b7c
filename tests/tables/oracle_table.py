"""`make oracle`: how every family stands against the reference, one line each.

Wrong and refused ones with the reason.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from oracle import Outcome, hold, records
from places import SHARED


def main() -> None:
    """Print the tables; the exit code is 1 where a number is wrong."""
    if not SHARED.is_dir():
        raise SystemExit("the shared reference data is not beside this checkout")
    wrong = 0
    for which in ("published", "defaults"):
        found = [hold(SHARED, which, r) for r in records(SHARED, which)]
        wrong += sum(o.status == "wrong" for o in found)
        table(which, found)
    raise SystemExit(min(wrong, 1))


def table(which: str, found: list[Outcome]) -> None:
    """One line per model_type, then every file that is not exact."""
    families: dict[str, list[Outcome]] = defaultdict(list)
    for o in found:
        families[o.model_type].append(o)
    print(f"{which:<28}{'exact':>7}{'wrong':>7}{'refused':>9}{'no reference':>14}")
    for name in sorted(families):
        print(f"{name:<28}{counts(families[name])}")
    print(f"{'all':<28}{counts(found)}\n")
    for o in found:
        if o.status in ("wrong", "refused"):
            print(f"{o.status:<8} {o.name}: {'; '.join(o.differences)}")
    print()


def counts(found: list[Outcome]) -> str:
    """The four counts in their columns."""
    n = {s: sum(o.status == s for o in found) for s in ("exact", "wrong", "refused", "no reference")}
    return f"{n['exact']:>7}{n['wrong']:>7}{n['refused']:>9}{n['no reference']:>14}"


if __name__ == "__main__":
    main()
