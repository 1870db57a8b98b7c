"""Everyday tasks, each right in one command, line or question; `make bench` prints what they take."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import everyday_tasks
import polars as pl
import pytest
from everyday_tasks import COMMANDS, LINES, QUESTIONS

import atlas
from pipeline.agents.fence import MOST_BYTES
from pipeline.cli import main
from pipeline.session.snapshot import Snapshot


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the catalogue's snapshot, and files of a reader's own in it."""
    return everyday_tasks.home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def snap(home: Path) -> Snapshot:
    """Its snapshot, open."""
    return atlas.open(home, offline=True)


def test_there_are_thirty() -> None:
    """Names, files, what-ifs, comparisons, joins, Python and agents: more than thirty tasks."""
    assert len(COMMANDS) + len(LINES) + len(QUESTIONS) >= 30


@pytest.mark.parametrize(("task", "command", "says"), COMMANDS, ids=[t[0] for t in COMMANDS])
def test_a_task_is_one_command(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    task: str,
    command: list[str],
    says: str,
) -> None:
    """The answer holds the figure, no line is wider than a terminal, and no word is cut."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "cache"))
    assert main([*command, "--home", str(home)]) == 0, task
    out = capfdbinary.readouterr().out.decode()
    assert says in " ".join(out.split())
    if "--json" not in command:
        assert max(map(len, out.splitlines())) <= 80
        assert "…" not in out or command[0] == "fit"


@pytest.mark.parametrize(("task", "line", "gives"), LINES, ids=[t[0] for t in LINES])
def test_a_task_is_one_line(snap: Snapshot, task: str, line: str, gives: Any) -> None:
    """A line of a session gives the value."""
    assert eval(line, {"snap": snap, "pl": pl}) == gives, task


async def _asked(home: Path) -> list[str]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    start = ["-c", "from pipeline.cli import main; raise SystemExit(main())", "mcp", "--offline", "--home", str(home)]
    server = StdioServerParameters(
        command=sys.executable, args=[*start, "--root", str(home)], env={"PYTHONPATH": ":".join(sys.path)}
    )
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        answers = [await session.call_tool(tool, given) for _, tool, given, _, _ in QUESTIONS]
        return [a.content[0].text for a in answers]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.slow
def test_a_task_is_one_question(home: Path) -> None:
    """An agent is given the value in one call, within 3 kB."""
    pytest.importorskip("mcp")
    for (task, _, _, place, value), text in zip(QUESTIONS, asyncio.run(_asked(home)), strict=True):
        found = json.loads(text)
        for step in place:
            found = found[step]
        assert found == value, task
        assert len(text.encode()) <= MOST_BYTES


def test_a_drawing_is_one_command(home: Path, tmp_path: Path) -> None:
    """The architecture as SVG, of any name."""
    file = tmp_path / "llama.svg"
    assert main(["show", "llama 3.1 8b", "--svg", str(file), "--home", str(home)]) == 0
    assert file.read_text("utf-8").lstrip().startswith("<svg")
