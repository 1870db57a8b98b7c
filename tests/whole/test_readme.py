"""What README and docs/ tell a reader to type is run, and prints what stands below it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import guide
import pytest
import scoreboard
import shrunk
from places import FIXTURES, ROOT

pytestmark = pytest.mark.slow

PAGES = ("README.md", "docs/reading.md", "docs/python-and-sql.md", "docs/operating.md")
ELSEWHERE = ("pip install", "make ", "atlas refresh")
"""Held by the test of the wheel, by whoever runs these tests, and by the tests of the refresh."""


class Example(NamedTuple):
    """A command of a page, and the text that stands below it, where one does."""

    page: str
    command: str
    printed: str | None


def examples() -> Iterator[Example]:
    """Every `$` line of the pages with its continuation, and the block of text after it."""
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for block in re.finditer(r"(?:^    .*\n)+(?:\n```text\n(?P<out>(?s:.*?))```)?", text, re.MULTILINE):
            lines = [line[4:] for line in block[0].partition("\n```")[0].splitlines() if line.startswith("    ")]
            commands = [c for c in re.split(r"^\$ ", "\n".join(lines), flags=re.MULTILINE)[1:] if _ours(c)]
            for n, command in enumerate(commands, 1):
                yield Example(page, command.strip(), block["out"] if n == len(commands) else None)


def _ours(command: str) -> bool:
    return not command.startswith(ELSEWHERE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the commands name, and the catalogue's snapshot."""
    place = tmp_path_factory.mktemp("reader")
    (place / "snapshots").symlink_to(guide.home() / "snapshots")
    found = shrunk.checkpoints()["llama"]
    (place / "path" / "to").mkdir(parents=True)
    shrunk.folder(place / "path" / "to" / "checkpoint", found.config, found.tensors)
    (place / "a-folder-of-configs").mkdir()
    (place / "a-folder-of-configs" / "one.json").write_text(json.dumps(found.config))
    (place / "bench.json").write_bytes((FIXTURES / "llama-bench.json").read_bytes())
    (place / "prices.csv").write_text("repo_id,price\nQwen/Qwen3-8B,0.2\n")
    (place / "question.sql").write_text(
        "SELECT repo_id, price FROM fingerprints JOIN mine USING (repo_id) WHERE repo_id = $model"
    )
    return place


@pytest.mark.parametrize("example", list(examples()), ids=lambda e: f"{e.page}: {e.command[:50]}")
def test_a_command_of_the_pages_prints_what_stands_below_it(example: Example, folder: Path) -> None:
    """It ends with 0; each shown line is printed, in order, and two are neighbours unless `...` parts them."""
    done = run(example.command, folder)
    assert done.returncode == 0, done.stderr
    if example.printed is not None:
        assert shown(example.printed, done.stdout) == []


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in the reader's folder, at 80 columns."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATLAS_")}
    words = shlex.split(command, comments=True)
    words[0] = str(Path(sys.executable).with_name("atlas"))
    return subprocess.run(
        words, cwd=folder, env=environment | {"COLUMNS": "80"}, capture_output=True, text=True, check=False
    )


def shown(expected: str, printed: str) -> list[str]:
    """The first shown part that is not printed after the part before it; none where all are."""
    rest = printed
    for part in re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE):
        _, found, rest = rest.partition(part)
        if part and not found:
            return [part]
    return []


def test_the_table_of_readme_is_counted_from_the_repositorys_own_data() -> None:
    """Rows and the sentence about other tools are those that the data give."""
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for line in (*scoreboard.lines(), scoreboard.beside()):
        assert line in text, line


def test_pages_link_to_files_that_are_here() -> None:
    """Every relative link and picture of README and docs/ is a file of the repository."""
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)|src=\"([^\"]+)\"", text):
            assert ((ROOT / page).parent / "".join(target)).exists(), (page, target)
