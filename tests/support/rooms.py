"""Which module imports which: the import graph of a package, read from its source and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from places import ROOT

Graph = Mapping[str, frozenset[str]]
"""Modules and the modules of the same packages that each imports, whether at the top, in a function or for types."""


def graph(*packages: str) -> Graph:
    """The imports of these top-level packages among themselves."""
    files = {_name(p): p for package in packages for p in sorted((ROOT / package).rglob("*.py"))}
    return {name: frozenset(_imported(path, files.keys() - {name})) for name, path in files.items()}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, modules: set[str]) -> Iterator[str]:
    """A name taken from a package is its module of that name, where there is one."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            of = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from of & modules
            yield from {node.module} & modules if of - modules else ()
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & modules


def room(module: str, rooms: Mapping[str, object]) -> str | None:
    """The innermost of these rooms that a module is in, or None."""
    parts = module.split(".")
    inward = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((r for r in inward if r in rooms), None)


def strays(found: Graph, rooms: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Imports that leave a room for one that it may not enter, as `module imports module`.

    `rooms` says for each room which others it may enter; a module may always enter its own.
    """
    return [
        f"{module} imports {other}"
        for module, others in sorted(found.items())
        for other in sorted(others)
        if (here := room(module, rooms)) is not None
        and (there := room(other, rooms)) != here
        and there not in rooms[here]
    ]


def homeless(found: Graph, rooms: Mapping[str, object]) -> list[str]:
    """Modules in none of the rooms."""
    return sorted(module for module in found if room(module, rooms) is None)


def circle(found: Graph) -> list[str]:
    """A way from a module back to itself, or nothing where there is none."""
    done: set[str] = set()
    for start in sorted(found):
        way = _circle_from(start, found, [], done)
        if way:
            return way
    return []


def _circle_from(module: str, found: Graph, way: list[str], done: set[str]) -> list[str]:
    if module in way:
        return [*way[way.index(module) :], module]
    if module in done:
        return []
    for other in sorted(found[module]):
        back = _circle_from(other, found, [*way, module], done)
        if back:
            return back
    done.add(module)
    return []
