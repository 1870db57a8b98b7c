"""Finds the repository a loose name means: 'llama 3.1 8b' is meta-llama/Llama-3.1-8B.

A name is cut into words at everything that is neither letter nor digit. In order: the id itself; the id in any case;
the part after the slash, word for word; the same with words run together; all words somewhere in the id, fewest other
words first. What is still ambiguous is listed, never guessed.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Sequence

from pipeline.errors import Ambiguous, NotFound
from pipeline.text import shorten, terminal

_SHOWN = 10
_NEAR = 5


def resolve(wanted: str, repo_ids: Sequence[str]) -> str:
    """The one repository of `repo_ids` that `wanted` names. Raises `NotFound`, listing candidates or near misses."""
    for found in (_passing(repo_ids, rule) for rule in _rules(wanted)):
        if len(found) == 1:
            return found[0]
        if found:
            raise Ambiguous(f"'{terminal(wanted)}' may be any of: {_listed(found)}; give one of them whole")
    said = shorten(terminal(wanted), 100)
    raise NotFound(
        f"no model here is named '{said}'{near(wanted, repo_ids)}\nOWNER/NAME asks the Hub; "
        'atlas sql "SELECT repo_id FROM models" lists what is here'
    )


def near(wanted: str, repo_ids: Sequence[str]) -> str:
    """The names that come close, as the end of a sentence; nothing where none does."""
    by_key = {_key(r): r for r in repo_ids}
    keys = difflib.get_close_matches(_key(wanted), by_key, n=_NEAR, cutoff=0.6)
    found = _respelled(wanted, repo_ids)[:_NEAR] or [by_key[k] for k in keys]
    return f"; close to it: {_listed(found)}" if found else ""


def _respelled(wanted: str, repo_ids: Sequence[str]) -> list[str]:
    """What the text names once each of its words is the nearest word of any name."""
    known = sorted({word for r in repo_ids for word in _words(r)})
    nearest = [difflib.get_close_matches(word, known, n=1, cutoff=0.75) for word in _words(wanted)]
    return matching(" ".join(n[0] for n in nearest), repo_ids) if all(nearest) else []


def _rules(wanted: str) -> Sequence[Callable[[Sequence[str]], list[str]]]:
    words = _words(wanted)
    return (
        lambda ids: [r for r in ids if r == wanted],
        lambda ids: [r for r in ids if r.casefold() == wanted.casefold()],
        lambda ids: [r for r in ids if words and _words(r.rpartition("/")[2]) == words],
        lambda ids: [r for r in ids if "".join(_words(r.rpartition("/")[2])) == "".join(words)] if words else [],
        lambda ids: _fewest_others(words, ids) if words else [],
    )


def matching(text: str, repo_ids: Sequence[str]) -> list[str]:
    """Every name that holds all words of a text, those with the fewest others first."""
    words = set(_words(text))
    found = [(len(have), r) for r in repo_ids if words and words <= set(have := _words(r))]
    return [r for _, r in sorted(found)]


def _passing(repo_ids: Sequence[str], rule: Callable[[Sequence[str]], list[str]]) -> list[str]:
    return rule(repo_ids)


def _fewest_others(words: list[str], repo_ids: Sequence[str]) -> list[str]:
    others = {r: len(have) - len(words) for r in repo_ids if set(words) <= set(have := _words(r))}
    least = min(others.values(), default=0)
    return [r for r, n in others.items() if n == least]


def _words(name: str) -> list[str]:
    """Lower-case words of a name: '3.1-8B' gives 3, 1, 8b."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold())


def _key(name: str) -> str:
    return " ".join(_words(name.rpartition("/")[2]))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(terminal, names[:_SHOWN]))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
