"""Work that asks for names and depends on nothing else: done once for the same answers.

The names are asked for again in the order the work asked for them, each once, and lead along a tree to what came of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from atlas.reading.arithmetic import Lookup

T = TypeVar("T")
MOST = 256
"""Results that are kept; with one more all are let go."""


class _Node(Generic[T]):
    __slots__ = ("asked", "found", "told")

    def __init__(self) -> None:
        self.asked: str | None = None  # the next name; none where the work is done, or was never here
        self.told: dict[object, _Node[T]] = {}
        self.found: tuple[T, ...] = ()


class Kept(Generic[T]):
    """A function of a look-up that gives what it gave before for the same answers; errors are not kept."""

    __slots__ = ("_count", "_root", "_work")

    def __init__(self, work: Callable[[Lookup], T]) -> None:
        self._work = work
        self._root, self._count = _Node[T](), 0

    def __call__(self, lookup: Lookup) -> T:
        """What the work gives with these answers."""
        node: _Node[T] | None = self._root
        while node is not None and node.asked is not None:
            node = node.told.get(_key(lookup(node.asked)))
        return node.found[0] if node is not None and node.found else self._anew(lookup)

    def _anew(self, lookup: Lookup) -> T:
        answers: dict[str, Any] = {}

        def noted(name: str) -> Any:
            if name not in answers:
                answers[name] = lookup(name)
            return answers[name]

        found = self._work(noted)
        if self._count == MOST:
            self._root, self._count = _Node[T](), 0
        node = self._root
        for name, answer in answers.items():
            node.asked = name
            node = node.told.setdefault(_key(answer), _Node[T]())
        node.found = (found,)
        self._count += 1
        return found


def _key(answer: object) -> object:
    """What tells an answer from all others: 1 is not true."""
    return answer if answer.__class__ is int else repr(answer)
