"""`make bench`: every bench in turn, each in a process of its own. Timings are noisy: read the ratios of one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHES = ("fingerprints", "snapshot", "crawl", "everyday", "site")


def main() -> None:
    """Run the benches named on the command line, or all."""
    here = Path(__file__).parent
    for name in sys.argv[1:] or BENCHES:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, str(here / f"{name}.py")], cwd=here.parents[1], check=True)


if __name__ == "__main__":
    main()
