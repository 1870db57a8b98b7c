"""The rooms of the tree: imports run downwards, circles do not exist, and a room is entered by what it hands out."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import FIXTURES, ROOT, TESTS

GROUND = {"errors", "text", "units", "durable"}
"""Modules of the pipeline that stand in no room, beside the command itself."""

FLOORS = [
    {"sources"},
    {"hub", "store"},
    {"ask", "verify", "drawing", "engines"},
    {"guide"},
    {"refresh"},
    {"sheets"},
    {"export", "serve"},
    {"site", "measure"},
    {"scheduled", "session", "agents"},
    {"commands"},
]
"""The rooms of the pipeline from the ground up: a room imports from lower floors only."""


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Every module of the pipeline, parsed."""
    for path in sorted((ROOT / "pipeline").rglob("*.py")):
        yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))


def rooms() -> set[str]:
    """The folders of the pipeline that hold modules."""
    return {p.parent.name for p in (ROOT / "pipeline").glob("*/__init__.py")}


def room_of(path: Path) -> str:
    """The room that a module stands in; nothing for one of the ground."""
    return path.parts[1] if len(path.parts) > 2 else ""


def crossings() -> Iterator[tuple[Path, str, str]]:
    """Imports from one room into another: the module, the room it enters, and what it takes there."""
    for path, tree in modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("pipeline."):
                continue
            _, room, *inside = (node.module or "").split(".")
            if room in rooms() and room != room_of(path):
                for name in inside[:1] or [alias.name for alias in node.names]:
                    yield path, room, name


def test_the_pipeline_has_no_module_outside_a_room() -> None:
    """What stands in no room is the ground that every room needs, and the command."""
    there = {p.stem for p in (ROOT / "pipeline").glob("*.py")}
    assert there == GROUND | {"__init__", "cli"}
    assert rooms() == {room for floor in FLOORS for room in floor}


def test_imports_of_rooms_run_downwards() -> None:
    """No room imports from its own floor or a higher one, so that there is no circle."""
    level = {room: i for i, floor in enumerate(FLOORS) for room in floor}
    wrong = [
        f"{path} imports {room}"
        for path, room, _ in crossings()
        if path.stem != "cli" and level[room] >= level.get(room_of(path), -1)
    ]
    assert wrong == []


def test_a_room_is_entered_by_what_it_hands_out() -> None:
    """Other rooms use the modules that a room's `__init__` names, and it names no module that nobody uses."""
    used = {(room, name) for _, room, name in crossings()}
    handed = {(room, name) for room in rooms() for name in handed_out(room)}
    assert used - handed == set()
    assert handed - used == set()


def handed_out(room: str) -> list[str]:
    """The names in a room's `__all__`."""
    for node in ast.parse((ROOT / "pipeline" / room / "__init__.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and [t.id for t in node.targets if isinstance(t, ast.Name)] == ["__all__"]:
            return ast.literal_eval(node.value)
    return []


@pytest.mark.parametrize("package", ["schemas", "atlas", "pipeline"])
def test_packages_import_downwards(package: str) -> None:
    """`schemas` imports neither of the others, and `atlas` not the pipeline, but for what it hands on lazily."""
    above = {"schemas": ("atlas", "pipeline"), "atlas": ("pipeline",), "pipeline": ()}[package]
    found = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in above
    ]
    assert [f for f in found if not f.startswith("atlas/__init__.py:")] == []


@pytest.mark.parametrize("package", ["atlas", "pipeline"])
def test_every_room_says_what_lives_there(package: str) -> None:
    """A room's `__init__` has a docstring of at least two sentences or clauses."""
    for path in sorted((ROOT / package).glob("*/__init__.py")):
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert said.count(".") + said.count(";") + said.count(":") >= 1, path


def test_every_module_has_a_test_of_its_name_or_a_named_one() -> None:
    """A module without a test file of its own is listed with the test that holds it; the list has no other entry."""
    listed = tomllib.loads((FIXTURES / "held_elsewhere.toml").read_text("utf-8"))
    modules = [p.relative_to(ROOT) for top in ("schemas", "atlas", "pipeline") for p in (ROOT / top).rglob("*.py")]
    alone = {str(m) for m in modules if m.stem != "__init__" and not (TESTS / m.parent / f"test_{m.stem}.py").is_file()}
    assert alone == set(listed)
    assert [where for where in listed.values() if not (TESTS / where).exists()] == []
