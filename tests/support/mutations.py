"""Small wrong changes of the code and of the rows: where one can be made, and how.

A point of code is an operator, a comparison, a number, a truth value or a word of the vocabulary; of a row an entry.
Messages, limits of caches and what only a type checker reads are left out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from places import ROOT

from atlas.families.whole import EVIDENCE, REPLACED, WORDS

KINDS: dict[str, tuple[str, ...]] = {
    "parts": ("atlas/parts/*.py", "atlas/readers/*.py"),
    "layouts": ("atlas/layouts/*.py",),
    "core": ("atlas/*.py", "atlas/numbers/*.py", "atlas/reading/**/*.py", "atlas/checkpoint/*.py"),
}
"""Kinds of Python points, and where they are found."""

SILENT = ("raise", "assert")
MESSAGES = {"bad_value", "contradiction", "not_derivable", "Refused", "Unknown", "shown", "lru_cache"}
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
MEMBERS = {
    ("Role", "MATMUL"): "VECTOR", ("Role", "VECTOR"): "MATMUL", ("Role", "LOOKUP"): "MATMUL",
    ("Component", "ATTENTION"): "OTHER", ("Component", "RECURRENT"): "ATTENTION", ("Component", "NORM"): "OTHER",
    ("Component", "ROUTER"): "OTHER", ("Component", "EXPERTS_SHARED"): "FFN_DENSE", ("Component", "OTHER"): "NORM",
    ("Mixer", "FULL_ATTENTION"): "SLIDING_ATTENTION", ("Mixer", "LINEAR_ATTENTION"): "SSM",
    ("Mixer", "SSM"): "LINEAR_ATTENTION", ("Mixer", "SPARSE_ATTENTION"): "FULL_ATTENTION",
}  # fmt: skip


class Point(NamedTuple):
    """One change: its kind, the file, the place in it, and what becomes what. `number` finds it again in the file."""

    kind: str
    file: str
    number: int
    said: str

    def __str__(self) -> str:
        """The name by which a survivor is listed; it holds while the file's other lines move."""
        return f"{self.file}: {self.said}"


def points() -> Iterator[Point]:
    """Every point of the code and of the rows."""
    for kind, places in KINDS.items():
        for path in sorted(p for place in places for p in ROOT.glob(place)):
            file = str(path.relative_to(ROOT))
            for number, (where, node, change) in enumerate(_sites(ast.parse(path.read_text("utf-8")))):
                yield Point(kind, file, number, f"{where}: {_words(node, change)}")
    for path in sorted((ROOT / "atlas/families").glob("[!_]*.toml")):
        for number, (said, _) in enumerate(row_changes(_read(path))):
            yield Point("rows", str(path.relative_to(ROOT)), number, said)


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(path.read_text("utf-8"))


def original(point: Point) -> ast.Module:
    """The file's tree as it is."""
    return ast.parse((ROOT / point.file).read_text("utf-8"))


def mutated(point: Point) -> ast.Module:
    """The file's tree with the change made."""
    tree = original(point)
    _, node, change = list(_sites(tree))[point.number]
    change(node)
    return ast.fix_missing_locations(tree)


Site = tuple[str, ast.AST, Callable[[Any], None]]


def _sites(tree: ast.Module) -> Iterator[Site]:
    for top in tree.body:
        if not isinstance(top, ast.Import | ast.ImportFrom):
            yield from _within(top, getattr(top, "name", "module"))


def _within(node: ast.AST, where: str) -> Iterator[Site]:
    change = _change(node)
    if change is not None:
        yield where, node, change
    for child in _children(node):
        inner = f"{where}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else where
        yield from _within(child, inner)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated for its value: no message, no annotation, no decorator, no docstring."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in MESSAGES:
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        if name == "keywords" and isinstance(node, ast.ClassDef):  # whether a record is frozen or collected
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
                yield each


def _change(node: ast.AST) -> Callable[[Any], None] | None:
    match node:
        case ast.BinOp() | ast.BoolOp() if type(node.op) in SWAPPED:
            return _operator
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            return lambda n: setattr(n, "ops", [SWAPPED[type(n.ops[0])]()])
        case ast.Constant(value=bool() | int()):
            return lambda n: setattr(n, "value", not n.value if isinstance(n.value, bool) else n.value + 1)
        case ast.IfExp():
            return _branches_swapped
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if (owner, name) in MEMBERS:
            return lambda n: setattr(n, "attr", MEMBERS[n.value.id, n.attr])
    return None


def _operator(node: ast.BinOp | ast.BoolOp) -> None:
    setattr(node, "op", SWAPPED[type(node.op)]())  # noqa: B010 - of either kind of node


def _branches_swapped(node: ast.IfExp) -> None:
    node.body, node.orelse = node.orelse, node.body


def _words(node: ast.AST, change: Callable[[Any], None]) -> str:
    other = copy.deepcopy(node)
    change(other)
    return f"{ast.unparse(node)} -> {ast.unparse(other)}"


Row = dict[str, Any]

OTHERS: dict[str, dict[str, str]] = {
    "position": {"rope": "nope", "nope": "rope", "alibi": "rope", "learned": "nope", "relative": "rope"},
    "norm_class": {"rmsnorm": "layernorm", "layernorm": "rmsnorm"},
    "norm_placement": {"pre": "sandwich", "sandwich": "pre", "post": "pre", "parallel": "pre", "post_sublayer": "pre"},
    "qk_norm": {"none": "unit", "head": "full", "full": "head", "unit": "none", "each": "head"},
    "mixer": {"full_attention": "sliding_attention", "sliding_attention": "full_attention"},
    "hidden_act": {"silu": "relu", "relu": "silu"},
}  # fmt: skip
"""Another word of the same closed set, for facts that no shape shows."""


def row_changes(own: Row) -> Iterator[tuple[str, Row]]:
    """Every change of one entry of a row, in words, with the row that has it."""
    for key, value in own.items():
        if key in (*EVIDENCE, "extends", "irrelevant", "beside", "names"):
            continue
        if key == "encoder":
            yield from ((f"encoder.{said}", {**own, key: inner}) for said, inner in row_changes(value))
        elif isinstance(value, dict):
            for name, entry in value.items():
                for said, other in _entry(key, name, entry):
                    yield f"{key}.{said}", {**own, key: other(value)}
        elif key in ("mixer_norms", "ffn_norms", "unset") and len(value) > 1:
            yield f"{key} without {value[-1]}", {**own, key: value[:-1]}
        elif key in WORDS:
            yield f"{key} dropped", {k: v for k, v in own.items() if k != key}


def _entry(table: str, name: str, value: Any) -> Iterator[tuple[str, Callable[[Row], Row]]]:
    """One entry of a table: another value where there is a natural one, else gone."""
    if table in REPLACED:
        if isinstance(value, dict) and (flags := {k: v for k, v in value.items() if isinstance(v, bool)}):
            key = next(iter(flags))
            yield f"{name}.{key} -> {not flags[key]}", lambda t: {**t, name: {**value, key: not flags[key]}}
        return
    other = _other(name, value)
    if other is None:
        yield f"{name} dropped", lambda t: {k: v for k, v in t.items() if k != name}
    else:
        yield f"{name} = {value!r} -> {other!r}", lambda t: {**t, name: other}


def _other(name: str, value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * 2
        case str():
            return OTHERS.get(name, {}).get(value)
        case [_, *_, last] if isinstance(last, str):
            return value[:-1]
        case _:
            return None


def changed_row(point: Point) -> Mapping[str, Any]:
    """The row with the change made."""
    changes = list(row_changes(_read(ROOT / point.file)))
    return changes[point.number][1]
