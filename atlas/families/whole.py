"""A row checked whole when it is loaded: what it names exists, and every entry says something of its own.

A misspelled word would otherwise leave the parent's in force, or fail in the middle of some config. What may be named
stands in `_vocabulary.toml`; tests hold that list against the code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, cast

Table = Mapping[str, Any]

MERGED = (
    "keys",
    "defaults",
    "facts",
    "derive",
    "outer",
    "classes",
    "names",
    "text",
    "mtp",
    "text_defaults",
    "only",
    "siblings",
)
"""Tables that are merged key by key."""
REPLACED = ("mixers", "ffns")
"""Tables that stand for the parent's as a whole; each word of theirs means one part or several."""
WORDS = {"layout": "layouts", "ffn_layout": "ffn_layouts", "ends": "ends", "norms": "norm_readers", "stacks": "stacks"}
"""Words of a row, and the list of the vocabulary that they are of."""
LISTS = (
    *("mixer_norms", "ffn_norms", "irrelevant", "beside", "references", "unset", "expect", "correct"),
    *("class_names", "reads", "inside", "must"),
)
PLAIN = ("extends", "mtp_unstated")
EVIDENCE = ("references", "expect", "correct", "class_names", "siblings")
"""What belongs to the row it stands in, and is never inherited."""
OF_TEXT = ("key", "family", "flat", "unnamed", "only", "lifts")
OF_MTP = ("layers", "style", "copies", "own_head", "most", "streams", "context")
OF_SPEC = ("part", "fields", "norms", "joins", "place")


class Miswritten(ValueError):
    """A row that cannot be used: each line names the file, the key and, for a misspelled word, the nearest one."""


@cache
def vocabulary() -> Mapping[str, frozenset[str]]:
    """Every word that a row may use, by what it names."""
    text = files(__package__ or "atlas.families").joinpath("_vocabulary.toml").read_text("utf-8")
    return {kind: frozenset(words) for kind, words in tomllib.loads(text).items()}


def check(model_type: str, own: Table, base: Table, rows: Collection[str]) -> None:
    """Raise `Miswritten` where a row, laid over its merged parent, is not whole; `rows` are the names of all rows."""
    found = list(faults(own, base, rows))
    if found:
        raise Miswritten("\n".join(f"families/{model_type}.toml: {each}" for each in found))


def faults(own: Table, base: Table, rows: Collection[str]) -> Iterator[str]:
    """Everything that is wrong with a row as written; nothing where it is whole."""
    wrong_kind = list(_kinds(own, ""))
    yield from wrong_kind
    if not wrong_kind:
        yield from _named_rows(own, rows)
        left = yield from _unset(own, base, "")
        yield from _said(own, left, "")
        encoder, above = own.get("encoder", {}), base.get("encoder", {})
        yield from _unset(encoder, _over(_over(left, own), above), "encoder.")
        yield from _said(encoder, {k: v for k, v in above.items() if k != "unset"}, "encoder.")


def _kinds(own: Table, at: str) -> Iterator[str]:
    """Keys that no row has, and values that are no table or no list where one is needed."""
    tables = (*MERGED, *REPLACED, *([] if at else ["encoder"]))
    for key, value in own.items():
        if key not in (*tables, *WORDS, *LISTS, *PLAIN):
            yield at + key + _unknown("key", key, (*tables, *WORDS, *LISTS, *PLAIN))
        elif key in tables and not isinstance(value, dict):
            yield f"{at}{key}: must be a table"
        elif key in LISTS and not isinstance(value, list):
            yield f"{at}{key}: must be a list"
    if isinstance(own.get("encoder"), dict) and not at:
        yield from _kinds(own["encoder"], "encoder.")


def _named_rows(own: Table, rows: Collection[str]) -> Iterator[str]:
    named = {"extends": own.get("extends"), "text.family": own.get("text", {}).get("family")}
    named |= {f"siblings.{cls}": name for cls, name in own.get("siblings", {}).items()}
    for key, name in named.items():
        if name is not None and name not in rows:
            yield key + _unknown("row", name, rows)


def _unset(own: Table, base: Table, at: str) -> Generator[str, None, dict[str, Any]]:
    """Names that the parent does not have; returns what is left of the parent."""
    left = dict(base)
    for name in own.get("unset", ()):
        table, _, key = name.partition(".")
        held: Table | None = left.get(table)
        if held is None or (key and key not in held):
            names = [t for t in base if t not in WORDS] if not key else [f"{table}.{k}" for k in base.get(table, ())]
            yield f"{at}unset: the parent has no {name!r}" + _nearest(name, names)
        left[table] = {k: v for k, v in (held or {}).items() if key and k != key}
    return left


def _said(own: Table, base: Table, at: str) -> Iterator[str]:
    """Words of no list, and entries that only repeat the parent."""
    for key, value in own.items():
        if key in WORDS and value not in vocabulary()[WORDS[key]]:
            yield at + key + _unknown(WORDS[key].removesuffix("s").replace("_", " "), value, vocabulary()[WORDS[key]])
        if key not in EVIDENCE and value and _same(value, base.get(key)):
            yield f"{at}{key}: only repeats the parent"
        elif key in (*MERGED, *REPLACED):
            if key in READERS:
                yield from READERS[key](value, f"{at}{key}.")
            if key in MERGED:
                yield from _repeated(value, base.get(key, {}), f"{at}{key}.")


def _repeated(own: Table, base: Table, at: str) -> Iterator[str]:
    for key, value in own.items():
        if key in base and _same(value, base[key]):
            yield f"{at}{key}: only repeats the parent"


def _same(one: Any, other: Any) -> bool:
    """Equal, and of one type: true is not 1, and 1 is not 1.0."""
    return repr(one) == repr(other)


def _fields(own: Table, at: str) -> Iterator[str]:
    for key in own:
        if key not in vocabulary()["fields"]:
            yield at + key + _unknown("field", key, vocabulary()["fields"])


def _derived(own: Table, at: str) -> Iterator[str]:
    yield from _fields(own, at)
    for key, rule in own.items():
        if rule not in vocabulary()["derivations"]:
            yield at + key + _unknown("rule", rule, vocabulary()["derivations"])


def _wrapper(own: Table, at: str) -> Iterator[str]:
    yield from _of(OF_TEXT, own, at)


def _drafts(own: Table, at: str) -> Iterator[str]:
    yield from _of(OF_MTP, own, at)


def _switches(own: Table, at: str) -> Iterator[str]:
    yield from (f"{at}{key}: must be a list of values" for key, values in own.items() if not isinstance(values, list))


def _of(known: Collection[str], own: Table, at: str) -> Iterator[str]:
    for key in own:
        if key not in known:
            yield at + key + _unknown("key", key, known)


def _mixers(own: Table, at: str) -> Iterator[str]:
    yield from _parts(own, at, "mixers")


def _ffns(own: Table, at: str) -> Iterator[str]:
    yield from _parts(own, at, "ffns")


def _parts(own: Table, at: str, kind: str) -> Iterator[str]:
    """The parts that the words of a row mean."""
    for word, meant in own.items():
        for spec in cast("list[Any]", meant if isinstance(meant, list) else [meant]):
            yield from (
                f"{at}{word}{fault}" for fault in _spec({"part": spec} if isinstance(spec, str) else spec, kind)
            )


def _spec(written: Table, kind: str) -> Iterator[str]:
    part, fields = str(written.get("part")), written.get("fields", {})
    if part not in vocabulary()[kind]:
        yield _unknown("part", part, vocabulary()[kind])
    for name in (*(k for k in written if k not in OF_SPEC), *fields, *fields.values()):
        if name not in vocabulary()["fields"]:
            yield _unknown("field", name, vocabulary()["fields"])


READERS: Mapping[str, Callable[[Table, str], Iterator[str]]] = {  # words of configs, tensors and classes are not ours
    "keys": _fields,
    "defaults": _fields,
    "facts": _fields,
    "outer": _fields,
    "text_defaults": _fields,
    "derive": _derived,
    "text": _wrapper,
    "mtp": _drafts,
    "only": _switches,
    "mixers": _mixers,
    "ffns": _ffns,
}


def _over(base: Table, own: Table) -> dict[str, Any]:
    """A row's own tables over its parent's, for what an encoder starts from."""
    merged = {k: {**base.get(k, {}), **v} if k in MERGED else v for k, v in own.items()}
    return {**base, **merged}


def _unknown(what: str, name: str, known: Collection[str]) -> str:
    return f": no {what} is called {name!r}" + _nearest(name, known)


def _nearest(name: str, known: Collection[str]) -> str:
    found = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return f"; the nearest is {found[0]!r}" if found else ""
