"""Full fingerprints per second on one core: bytes in, row out, over all shared configs.

Beside plain parsing of the same bytes.

CPU time of the best of several rounds, all measured in one run. The first round is reported apart: nothing is cached
in it but what
earlier configs of the same round had in common. Where transformers is installed, its AutoConfig and a meta-device
model are timed too.
"""

# What is compared is installed elsewhere or not at all.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).parents[2]))

from atlas.interpret import derive

SHARED = Path(__file__).parents[3] / "shared" / "hub"
ROUNDS = 15
START_UPS = 7


def main() -> None:
    """Print the tables."""
    if not SHARED.is_dir():
        raise SystemExit("the shared configs are not beside this checkout")
    raws = [p.read_bytes() for p in sorted((SHARED / "configs").glob("*.json"))]
    first = timed(derive, raws, rounds=1)
    print(f"{len(raws)} configs, {sum(map(len, raws)):,} bytes; microseconds a config, CPU time, best of {ROUNDS}")
    known = [r for r in raws if derive(r).model is not None]
    designs = len({derive(r).fingerprint.design_id for r in known})
    print(f"first round of the process   {first:8.1f}   {1e6 / first:8,.0f}/s")
    table("all", raws)
    table(f"{len(known)} derived ({designs} designs)", known)
    families(known)
    start_up()
    library()


def timed(function: Callable[[bytes], object], raws: list[bytes], rounds: int = ROUNDS) -> float:
    """Microseconds of CPU a config, the best round."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for raw in raws:
            function(raw)
        best = min(best, time.process_time() - begin)
    return 1e6 * best / len(raws)


def table(name: str, raws: list[bytes]) -> None:
    """One line: the fingerprint, orjson and json over the same bytes, and the ratio."""
    ours, fast, plain = timed(derive, raws), timed(lenient, raws), timed(json.loads, raws)
    print(
        f"{name:<28} {ours:8.1f}   {1e6 / ours:8,.0f}/s   orjson {fast:5.1f}   json {plain:5.1f}   "
        f"ratio to orjson {ours / fast:5.1f}"
    )


def lenient(raw: bytes) -> object:
    """orjson, where it reads the file (a bare Infinity stops it)."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def families(raws: list[bytes]) -> None:
    """The slowest families, as multiples of llama (configs under 10 kB, so that parsing does not decide)."""
    groups: dict[str, list[bytes]] = {}
    for raw in raws:
        if len(raw) < 10_000:
            groups.setdefault(str(derive(raw).fingerprint.model_type), []).append(raw)
    costs = {name: timed(derive, group, 9) for name, group in groups.items()}
    slowest = sorted(costs, key=lambda n: -costs[n])[:6]
    print(
        "slowest families, as multiples of llama: " + ", ".join(f"{n} {costs[n] / costs['llama']:.1f}" for n in slowest)
    )


def start_up() -> None:
    """`atlas --help` beside a bare Python, milliseconds of CPU, least of several."""
    bare, helped = (
        min(cpu(["-c", code]) for _ in range(START_UPS))
        for code in ("pass", "import sys; sys.argv[1:] = ['--help']; from pipeline.cli import main; main()")
    )
    print(
        f"start-up: python -c pass {1000 * bare:.0f} ms, atlas --help {1000 * helped:.0f} ms "
        "(bound: twice the first + 150)"
    )


def cpu(arguments: list[str]) -> float:
    """CPU seconds of a child process."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[2])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def library() -> None:
    """AutoConfig and a model on the meta device, where transformers is installed."""
    try:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM
    except ImportError:
        print("transformers is not installed here: AutoConfig and meta-device models are not timed")
        return
    path = SHARED / "configs" / "meta-llama--Llama-3.1-8B-Instruct.json"
    config = AutoConfig.for_model(**json.loads(path.read_text()))
    begin = time.process_time()
    for _ in range(20):
        AutoConfig.for_model(**json.loads(path.read_text()))
    read = (time.process_time() - begin) / 20
    begin = time.process_time()
    with torch.device("meta"):
        AutoModelForCausalLM.from_config(config)
    print(
        f"Llama-3.1-8B in transformers: AutoConfig {1e6 * read:,.0f} us, "
        f"meta-device model {1e6 * (time.process_time() - begin):,.0f} us"
    )


if __name__ == "__main__":
    main()
