"""Seconds of every everyday task: a command with its start-up, a line in an open session, a question to a server."""

from __future__ import annotations

import asyncio
import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]
RUNS = 3
START = ["-c", "from pipeline.cli import main; raise SystemExit(main())"]


def _least(work: Callable[[], object]) -> tuple[float, float]:
    """The least wall and processor seconds of a few runs, children included."""
    found: list[tuple[float, float]] = []
    for _ in range(RUNS):
        wall, used = time.perf_counter(), _used()
        work()
        found.append((time.perf_counter() - wall, _used() - used))
    return min(w for w, _ in found), min(c for _, c in found)


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in both)


def _row(task: str, spent: tuple[float, float], asked: str) -> None:
    print(f"{task:<30} {spent[0]:7.2f} {spent[1]:7.2f}  {asked[:110]}", flush=True)


def _commands(commands: Any, home: Path) -> None:
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(home / "cache"), "PYTHONPATH": str(ROOT)}
    for task, command, _ in commands:
        line = [sys.executable, *START, *command, "--home", str(home)]
        work = lambda line=line: subprocess.run(line, cwd=home, env=env, check=True, capture_output=True)  # noqa: E731
        _row(task, _least(work), "atlas " + " ".join(f'"{w}"' if " " in w else w for w in command))


def _lines(lines: Any, home: Path) -> None:
    import polars as pl

    import atlas

    snap = atlas.open(home, offline=True)
    for task, line, _ in lines:
        _row(task, _least(lambda line=line: eval(line, {"snap": snap, "pl": pl})), line)


async def _questions(questions: Any, home: Path) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    arguments = [*START, "mcp", "--offline", "--home", str(home), "--root", str(home)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={"PYTHONPATH": str(ROOT)})
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        for task, tool, given, _, _ in questions:
            walls = []
            for _ in range(RUNS):
                begun = time.perf_counter()
                await session.call_tool(tool, given)
                walls.append(time.perf_counter() - begun)
            _row(task, (min(walls), float("nan")), f"{tool} {given}")


def main() -> None:
    """Print the table; the snapshot is made first, and the snapshot's making is not in it."""
    everyday = importlib.import_module("everyday_tasks")
    with tempfile.TemporaryDirectory() as folder:
        home = everyday.home(Path(folder))
        print(f"{'task':<30} {'wall s':>7} {'cpu s':>7}  asked")
        _commands(everyday.COMMANDS, home)
        _lines(everyday.LINES, home)
        asyncio.run(_questions(everyday.QUESTIONS, home))


if __name__ == "__main__":
    main()
