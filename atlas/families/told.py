"""A merged row as lines: each says which file of its lineage it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from atlas.families.loader import lineage, merged, over, row
from atlas.families.rules import Family
from atlas.families.whole import EVIDENCE, MERGED, REPLACED, WORDS

Tree = Mapping[str, Any]
BUILT_IN = "built in"
"""Where a word stands that no file says."""


class Line(NamedTuple):
    """One entry: the table it stands in (empty at the top), key, value, and the name of the file that said it."""

    table: str
    key: str
    value: Any
    file: str


def told(model_type: str) -> list[Line]:
    """Every entry of a merged row, in the order of the merge; raises `Miswritten`."""
    made, said = merged(model_type), dict[str, Any]()
    for name in lineage(model_type):
        own = {k: v for k, v in row(name).items() if k != "extends"}
        kept = {k: v for k, v in said.items() if k not in EVIDENCE}
        said = over(kept, _marked(own, f"{name}.toml"))
    found = list(_lines(made, said, ""))
    bare = Family(model_type)
    assumed = [Line("", k, getattr(bare, k), BUILT_IN) for k in WORDS if k not in said and "text" not in said]
    return [*assumed, *sorted(found, key=lambda line: line.table != "")]


def _marked(own: Tree, file: str) -> dict[str, Any]:
    """The same tables with the file's name in place of every value; what is unset stays as it is."""
    return {k: v if k == "unset" else _mark(k, v, file) for k, v in own.items()}


def _mark(key: str, value: Any, file: str) -> Any:
    if key == "encoder":
        return {k: _mark(k, v, file) for k, v in value.items()}
    if key in (*MERGED, *REPLACED) and isinstance(value, dict):
        return dict.fromkeys(cast("Tree", value), file)
    return file


def _lines(made: Tree, said: Tree, table: str) -> Iterator[Line]:
    for key, value in made.items():
        if isinstance(value, dict) and isinstance(said[key], dict):
            yield from _lines(cast("Tree", value), said[key], f"{table}.{key}".lstrip("."))
        else:
            yield Line(table, key, value, said[key])


def as_toml(lines: list[Line]) -> str:
    """The lines as TOML, with the file of each as a comment."""
    entries = [(x.table, f"{_key(x.key)} = {as_value(x.value)}", x.file) for x in lines]
    wide = min(60, max((len(text) for _, text, _ in entries), default=0))
    out: list[str] = []
    table = ""
    for at, text, file in entries:
        if at != table:
            out += ["", f"[{at}]"]
            table = at
        out.append(f"{text:<{wide}}  # {file}")
    return "\n".join(out) + "\n"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def as_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {as_value(v)}" for k, v in value.items()) + " }"  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    if isinstance(value, list):
        return "[" + ", ".join(as_value(v) for v in value) + "]"  # pyright: ignore[reportUnknownVariableType]
    return json.dumps(value, ensure_ascii=False)
