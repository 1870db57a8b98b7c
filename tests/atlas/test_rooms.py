"""Each room may enter only those below it; no module reaches itself again; builders, readers and files keep apart."""

from __future__ import annotations

import ast

import pytest
from places import ROOT
from rooms import Graph, circle, graph, homeless, room, strays

GROUND = ("schemas", "atlas.refusal", "atlas.parse")
BELOW_LAYOUTS = (*GROUND, "atlas.numbers", "atlas.families", "atlas.reading")
BELOW_READERS = (*BELOW_LAYOUTS, "atlas.layouts", "atlas.parts")
ROOMS: dict[str, tuple[str, ...]] = {
    "schemas": (),
    "atlas.refusal": ("schemas",),
    "atlas.parse": ("schemas", "atlas.refusal"),
    "atlas.numbers": GROUND,
    "atlas.families": (*GROUND, "atlas.numbers"),
    "atlas.reading": (*GROUND, "atlas.numbers", "atlas.families"),
    "atlas.layouts": BELOW_LAYOUTS,
    "atlas.parts": (*GROUND, "atlas.numbers"),
    "atlas.readers": BELOW_READERS,
    "atlas.derived": (*GROUND, "atlas.numbers", "atlas.families", "atlas.reading"),
    "atlas.proof": (*GROUND, "atlas.numbers", "atlas.derived", "atlas.interpret"),
    "atlas.opening": (*BELOW_LAYOUTS, "atlas.assume"),
    "atlas.checkpoint": (*GROUND, "atlas.numbers", "atlas.families", "atlas.derived"),
    "atlas.assemble": (*BELOW_READERS, "atlas.readers"),
    "atlas.stored": (*GROUND, "atlas.numbers", "atlas.families", "atlas.parts", "atlas.checkpoint"),
    "atlas.describe": (*BELOW_READERS, "atlas.readers", "atlas.derived", "atlas.stored"),
    "atlas.assume": (*BELOW_READERS, "atlas.readers", "atlas.derived"),
    "atlas.interpret": (
        *BELOW_READERS, "atlas.readers", "atlas.derived", "atlas.assemble", "atlas.describe", "atlas.assume",
        "atlas.opening", "atlas.checkpoint",
    ),
    "atlas.drafting": (*BELOW_LAYOUTS, "atlas.derived", "atlas.checkpoint", "atlas.interpret"),
    "atlas": ("atlas.derived", "atlas.interpret", "atlas.numbers", "pipeline"),  # what the library hands on
    "pipeline": (),
}  # fmt: skip
"""Which rooms each room may enter."""
MAKES = ("Tensor", "State", "Read", "part")
"""What makes a part; only builders do."""
OUTSIDE = ("pathlib", "os", "io", "shutil", "socket", "urllib", "subprocess", "tempfile", "time", "datetime", "random")
"""Standard modules that reach files, the network, the clock or chance."""


@pytest.fixture(scope="module")
def found() -> Graph:
    """The import graph of the knowledge."""
    return graph("atlas", "schemas")


def test_rooms_are_entered_downward_only(found: Graph) -> None:
    """A module imports its own room and the rooms that its room may enter."""
    assert strays(found, ROOMS) == []


def test_every_module_of_the_atlas_has_its_place(found: Graph) -> None:
    """A new module beside the rooms has to be named here, with the rooms it may enter."""
    assert homeless(found, ROOMS) == []
    assert [m for m in found if room(m, ROOMS) == "atlas"] == ["atlas"]


def test_no_module_reaches_itself_again(found: Graph) -> None:
    """There is no circle of imports, not even for types or within functions."""
    assert circle(found) == []


def test_readers_make_no_weights() -> None:
    """What a mechanism weighs, keeps and reads stands in the builders; a reader hands them scalars."""
    assert [f for folder in ("readers", "layouts", "reading") for f in _calls(folder, MAKES)] == []


def test_the_atlas_reaches_nothing_outside() -> None:
    """It reads its own rows, as data of its package; no file, network, clock or chance."""
    found = [f"{path}: {name}" for path, name in _imports("atlas") if name.partition(".")[0] in OUTSIDE]
    assert found == ["atlas/__init__.py: pathlib"]  # where its packages stand
    assert _calls("", ("open",)) == []


def test_a_circle_and_a_stray_are_found() -> None:
    """The checks themselves: two modules that import each other, and one that enters a room above."""
    made = {"a.low.x": frozenset({"a.high.y"}), "a.high.y": frozenset({"a.low.x"}), "a.z": frozenset[str]()}
    assert circle(made) == ["a.high.y", "a.low.x", "a.high.y"]
    assert strays(made, {"a.high": ("a.low",), "a.low": ()}) == ["a.low.x imports a.high.y"]
    assert homeless(made, {"a.high": (), "a.low": ()}) == ["a.z"]


def _calls(folder: str, names: tuple[str, ...]) -> list[str]:
    """Calls of these names in a folder of the atlas."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.func.id}"
        for path in sorted((ROOT / "atlas" / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


def _imports(folder: str) -> list[tuple[str, str]]:
    """What the modules of a folder import, by file."""
    pairs: list[tuple[str, str]] = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            pairs += [(str(path.relative_to(ROOT)), name) for name in names]
    return pairs
