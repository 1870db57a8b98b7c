"""A what-if: keys of a config set to other values, and what must be said of the change before any number."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from atlas.derived import Derived
from atlas.interpret import derive, refusal
from atlas.parse import load
from atlas.refusal import Refused
from pipeline.errors import Usage


def changed(raw: bytes, name: str, changes: list[str]) -> Derived:
    """One config derived with the changes applied. Raises `Usage` for a change that cannot be read."""
    try:
        data = load(raw)
    except Refused as refused:
        return refusal(refused, name, None)
    for change in changes:
        _apply(data, change)
    return derive(data, name=name)


_OF_ONE = re.compile(r"([A-Z]):(.*)", re.DOTALL)


def shared_out(changes: Sequence[str], many: int) -> list[list[str]]:
    """The changes of each of several models: KEY=VALUE is of all, B:KEY=VALUE of the second alone. Raises `Usage`."""
    found: list[list[str]] = [[] for _ in range(many)]
    for change in changes:
        one = _OF_ONE.fullmatch(change)
        if one is None:
            for each in found:
                each.append(change)
            continue
        place = ord(one[1]) - ord("A")
        if place >= many:
            raise Usage(f"--set {change}: there are {many} models, and {one[1]} is none of them")
        found[place].append(one[2])
    return found


def _apply(data: dict[str, Any], change: str) -> None:
    """Set one key; dots reach into objects. A value is JSON, or text where it is none."""
    key, equals, text = change.partition("=")
    *path, last = key.split(".")
    if not equals or not all((*path, last)):
        raise Usage(f"--set takes KEY=VALUE, such as num_hidden_layers=40, not {change!r}")
    if any("\ud800" <= character <= "\udfff" for character in change):
        raise Usage(f"--set {change!r} is not UTF-8 text")
    for step in path:
        if data.get(step) is None:  # absent or null: there is no object yet
            data[step] = {}
        data = data[step]
        if not isinstance(data, dict):
            raise Usage(f"--set {key}: {step} is no object in this config")
    try:
        data[last] = orjson.loads(text)
    except orjson.JSONDecodeError:
        data[last] = text


def warnings(before: Derived, after: Derived, changes: list[str]) -> list[str]:
    """What to know before reading the numbers of a what-if: keys that nothing reads, and changes of no shape."""
    keys = [c.partition("=")[0] for c in changes]
    said = [_unread(key, after) for key in keys if _is_unread(key, after)]
    if said or after.model is None:
        return said
    same = before.fingerprint.design_id == after.fingerprint.design_id
    if same and _numbers(before) == _numbers(after):
        computed = {e.field: e.value for e in before.constants} != {e.field: e.value for e in after.constants}
        named = ", ".join(keys)
        return [
            f"{named}: the computation changes and the shape does not; weights, cache and cost stay as they are"
            if computed
            else f"{named}: no number here changes"
        ]
    return []


def _numbers(d: Derived) -> dict[str, Any]:
    return {k: v for k, v in msgspec.structs.asdict(d.fingerprint).items() if k not in ("verdict", "doubt", "check")}


def _is_unread(key: str, after: Derived) -> bool:
    """Whether nobody asked for the key, or for the object that it stands in; constants are asked for late."""
    if key in after.unread:
        return True
    stated = {word for e in after.constants for word in e.source.replace(".", " ").split()}
    return after.config is not None and not (after.config.read | stated) & set(key.split("."))


def _unread(key: str, after: Derived) -> str:
    near = difflib.get_close_matches(key.rpartition(".")[2], keys_read(after), n=1, cutoff=0.6)
    hint = f"; the nearest key that is read: {near[0]}" if near else ""
    return f"nothing reads {key}, so it changes no number{hint}"


def keys_read(d: Derived) -> list[str]:
    """The keys that were read of a config, present or not: a misspelled one is near to one of them."""
    return [] if d.config is None else sorted(d.config.read | {d.config.name(f) for f in d.config.noted})
