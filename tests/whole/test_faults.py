"""What must survive what: every fault of the list has tests, and each of them is there.

pytest $(python tests/whole/test_faults.py)     # runs them all
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


def rows() -> dict[str, dict[str, Any]]:
    """The faults by number."""
    return tomllib.loads((TESTS / "fixtures" / "faults.toml").read_text("utf-8"))


@cache
def functions(file: str) -> frozenset[str]:
    """The tests of a file that `make test` runs: none of the soak."""
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return frozenset(f.name for f in found if not any("mark.soak" in ast.unparse(d) for d in f.decorator_list))


def test_the_list_has_every_fault() -> None:
    """Sixteen, by number."""
    assert list(rows()) == [str(n) for n in range(1, 17)]


@pytest.mark.parametrize("number", rows())
def test_each_fault_has_tests_that_exist(number: str) -> None:
    """Every named test is a function of its file, and no soak."""
    named = [test.partition("::") for test in rows()[number]["tests"]]
    assert named
    assert [f"{file}::{name}" for file, _, name in named if name not in functions(file)] == []


if __name__ == "__main__":
    print(*(f"{TESTS / test}" for row in rows().values() for test in row["tests"]))
