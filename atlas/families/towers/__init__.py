"""Rows of towers: one TOML file per encoder, named after its model_type, and one per wrapper that holds some.

An encoder's row gives its modules and their sizes as arithmetic over its config's keys
(`atlas/reading/arithmetic.py`): `"attn.qkv" = "affine: 3 * hidden_size, hidden_size"`. The word before the colon is
what the module stores (see `atlas/parts/towers.py`); a bias that a key switches stands in brackets (`affine(qkv_bias):
...`), copies that a key counts before it (`use_head x tensor: ...`). Braces write several names at once. `[[stacks]]`
repeats modules `times` times under `at`, `{i}` being the index; `over` repeats the stack itself, `s` counting them and
`{s}` in names being `index` (`s` where the row says nothing); `within` repeats it again in each of those, `t` and
`{t}` counting. A wrapper's row lists its `[[towers]]`: the key of each config, the row it is read by, the prefixes
that checkpoints use, or modules of its own. Names with a dot lead to another scope: `text` is the language model,
`wrapper` the wrapper, any other the tower of that name. A row of modules that belong to a model itself (ends
`modules`) has no defaults of its own: the family's row answers, and `role` says what a token does with them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from atlas.families.braces import spread
from atlas.families.loader import IRRELEVANT

_SPEC = re.compile(
    r"(?:(?P<copies>[^:]+?) x )?(?P<kind>affine|weight|table|tensor|buffer)(?:\((?P<bias>[^:]+)\))?: (?P<shape>.+)"
)


class Module(msgspec.Struct, frozen=True):
    """A module as a row states it: everything but its name and kind is arithmetic."""

    name: str
    kind: str
    shape: tuple[str, ...]
    copies: str = "1"
    bias: str = "1"


class Stack(msgspec.Struct, frozen=True):
    """Modules that are there `times` times, in each of `within` parts of each of `over` groups."""

    modules: tuple[Module, ...]
    at: str = ""
    times: str = "1"
    over: str = "1"
    within: str = "1"
    index: str = "s"
    role: str = "matmul"  # what a token does with modules that belong to the model itself; a tower's cost it nothing
    component: str = "other"  # what those modules count as
    name: str = ""  # what they are called together, where the first word of `at` does not say it


class Held(msgspec.Struct, frozen=True, eq=False):
    """A tower that a wrapper holds; `config` is a dotted key, empty where the wrapper's own keys describe it."""

    name: str
    at: tuple[str, ...]
    config: str = ""
    row: str = ""
    choices: tuple[str, ...] = ()  # rows that its model_type may choose instead
    when: str = "1"  # arithmetic over the wrapper: whether it is there
    needs: str = ""  # the tower without which it is not there either
    optional: bool = False  # a null config: the wrapper has no such tower
    facts: Mapping[str, Any] = {}
    stacks: tuple[Stack, ...] = ()


class TowerRow(msgspec.Struct, frozen=True, eq=False):
    """One row, with what it extends merged in."""

    model_type: str
    known_as: tuple[str, ...] = ()  # other model_types that files give this encoder
    keys: Mapping[str, tuple[str, ...]] = {}
    defaults: Mapping[str, Any] = {}
    sizes: Mapping[str, str] = {}
    demands: Mapping[str, str] = {}  # arithmetic that has to be true, with what it means where it is not
    stacks: tuple[Stack, ...] = ()
    towers: tuple[Held, ...] = ()
    names: Mapping[str, str | list[str]] = {}
    irrelevant: frozenset[str] = frozenset()
    references: tuple[str, ...] = ()
    expect: tuple[Mapping[str, Any], ...] = ()


@cache
def available() -> frozenset[str]:
    """The rows there are."""
    return frozenset(
        f.name[:-5] for f in files(__package__ or "").iterdir() if f.name.endswith(".toml") and f.name[0] != "_"
    )


@cache
def reviewed() -> frozenset[str]:
    """Keys that say nothing of the weights of any tower."""
    return IRRELEVANT.union(_read("_reviewed")["keys"])


@cache
def tower_row(name: str) -> TowerRow:
    """The row of an encoder or of a wrapper, which has to be available."""
    row = _merged(name)
    unknown = row.keys() - {*TowerRow.__struct_fields__, "tensors"}
    if unknown:
        raise ValueError(f"families/towers/{name}.toml: no such key: {', '.join(sorted(unknown))}")
    row["stacks"] = _stacks(row)
    row.pop("tensors", None)
    row["keys"] = {k: tuple([v] if isinstance(v, str) else v) for k, v in row.get("keys", {}).items()}
    row["irrelevant"] = frozenset(row.get("irrelevant", ()))
    row["towers"] = tuple(_held(each) for each in row.get("towers", ()))
    for key in ("known_as", "references", "expect"):
        row[key] = tuple(row.get(key, ()))
    return TowerRow(model_type=name, **row)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__ or "").joinpath(f"{name}.toml").read_text("utf-8"))


_OWN = ("references", "expect")


def _merged(name: str) -> dict[str, Any]:
    own = _read(name)
    parent = own.pop("extends", None)
    if parent is None:
        return own
    base = {k: v for k, v in _merged(parent).items() if k not in _OWN}
    merged = base | own
    for key in base.keys() & own.keys():
        if isinstance(base[key], dict):
            merged[key] = {k: v for k, v in {**base[key], **own[key]}.items() if v != ""}
        elif key == "irrelevant":
            merged[key] = [*base[key], *own[key]]
    return merged


def _held(each: Mapping[str, Any]) -> Held:
    rest = {k: v for k, v in each.items() if k not in ("tensors", "stacks")}
    for key in ("at", "choices"):
        if key in rest:
            rest[key] = tuple([rest[key]] if isinstance(rest[key], str) else rest[key])
    return Held(**rest, stacks=_stacks(each))


def _stacks(row: Mapping[str, Any]) -> tuple[Stack, ...]:
    single = (_stack({"tensors": row["tensors"]}),) if "tensors" in row else ()
    return (*single, *(_stack(each) for each in row.get("stacks", ())))


def _stack(each: Mapping[str, Any]) -> Stack:
    modules = tuple(_module(name, spec) for key, spec in each["tensors"].items() for name in spread(key))
    rest = {k: str(v) for k, v in each.items() if k != "tensors"}
    return Stack(modules, **rest)


def _module(name: str, spec: str) -> Module:
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise ValueError(f"not a module: {name} = {spec!r}")
    return Module(name, found["kind"], _axes(found["shape"]), found["copies"] or "1", found["bias"] or "1")


def _axes(text: str) -> tuple[str, ...]:
    """Cut at the commas that stand in no bracket; `()` is a scalar's shape."""
    if text == "()":
        return ()
    axes, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            axes.append("")
        else:
            axes[-1] += sign
    return tuple(a.strip() for a in axes)
